//! Crawls of the simulated web, and what is measured of them.
//!
//! A visit takes no time and always succeeds; it tells the policy one bit, whether the text has changed since the last
//! one. All runs see the same web. What happens before the warm-up is over is not counted.

use std::{cmp::Reverse, collections::BinaryHeap};

use aranha_revisit::{
    History, Options, PageState, PageVisit, Policy, Schedule, SiteHistory, best_interval,
};

use crate::web::{Chance, Page, Web};

const DAY_MS: f64 = 86_400_000.0;
/// The simulation begins on a day in 2026; only the rounds depend on it.
const START: f64 = 20_454.0;

/// What a run is measured by.
#[derive(Clone, Default, Debug)]
pub(crate) struct Outcome {
    /// Visits after the warm-up.
    pub(crate) requests: f64,
    /// Visits after the warm-up that found a change.
    pub(crate) found: f64,
    /// The same, of inner pages in rounds in which their entry page had not changed.
    pub(crate) hidden: f64,
    /// Share of the time that a page is fresh, mean over pages.
    pub(crate) freshness: f64,
    /// The same of inner pages of sites.
    pub(crate) inner: f64,
    /// Days since the first change not yet seen, 0 while fresh; mean over pages and time.
    pub(crate) age: f64,
    /// Share of the time that a page is stale, weighted by importance.
    pub(crate) staleness: f64,
    /// By kind of page, in the order of `Kind::ALL`: visits after the warm-up, days stale.
    pub(crate) kinds: [[f64; 2]; 6],
    /// By weeks from the beginning: freshness, age, staleness, visits a day.
    pub(crate) weeks: Vec<[f64; 4]>,
}

/// Copies of all pages, and the sums over time.
struct Copies<'a> {
    web: &'a Web,
    warm: f64,
    /// When each page was last visited (negative: never), and the number of changes seen until then.
    visited: Vec<(f64, u32)>,
    entry: Vec<bool>,
    stale: f64,
    stale_inner: f64,
    stale_weighted: f64,
    age: f64,
    outcome: Outcome,
}

impl<'a> Copies<'a> {
    fn new(web: &'a Web, warm: f64) -> Self {
        let mut entry = vec![false; web.pages.len()];
        for site in &web.sites {
            entry[site.start] = true;
        }
        Copies {
            web,
            warm,
            visited: vec![(-1.0, 0); web.pages.len()],
            entry,
            stale: 0.0,
            stale_inner: 0.0,
            stale_weighted: 0.0,
            age: 0.0,
            outcome: Outcome {
                weeks: vec![[0.0; 4]; (web.days / 7.0) as usize + 1],
                ..Outcome::default()
            },
        }
    }

    /// Visit a page.
    fn visit(&mut self, page: usize, time: f64) -> PageState {
        let first = self.visited[page].0 < 0.0;
        let changed = self.pass(page, time);
        if time >= self.warm {
            self.outcome.requests += 1.0;
            self.outcome.found += f64::from(u8::from(changed && !first));
            self.outcome.kinds[self.web.pages[page].kind as usize][0] += 1.0;
        }
        self.outcome.weeks[(time / 7.0) as usize][3] += 1.0;
        match (first, changed) {
            (true, _) => PageState::New,
            (_, true) => PageState::Changed,
            _ => PageState::Same,
        }
    }

    /// Count the time since the last visit of a page; whether its text has changed.
    fn pass(&mut self, page: usize, time: f64) -> bool {
        let (last, seen) = self.visited[page];
        let changes = &self.web.pages[page].changes;
        let mut count = seen as usize;
        while changes.get(count).is_some_and(|at| f64::from(*at) <= time) {
            count += 1;
        }
        if count > seen as usize && last >= 0.0 {
            self.stale(page, f64::from(changes[seen as usize]), time);
        }
        self.visited[page] = (time, count as u32);
        count > seen as usize
    }

    /// A page was stale from `from` on.
    fn stale(&mut self, page: usize, from: f64, to: f64) {
        let weight = f64::from(self.web.pages[page].weight);
        let begin = from.max(self.warm);
        if to > begin {
            let time = to - begin;
            self.stale += time;
            self.outcome.kinds[self.web.pages[page].kind as usize][1] += time;
            self.stale_weighted += time * weight;
            self.stale_inner += if self.entry[page] { 0.0 } else { time };
            self.age += time * (f64::midpoint(begin, to) - from);
        }
        let mut begin = from;
        while begin < to {
            let week = (begin / 7.0) as usize;
            let end = ((week + 1) as f64 * 7.0).min(to);
            let sums = &mut self.outcome.weeks[week];
            sums[0] += end - begin;
            sums[1] += (end - begin) * (f64::midpoint(begin, end) - from);
            sums[2] += (end - begin) * weight;
            begin = end;
        }
    }

    fn finish(mut self) -> Outcome {
        for page in 0..self.web.pages.len() {
            self.pass(page, self.web.days);
        }
        let pages = self.web.pages.len() as f64;
        let span = self.web.days - self.warm;
        let weights = self.web.weights();
        let mut outcome = self.outcome;
        outcome.freshness = 1.0 - self.stale / span / pages;
        outcome.inner = 1.0 - self.stale_inner / span / (pages - self.web.sites.len() as f64);
        outcome.age = self.age / span / pages;
        outcome.staleness = self.stale_weighted / span / weights;
        outcome.weeks.truncate((self.web.days / 7.0) as usize);
        for week in &mut outcome.weeks {
            *week = [
                1.0 - week[0] / 7.0 / pages,
                week[1] / 7.0 / pages,
                week[2] / 7.0 / weights,
                week[3] / 7.0,
            ];
        }
        outcome
    }
}

