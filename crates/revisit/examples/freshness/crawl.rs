//! Simulated crawls of the simulated web, and their measurements.
//!
//! A visit takes no time and always succeeds. The policy learns from it only whether the text has changed since the
//! last visit. All crawls visit the same web. The warm-up is not measured.

use std::{cmp::Reverse, collections::BinaryHeap};

use aranha_revisit::{
    History, Options, Pace, PagePlace, PageState, PageVisit, Policy, Schedule, SiteHistory,
    best_interval,
};

use crate::web::{ChangingPage, ChangingWeb, RandomStream};

const DAY_MS: f64 = 86_400_000.0;
/// First day of the simulation, in days since 1970. Only the times of the rounds depend on it.
const START_DAY: f64 = 20_454.0;

/// Measurements of a crawl.
#[derive(Clone, Default, Debug)]
pub(crate) struct Measurements {
    /// Visits after the warm-up.
    pub(crate) requests: f64,
    /// Visits after the warm-up that found a change.
    pub(crate) changes_found: f64,
    /// Changes found on inner pages, after the warm-up, in rounds in which the entry page had not changed.
    pub(crate) hidden_changes_found: f64,
    /// Share of the time during which a page is fresh, averaged over all pages.
    pub(crate) freshness: f64,
    /// Like `freshness`, for inner pages only.
    pub(crate) inner_freshness: f64,
    /// Age, averaged over all pages and time. The age of a page is the number of days since the first change that the
    /// crawl has not seen, and 0 while the page is fresh.
    pub(crate) age: f64,
    /// Share of the time during which a page is stale, averaged over all pages with their importance as weight.
    pub(crate) staleness: f64,
    /// Visits and stale days after the warm-up, for each kind of page in the order of `ChangeKind::ALL`.
    pub(crate) kinds: [[f64; 2]; 6],
    /// Freshness, age, staleness and visits per day, for each week from the start.
    pub(crate) weeks: Vec<[f64; 4]>,
}

/// The crawl's copies of all pages, and the sums of their stale time and age so far.
struct Copies<'a> {
    web: &'a ChangingWeb,
    /// End of the warm-up, in days.
    warm_up: f64,
    /// For each page, the day of the last visit (negative: never) and the number of changes until then.
    visited: Vec<(f64, u32)>,
    is_entry: Vec<bool>,
    stale: f64,
    stale_inner: f64,
    stale_weighted: f64,
    age: f64,
    measured: Measurements,
}

impl<'a> Copies<'a> {
    fn new(web: &'a ChangingWeb, warm_up: f64) -> Self {
        let mut is_entry = vec![false; web.pages.len()];
        for site in &web.sites {
            is_entry[site.start] = true;
        }
        Copies {
            web,
            warm_up,
            visited: vec![(-1.0, 0); web.pages.len()],
            is_entry,
            stale: 0.0,
            stale_inner: 0.0,
            stale_weighted: 0.0,
            age: 0.0,
            measured: Measurements {
                weeks: vec![[0.0; 4]; (web.days / 7.0) as usize + 1],
                ..Measurements::default()
            },
        }
    }

    /// Visits a page.
    fn visit(&mut self, page: usize, time: f64) -> PageState {
        let first = self.visited[page].0 < 0.0;
        let changed = self.advance(page, time);
        if time >= self.warm_up {
            self.measured.requests += 1.0;
            self.measured.changes_found += f64::from(u8::from(changed && !first));
            self.measured.kinds[self.web.pages[page].kind as usize][0] += 1.0;
        }
        self.measured.weeks[(time / 7.0) as usize][3] += 1.0;
        match (first, changed) {
            (true, _) => PageState::New,
            (_, true) => PageState::Changed,
            _ => PageState::Same,
        }
    }

