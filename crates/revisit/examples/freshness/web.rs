//! A simulated web whose pages change by known processes, generated from a seed.
//!
//! The rates of change are from the literature:
//!
//! - Cho and Garcia-Molina (2000): of 720,000 pages, 23% change at least daily on average, 15% weekly, 16% monthly, 16%
//!   every four months, and 30% less often. Within each class, intervals are uniform on a logarithmic scale, from four
//!   hours to two years.
//! - Ntoulas, Cho and Olston (2004): about half of the pages that persist do not change in a year. So half of the last
//!   class never changes.
//! - Fetterly et al. (2003): most changes are of markup only. One page in ten changes only its markup.
//!
//! The pages of a site are a tree of two levels: the entry page links to sections, and each section to the other pages.
//! About half of the pages of a site have the class of the site or, in a web with [`Similar::Sections`], the class of
//! their section. Importance follows a power law with the exponent 2.1
//! of `PageRank`, independent of the rate.

use std::ops::Range;

/// The pseudo-random number generator splitmix64, which gives the same numbers on every machine.
pub(crate) struct RandomStream(u64);

impl RandomStream {
    pub(crate) fn new(seed: u64) -> Self {
        RandomStream(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Uniform in `(0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// Uniform on a logarithmic scale.
    fn between(&mut self, min: f64, max: f64) -> f64 {
        min * (max / min).powf(self.unit())
    }
}

/// How a page changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeKind {
    /// A Poisson process.
    Poisson,
    /// A Poisson process restricted to eight hours of the day.
    Daily,
    /// One change a week, at about the same time of the week.
    Weekly,
    /// No change for weeks, then several changes per day for some days.
    Bursts,
    /// The markup changes, the text does not.
    Markup,
    /// The links change, the text does not.
    Links,
}

impl ChangeKind {
    pub(crate) const ALL: [ChangeKind; 6] = [
        ChangeKind::Poisson,
        ChangeKind::Daily,
        ChangeKind::Weekly,
        ChangeKind::Bursts,
        ChangeKind::Markup,
        ChangeKind::Links,
    ];
}

pub(crate) struct ChangingPage {
    pub(crate) kind: ChangeKind,
    /// Mean number of changes of the text per day.
    pub(crate) rate: f64,
    /// Importance.
    pub(crate) weight: f32,
    /// Times of the changes of the text in days, ascending.
    pub(crate) changes: Vec<f32>,
}

/// The pages that tend to change equally often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Similar {
    /// The pages of a site.
    Sites,
    /// The pages of a section.
    Sections,
}

pub(crate) struct ChangingWeb {
    pub(crate) pages: Vec<ChangingPage>,
    /// For each page, the page that links to it; for an entry page, the page itself.
    pub(crate) heads: Vec<usize>,
    similar: Similar,
    /// The random numbers for the tree of links. They are separate from the others, so that the tree does not change how
    /// pages change.
    tree: RandomStream,
    /// The pages of each site; the first is the entry page.
    pub(crate) sites: Vec<Range<usize>>,
    pub(crate) days: f64,
}

/// Classes of Cho and Garcia-Molina: share of the pages, minimum and maximum days between changes.
const CLASSES: [(f64, f64, f64); 5] = [
    (0.23, 1.0 / 6.0, 1.0),
    (0.15, 1.0, 7.0),
    (0.16, 7.0, 30.0),
    (0.16, 30.0, 120.0),
    (0.30, 120.0, 730.0),
];

impl ChangingWeb {
    /// Generates a web of about `pages` pages, and their changes over `days` days.
    pub(crate) fn new(pages: usize, days: f64, seed: u64, similar: Similar) -> Self {
        let mut random = RandomStream::new(seed);
        let mut web = ChangingWeb {
            pages: Vec::with_capacity(pages),
            heads: Vec::with_capacity(pages),
            similar,
            tree: RandomStream::new(!seed),
            sites: Vec::new(),
            days,
        };
        while web.pages.len() < pages {
            web.add_site(&mut random, pages);
        }
        web
    }

    fn add_site(&mut self, random: &mut RandomStream, limit: usize) {
        let size = (5.0 * random.unit().powf(-1.0 / 1.2)).min(500.0) as usize;
        let class = random_class(random);
        let first = self.pages.len();
        let end = (first + size.max(2)).min(limit.max(first + 2));
        let sections = ((end - first) as f64).sqrt() as usize;
        let classes: Vec<usize> = (0..sections)
            .map(|_| random_class(&mut self.tree))
            .collect();
        for number in first..end {
            let section = match number - first {
                0 => None,
                place if place <= sections => Some(place - 1),
                _ => Some((self.tree.next() % sections as u64) as usize),
            };
            self.heads.push(match section {
                Some(section) if number > first + sections => first + 1 + section,
                _ => first,
            });
            let common = match (self.similar, section) {
                (Similar::Sections, Some(section)) => classes[section],
                _ => class,
            };
            let own = if random.unit() < 0.5 {
                common
            } else {
                random_class(random)
            };
            let kind = match random.unit() {
                // Entry pages are often portals, so a third of them change only their links.
                share if number == first && share < 0.33 => ChangeKind::Links,
                share if share < 0.70 => ChangeKind::Poisson,
                share if share < 0.76 => ChangeKind::Daily,
                share if share < 0.80 => ChangeKind::Weekly,
                share if share < 0.87 => ChangeKind::Bursts,
                share if share < 0.97 => ChangeKind::Markup,
                _ => ChangeKind::Links,
            };
            let page = page(kind, own, self.days, random);
            self.pages.push(page);
        }
        self.sites.push(first..end);
    }

    /// Sum of the importance of all pages.
    pub(crate) fn total_weight(&self) -> f64 {
        self.pages.iter().map(|page| f64::from(page.weight)).sum()
    }
}

/// A random index into [`CLASSES`].
fn random_class(random: &mut RandomStream) -> usize {
    let mut rest = random.unit();
    for (number, (share, ..)) in CLASSES.iter().enumerate() {
        if rest < *share {
            return number;
        }
        rest -= share;
    }
    CLASSES.len() - 1
}

fn page(kind: ChangeKind, class: usize, days: f64, random: &mut RandomStream) -> ChangingPage {
    let (_, min, max) = CLASSES[class];
    let interval = if class == CLASSES.len() - 1 && random.unit() < 0.5 {
        f64::INFINITY
    } else {
        random.between(min, max)
    };
    let weight = random.unit().powf(-1.0 / 1.1).min(1000.0) as f32;
    let (rate, changes) = changes(kind, interval, days, random);
    ChangingPage {
        kind,
        rate,
        weight,
        changes,
    }
}

/// The mean rate, and the times of the changes.
fn changes(
    kind: ChangeKind,
    interval: f64,
    days: f64,
    random: &mut RandomStream,
) -> (f64, Vec<f32>) {
    let mut times = Vec::new();
    let rate = match kind {
        ChangeKind::Weekly => {
            let mut time = random.unit() * 7.0;
            while time < days {
                times.push((time + 0.1 * random.unit()) as f32);
                time += 7.0;
            }
            1.0 / 7.0
        }
        ChangeKind::Bursts => {
            let (quiet, burst, step) = (45.0, 3.0, 0.25);
            let mut time = random.exponential(quiet);
            while time < days {
                let end = time + burst;
                while time < end {
                    times.push(time as f32);
                    time += random.exponential(step);
                }
                time = end + random.exponential(quiet);
            }
            burst / step / (quiet + burst)
        }
        ChangeKind::Poisson | ChangeKind::Daily if interval.is_finite() => {
            let mut time = random.exponential(interval);
            while time < days {
                times.push(match kind {
                    // All changes of the day are moved into the same eight hours.
                    ChangeKind::Daily => time.floor() + 0.33 + time.fract() / 3.0,
                    _ => time,
                } as f32);
                time += random.exponential(interval);
            }
            1.0 / interval
        }
        ChangeKind::Poisson | ChangeKind::Daily | ChangeKind::Markup | ChangeKind::Links => 0.0,
    };
    times.retain(|time| f64::from(*time) < days);
    (rate, times)
}