/// What a crawl is told: the web, the days before anything is counted, the days that the first visits of all pages take.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) web: &'a Web,
    pub(crate) warm: f64,
    pub(crate) first: f64,
}

impl Setting<'_> {
    /// When each page is visited for the first time.
    fn beginnings(&self) -> Vec<f64> {
        let mut chance = Chance::new(77);
        let pages = self.web.pages.len();
        (0..pages).map(|_| chance.unit() * self.first).collect()
    }

    /// Visit every page at its own interval, exactly; infinite: once.
    pub(crate) fn regularly(&self, intervals: &[f64]) -> Outcome {
        let mut copies = Copies::new(self.web, self.warm);
        for (page, time) in self.beginnings().into_iter().enumerate() {
            let mut time = time;
            while time < self.web.days {
                copies.visit(page, time);
                time += intervals[page];
            }
        }
        copies.finish()
    }

    /// Uniform visiting: `budget` requests a day, every page as often as every other.
    pub(crate) fn uniform(&self, budget: f64) -> Outcome {
        let pages = self.web.pages.len();
        self.regularly(&vec![pages as f64 / budget; pages])
    }

    /// The best that can be done with `budget` requests a day by who knows every page's rate and importance.
    pub(crate) fn clairvoyant(&self, budget: f64) -> Outcome {
        let at = |price: f64| -> Vec<f64> {
            let best = |page: &Page| {
                if page.rate > 0.0 {
                    best_interval(page.rate, f64::from(page.weight), price)
                } else {
                    f64::INFINITY
                }
            };
            self.web.pages.iter().map(best).collect()
        };
        let spent = |price: f64| at(price).iter().map(|days| 1.0 / days).sum::<f64>();
        let (mut low, mut high) = (1e-9f64, 1e9f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if spent(middle) > budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.regularly(&at(high))
    }

    /// A policy that plans each page by itself.
    pub(crate) fn planned(&self, options: &Options) -> Outcome {
        let schedule = Schedule::new(options);
        let mut copies = Copies::new(self.web, self.warm);
        let mut histories = vec![History::default(); self.web.pages.len()];
        let mut queue: BinaryHeap<Reverse<(i64, usize)>> = self
            .beginnings()
            .into_iter()
            .enumerate()
            .map(|(page, time)| Reverse((to_ms(time), page)))
            .collect();
        while let Some(Reverse((at, page))) = queue.pop() {
            let time = to_days(at);
            if time >= self.web.days {
                break;
            }
            let seen = copies.visit(page, time);
            let visit = PageVisit {
                importance: self.web.pages[page].weight,
                ..PageVisit::new(at, seen, page as u64)
            };
            if let Some(due) = schedule.plan(&mut histories[page], &visit) {
                queue.push(Reverse((due, page)));
            }
        }
        copies.finish()
    }

    /// Rounds of whole sites: the entry page first, then its inner pages as far as they are due and `selective` wants
    /// them; or, `skipping`, only when the entry page has changed.
    pub(crate) fn in_rounds(&self, options: &Options, skipping: bool) -> Outcome {
        let schedule = Schedule::new(options);
        let mut copies = Copies::new(self.web, self.warm);
        let mut histories = vec![History::default(); self.web.pages.len()];
        let mut due = vec![i64::MIN; self.web.pages.len()];
        for (number, site) in self.web.sites.iter().enumerate() {
            let mut memory = SiteHistory::default();
            let mut at = to_ms(0.0);
            loop {
                // The pages of a site share its key: they come together.
                at = schedule.in_next_round(number as u64, at);
                let time = to_days(at);
                if time >= self.web.days {
                    break;
                }
                let mut plan =
                    |page: usize, seen: PageState, due: &mut [i64], memory: &SiteHistory| {
                        let visit = PageVisit {
                            inner: memory.share().filter(|_| page == site.start),
                            quick: schedule.quick(memory),
                            ..PageVisit::new(at, seen, number as u64)
                        };
                        due[page] = schedule
                            .plan(&mut histories[page], &visit)
                            .unwrap_or(i64::MAX);
                    };
                let entry = (due[site.start] <= at).then(|| copies.visit(site.start, time));
                schedule.open_round(&mut memory, entry, at);
                if let Some(seen) = entry {
                    plan(site.start, seen, &mut due, &memory);
                }
                let followed = matches!(entry, Some(PageState::New | PageState::Changed));
                for page in site.start + 1..site.end {
                    let wanted = if skipping {
                        followed
                    } else {
                        schedule.visits_inner_page(&memory, page as u64)
                    };
                    if due[page] > at || !wanted {
                        continue;
                    }
                    let seen = copies.visit(page, time);
                    memory.count_inner_visit(seen);
                    if seen == PageState::Changed && !followed && time >= self.warm {
                        copies.outcome.hidden += 1.0;
                    }
                    plan(page, seen, &mut due, &memory);
                }
            }
        }
        copies.finish()
    }

    /// A run of any policy.
    pub(crate) fn run(&self, options: &Options) -> Outcome {
        if options.policy == Policy::Selective {
            self.in_rounds(options, false)
        } else {
            self.planned(options)
        }
    }

    /// Requests a day after the warm-up.
    pub(crate) fn spent(&self, outcome: &Outcome) -> f64 {
        outcome.requests / (self.web.days - self.warm)
    }
}

fn to_ms(days: f64) -> i64 {
    ((START + days) * DAY_MS) as i64
}

fn to_days(ms: i64) -> f64 {
    ms as f64 / DAY_MS - START
}