    /// Adds the stale time since the last visit of a page to the sums. Returns whether its text has changed.
    fn advance(&mut self, page: usize, time: f64) -> bool {
        let (last, seen) = self.visited[page];
        let changes = &self.web.pages[page].changes;
        let mut count = seen as usize;
        while changes.get(count).is_some_and(|at| f64::from(*at) <= time) {
            count += 1;
        }
        if count > seen as usize && last >= 0.0 {
            self.add_stale(page, f64::from(changes[seen as usize]), time);
        }
        self.visited[page] = (time, count as u32);
        count > seen as usize
    }

    /// Adds a period in which a page was stale to the sums.
    fn add_stale(&mut self, page: usize, from: f64, to: f64) {
        let weight = f64::from(self.web.pages[page].weight);
        let begin = from.max(self.warm_up);
        if to > begin {
            let time = to - begin;
            self.stale += time;
            self.measured.kinds[self.web.pages[page].kind as usize][1] += time;
            self.stale_weighted += time * weight;
            self.stale_inner += if self.is_entry[page] { 0.0 } else { time };
            self.age += time * (f64::midpoint(begin, to) - from);
        }
        let mut begin = from;
        while begin < to {
            let week = (begin / 7.0) as usize;
            let end = ((week + 1) as f64 * 7.0).min(to);
            let sums = &mut self.measured.weeks[week];
            sums[0] += end - begin;
            sums[1] += (end - begin) * (f64::midpoint(begin, end) - from);
            sums[2] += (end - begin) * weight;
            begin = end;
        }
    }

    fn finish(mut self) -> Measurements {
        for page in 0..self.web.pages.len() {
            self.advance(page, self.web.days);
        }
        let pages = self.web.pages.len() as f64;
        let span = self.web.days - self.warm_up;
        let weights = self.web.total_weight();
        let mut measured = self.measured;
        measured.freshness = 1.0 - self.stale / span / pages;
        measured.inner_freshness =
            1.0 - self.stale_inner / span / (pages - self.web.sites.len() as f64);
        measured.age = self.age / span / pages;
        measured.staleness = self.stale_weighted / span / weights;
        measured.weeks.truncate((self.web.days / 7.0) as usize);
        for week in &mut measured.weeks {
            *week = [
                1.0 - week[0] / 7.0 / pages,
                week[1] / 7.0 / pages,
                week[2] / 7.0 / weights,
                week[3] / 7.0,
            ];
        }
        measured
    }
}

/// The values that all crawls of an experiment share: the simulated web and two periods, in days.
#[derive(Clone, Copy)]
pub(crate) struct PolicyExperiment<'a> {
    pub(crate) web: &'a ChangingWeb,
    /// The warm-up ends on this day; nothing is measured before it.
    pub(crate) warm_up: f64,
    /// Every page is visited for the first time before this day. `in_rounds` does not use this value.
    pub(crate) first_visits: f64,
}

