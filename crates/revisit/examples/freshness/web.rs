//! A web whose pages change by known processes: what the policies are judged on.
//!
//! Everything follows from a seed. The rates are those of the literature, not ours: Cho and Garcia-Molina (2000) found
//! of 720,000 pages that 23% change within a day on average, 15% more within a week, 16% within a month, 16% within four
//! months, and 30% less often; within each of these classes intervals are drawn evenly on a logarithmic scale, fastest
//! four hours, slowest two years. Half of the last class never changes (Ntoulas, Cho and Olston 2004: about half of
//! the pages that stay do not change in a year). One page in ten changes its markup only, as often as the others
//! (Fetterly et al. 2003: most changes are of that kind). Pages of one site change alike more often than not. Importance
//! follows a power law with the exponent 2.1 of `PageRank` and has nothing to do with the rate.

use std::ops::Range;

/// A random number generator that is the same everywhere: splitmix64.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// In `(0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.unit())
    }
}

/// How a page changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// At random, at a rate of its own.
    Poisson,
    /// At random in the eight working hours of a day.
    Daily,
    /// Once a week, at about the same time.
    Weekly,
    /// Quiet for weeks, then several times a day for days.
    Bursts,
    /// Its markup changes, its text never does.
    Markup,
    /// Its links change, its text never does.
    Links,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] = [
        Kind::Poisson,
        Kind::Daily,
        Kind::Weekly,
        Kind::Bursts,
        Kind::Markup,
        Kind::Links,
    ];
}

pub(crate) struct Page {
    pub(crate) kind: Kind,
    /// Changes of the text a day, in the long run.
    pub(crate) rate: f64,
    pub(crate) weight: f32,
    /// When the text changes, days, in order.
    pub(crate) changes: Vec<f32>,
}

pub(crate) struct Web {
    pub(crate) pages: Vec<Page>,
    /// Pages of each site; the first is its entry page.
    pub(crate) sites: Vec<Range<usize>>,
    pub(crate) days: f64,
}

/// Shares of pages and the days between changes, Cho and Garcia-Molina's classes.
const CLASSES: [(f64, f64, f64); 5] = [
    (0.23, 1.0 / 6.0, 1.0),
    (0.15, 1.0, 7.0),
    (0.16, 7.0, 30.0),
    (0.16, 30.0, 120.0),
    (0.30, 120.0, 730.0),
];

impl Web {
    /// About so many pages, over so many days.
    pub(crate) fn new(pages: usize, days: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut web = Web {
            pages: Vec::with_capacity(pages),
            sites: Vec::new(),
            days,
        };
        while web.pages.len() < pages {
            web.add_site(&mut chance, pages);
        }
        web
    }

    fn add_site(&mut self, chance: &mut Chance, limit: usize) {
        let size = (5.0 * chance.unit().powf(-1.0 / 1.2)).min(500.0) as usize;
        let class = class(chance);
        let first = self.pages.len();
        let end = (first + size.max(2)).min(limit.max(first + 2));
        for number in first..end {
            let own = if chance.unit() < 0.5 {
                class
            } else {
                self::class(chance)
            };
            let kind = match chance.unit() {
                // Entry pages are often portals: a third of them change their links only.
                share if number == first && share < 0.33 => Kind::Links,
                share if share < 0.70 => Kind::Poisson,
                share if share < 0.76 => Kind::Daily,
                share if share < 0.80 => Kind::Weekly,
                share if share < 0.87 => Kind::Bursts,
                share if share < 0.97 => Kind::Markup,
                _ => Kind::Links,
            };
            let page = page(kind, own, self.days, chance);
            self.pages.push(page);
        }
        self.sites.push(first..end);
    }

    pub(crate) fn weights(&self) -> f64 {
        self.pages.iter().map(|page| f64::from(page.weight)).sum()
    }
}

fn class(chance: &mut Chance) -> usize {
    let mut rest = chance.unit();
    for (number, (share, ..)) in CLASSES.iter().enumerate() {
        if rest < *share {
            return number;
        }
        rest -= share;
    }
    CLASSES.len() - 1
}

fn page(kind: Kind, class: usize, days: f64, chance: &mut Chance) -> Page {
    let (_, least, most) = CLASSES[class];
    let interval = if class == CLASSES.len() - 1 && chance.unit() < 0.5 {
        f64::INFINITY
    } else {
        chance.between(least, most)
    };
    let weight = chance.unit().powf(-1.0 / 1.1).min(1000.0) as f32;
    let (rate, changes) = changes(kind, interval, days, chance);
    Page {
        kind,
        rate,
        weight,
        changes,
    }
}

/// The rate in the long run, and the times.
fn changes(kind: Kind, interval: f64, days: f64, chance: &mut Chance) -> (f64, Vec<f32>) {
    let mut times = Vec::new();
    let rate = match kind {
        Kind::Weekly => {
            let mut time = chance.unit() * 7.0;
            while time < days {
                times.push((time + 0.1 * chance.unit()) as f32);
                time += 7.0;
            }
            1.0 / 7.0
        }
        Kind::Bursts => {
            let (quiet, burst, step) = (45.0, 3.0, 0.25);
            let mut time = chance.exponential(quiet);
            while time < days {
                let end = time + burst;
                while time < end {
                    times.push(time as f32);
                    time += chance.exponential(step);
                }
                time = end + chance.exponential(quiet);
            }
            burst / step / (quiet + burst)
        }
        Kind::Poisson | Kind::Daily if interval.is_finite() => {
            let mut time = chance.exponential(interval);
            while time < days {
                times.push(match kind {
                    // The same process in working time: a third of the day, longer at nothing.
                    Kind::Daily => time.floor() + 0.33 + time.fract() / 3.0,
                    _ => time,
                } as f32);
                time += chance.exponential(interval);
            }
            1.0 / interval
        }
        Kind::Poisson | Kind::Daily | Kind::Markup | Kind::Links => 0.0,
    };
    times.retain(|time| f64::from(*time) < days);
    (rate, times)
}