impl PolicyExperiment<'_> {
    /// The time of the first visit of each page.
    fn first_visit_times(&self) -> Vec<f64> {
        let mut random = RandomStream::new(77);
        let pages = self.web.pages.len();
        (0..pages)
            .map(|_| random.unit() * self.first_visits)
            .collect()
    }

    /// Visits every page at its own fixed interval. A page with an infinite interval is visited once.
    pub(crate) fn at_intervals(&self, intervals: &[f64]) -> Measurements {
        let mut copies = Copies::new(self.web, self.warm_up);
        for (page, time) in self.first_visit_times().into_iter().enumerate() {
            let mut time = time;
            while time < self.web.days {
                copies.visit(page, time);
                time += intervals[page];
            }
        }
        copies.finish()
    }

    /// Visits all pages equally often, with `budget` requests per day.
    pub(crate) fn uniform(&self, budget: f64) -> Measurements {
        let pages = self.web.pages.len();
        self.at_intervals(&vec![pages as f64 / budget; pages])
    }

    /// Simulates the best crawl with `budget` requests per day. It knows the rate and importance of every page.
    pub(crate) fn clairvoyant(&self, budget: f64) -> Measurements {
        let intervals = |price: f64| -> Vec<f64> {
            let best = |page: &ChangingPage| {
                if page.rate > 0.0 {
                    best_interval(page.rate, f64::from(page.weight), price)
                } else {
                    f64::INFINITY
                }
            };
            self.web.pages.iter().map(best).collect()
        };
        let spent = |price: f64| intervals(price).iter().map(|days| 1.0 / days).sum::<f64>();
        let (mut low, mut high) = (1e-9f64, 1e9f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if spent(middle) > budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.at_intervals(&intervals(high))
    }

    /// Simulates a crawl with a policy that plans each page separately.
    pub(crate) fn planned(&self, options: &Options) -> Measurements {
        let schedule = Schedule::new(options);
        let mut copies = Copies::new(self.web, self.warm_up);
        let mut histories = vec![History::default(); self.web.pages.len()];
        let mut queue: BinaryHeap<Reverse<(i64, usize)>> = self
            .first_visit_times()
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

    /// Visits whole sites in rounds: the pages that are due and that `selective` chooses, each after the page that links
    /// to it. With `skip_unchanged`, the inner pages are visited only if the entry page has changed.
    pub(crate) fn in_rounds(&self, options: &Options, skip_unchanged: bool) -> Measurements {
        let schedule = Schedule::new(options);
        let mut copies = Copies::new(self.web, self.warm_up);
        let mut histories = vec![History::default(); self.web.pages.len()];
        let mut due = vec![i64::MIN; self.web.pages.len()];
        for (number, site) in self.web.sites.iter().enumerate() {
            let mut site_history = SiteHistory::default();
            let mut at = to_ms(0.0);
            loop {
                // All pages of a site are planned with the key of the site, so that they are visited together.
                at = schedule.in_next_round(number as u64, at);
                let time = to_days(at);
                if time >= self.web.days {
                    break;
                }
                let mut entry_changed = false;
                for page in site.clone() {
                    if due[page] > at {
                        continue;
                    }
                    let place = PagePlace {
                        key: page as u64,
                        head: (page != site.start).then(|| self.web.heads[page] as u64),
                    };
                    let history = &mut histories[page];
                    let (chosen, update) =
                        schedule.judge(&site_history, place, history, Pace::default(), at);
                    site_history.apply(update);
                    let is_skipped = skip_unchanged && !entry_changed && page != site.start;
                    if is_skipped || !(chosen || skip_unchanged) {
                        continue;
                    }
                    let seen = copies.visit(page, time);
                    if page == site.start {
                        entry_changed = matches!(seen, PageState::New | PageState::Changed);
                    } else if seen == PageState::Changed && !entry_changed && time >= self.warm_up {
                        copies.measured.hidden_changes_found += 1.0;
                    }
                    let update = schedule.observe(&site_history, place, seen, at);
                    let visit = PageVisit {
                        inner: update.share(),
                        quick: schedule.quick(&update.inner),
                        ..PageVisit::new(at, seen, number as u64)
                    };
                    site_history.apply(update);
                    due[page] = schedule.plan(history, &visit).unwrap_or(i64::MAX);
                }
            }
        }
        copies.finish()
    }

    /// Simulates a crawl with the policy of `options`.
    pub(crate) fn run(&self, options: &Options) -> Measurements {
        if options.policy == Policy::Selective {
            self.in_rounds(options, false)
        } else {
            self.planned(options)
        }
    }

    /// Requests per day after the warm-up.
    pub(crate) fn requests_per_day(&self, measured: &Measurements) -> f64 {
        measured.requests / (self.web.days - self.warm_up)
    }
}

fn to_ms(days: f64) -> i64 {
    ((START_DAY + days) * DAY_MS) as i64
}

fn to_days(ms: i64) -> f64 {
    ms as f64 / DAY_MS - START_DAY
}
