//! Entry point of the policies: [`Schedule::plan`] adds a visit to the page's history and returns the time of the next
//! one.
//!
//! One [`Schedule`] is built from the configuration and shared by all visits. The history does not depend on the
//! policy, so that the policy can be changed between two crawls.

use std::time::Duration;

use crate::{
    Census, DAY_MS, GroupHistory, History, Options, Pace, PageState, PageVisit, Policy,
    SelectiveGroups, frequency,
    optimal::Market,
    poisson::Belief,
    rounds::{self, Rounds},
};

/// At the first visit, a `Last-Modified` younger than this many days is ignored, because it may be the time of the
/// response.
const MIN_AGE_DAYS: f64 = 1.0;
/// At a later visit, a `Last-Modified` is ignored if its age is less than this share of the time since the previous
/// visit. It may be the time of the response.
const MIN_AGE_SHARE: f64 = 0.05;

/// Computes the time of the next visit.
#[derive(Debug)]
pub struct Schedule {
    options: Options,
    rounds: Rounds,
    quick: Option<Rounds>,
    /// Census and price; present only with the policy `optimal`.
    market: Option<Market>,
}

/// Selects the pages that a crawl revisits before they are due. A page must meet both conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyVisits {
    /// The page is due at this time or before, unix milliseconds.
    pub due_by: i64,
    /// The last visit of the page was at this time or before, unix milliseconds. This condition prevents two visits of
    /// a page in one round.
    pub visited_by: i64,
}

impl Schedule {
    /// Values out of range are clamped. For example, a round lasts at least a millisecond, and a share is between 0 and
    /// 1.
    pub fn new(options: &Options) -> Self {
        Schedule {
            rounds: Rounds::new(options.every, options.spread),
            quick: options
                .quick_every
                .map(|length| Rounds::new(length, options.spread)),
            market: (options.policy == Policy::Optimal).then(|| {
                Market::new(
                    options.budget as f64,
                    days(options.min_interval).max(1e-6),
                    days(options.max_interval),
                )
            }),
            options: options.clone(),
        }
    }

    /// Adds a visit to the history of its page. Returns the time of the next visit in unix milliseconds, always later
    /// than this visit, or `None` if the page is not to be visited again.
    pub fn plan(&self, history: &mut History, visit: &PageVisit) -> Option<i64> {
        match visit.seen {
            PageState::Gone => return self.plan_gone(history, visit),
            PageState::Failed => {}
            PageState::New | PageState::Same | PageState::Changed => self.learn(history, visit),
        }
        let due = match (self.options.policy, &self.market) {
            (Policy::Optimal, Some(market)) => {
                let rate = self.belief(history, visit.pace).rate();
                let wait = market.interval(&mut history.cell, rate, visit.importance);
                let wait = wait.min(self.max_interval_by_age(history));
                let wait = visit
                    .pace
                    .max_every
                    .map_or(wait, |most| wait.min(days(most)));
                self.plan_in_days(wait, history, visit)
            }
            (Policy::Optimal | Policy::Poisson, _) => {
                let wait = self
                    .belief(history, visit.pace)
                    .wait(f64::from(self.options.change_probability));
                let wait = wait.min(days(self.longest(visit.pace)));
                self.plan_in_days(wait, history, visit)
            }
            // With `descend`, every round asks whether a page is visited. The page is skipped if its turn has not come.
            (Policy::Selective, _) if self.groups() == SelectiveGroups::Descend => {
                self.plan_in_rounds(1, visit)
            }
            (Policy::Frequency | Policy::Selective, _) => {
                self.plan_in_rounds(history.level.max(1).into(), visit)
            }
            (Policy::Never, _) => return None,
            (Policy::Fixed, _) => {
                let rounds = visit.pace.every.map_or(1, |every| self.in_rounds(every));
                self.plan_in_rounds(rounds, visit)
            }
        };
        Some(self.defer_until_expiry(due, visit).max(visit.at + 1))
    }

    /// The number of the round at time `at`. It is the same on every node.
    pub fn round(&self, at: i64) -> u32 {
        u32::try_from(self.rounds.number(at).max(0)).unwrap_or(u32::MAX)
    }

    pub(crate) fn policy(&self) -> Policy {
        self.options.policy
    }

    pub(crate) fn groups(&self) -> SelectiveGroups {
        self.options.selective
    }

    pub(crate) fn min_changed_share(&self) -> f32 {
        self.options.min_changed_share
    }

    /// Whether the page's own turn has come: it was last visited as many rounds ago as its level (`fr_max`) says.
    pub(crate) fn is_turn(&self, history: &History, pace: Pace, at: i64) -> bool {
        let last = self.round(i64::from(history.last_visit) * 1000);
        let rounds = u32::from(history.level.max(1)).min(self.in_rounds(self.longest(pace)));
        history.visits == 0 || self.round(at) >= last.saturating_add(rounds)
    }

    /// Whether the page is overdue. It is overdue if a visit in the next round would come more than the longest permitted
    /// interval after the last visit.
    pub(crate) fn is_overdue(&self, history: &History, pace: Pace, at: i64) -> bool {
        let last = self.round(i64::from(history.last_visit) * 1000);
        let rounds = self.in_rounds(self.longest(pace));
        history.visits > 0 && self.round(at) >= last.saturating_add(rounds)
    }

    /// The longest interval between two visits of a page.
    fn longest(&self, pace: Pace) -> Duration {
        pace.max_every.unwrap_or(self.options.max_interval)
    }

    /// The number of whole rounds in an interval, at least 1.
    fn in_rounds(&self, interval: Duration) -> u32 {
        let rounds = (millis(interval) / self.rounds.length()).max(1);
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// The visit time of the page or site `key` in the next round after the one that contains the time `at`.
    pub fn in_next_round(&self, key: u64, at: i64) -> i64 {
        self.rounds.time_in_round(self.rounds.number(at) + 1, key)
    }

    /// Selects the pages that a crawl revisits before they are due. The crawl starts at `now` and is not continuous.
    /// `None` if the crawl revisits no page early.
    ///
    /// The due time of a page varies within the first part of each round (`spread`). Without early visits, a crawl that
    /// starts at the same time every day would start before the due time on some days and miss the page.
    pub fn early_visits(&self, now: i64) -> Option<EarlyVisits> {
        if !matches!(
            self.options.policy,
            Policy::Fixed | Policy::Frequency | Policy::Selective
        ) {
            return None;
        }
        let spread = self.rounds.spread();
        (spread > 0).then(|| EarlyVisits {
            due_by: now.saturating_add(spread),
            visited_by: now.saturating_sub(self.rounds.length() - spread),
        })
    }

    /// `fixed`, `frequency`: counts a visited page of a site, to learn whether the site is fast. Returns false, without
    /// counting, if quick rounds are not configured.
    pub fn count_visit(&self, site: &mut GroupHistory, seen: PageState, at: i64) -> bool {
        let has_rounds = matches!(self.options.policy, Policy::Fixed | Policy::Frequency);
        if !has_rounds || self.quick.is_none() {
            return false;
        }
        site.count_visit(self.round(at), seen, self.options.min_changed_share);
        true
    }

    /// Whether the site is fast and quick rounds are configured (I6).
    pub fn quick(&self, site: &GroupHistory) -> bool {
        self.quick.is_some() && site.fast()
    }

    /// The time of the next round of a site: the next quick round if the site is fast, otherwise the next full round.
    pub fn next_round(&self, site: &GroupHistory, key: u64, at: i64) -> i64 {
        let full = self.in_next_round(key, at);
        match self.quick {
            Some(quick) if site.fast() => full.min(quick.time_in_round(quick.number(at) + 1, key)),
            _ => full,
        }
    }

    /// `optimal`: the pages counted so far. The engine stores the census and passes it to [`Schedule::restore`].
    pub fn census(&self) -> Census {
        self.market.as_ref().map(Market::census).unwrap_or_default()
    }

    /// `optimal`: restores the census after a restart, before the first plan. The alternative is to call
    /// [`Schedule::count_known`] for every page. Without either, the whole budget is spent on the few pages visited
    /// since the restart.
    pub fn restore(&self, census: &Census) {
        if let Some(market) = &self.market {
            market.restore(census);
        }
    }

    /// `optimal`: counts a page of an earlier crawl, as an alternative to [`Schedule::restore`].
    pub fn count_known(&self, history: &History) {
        if let Some(market) = &self.market {
            market.count_known(history.cell, 1);
        }
    }

    /// `optimal`: the price. A page gets one more request a day if this increases its importance times freshness by at
    /// least the price.
    pub fn price(&self) -> f64 {
        self.market.as_ref().map_or(0.0, Market::price)
    }

    /// Estimated number of changes of the page per day.
    pub fn rate(&self, history: &History) -> f64 {
        self.belief(history, Pace::default()).rate()
    }

    fn belief(&self, history: &History, pace: Pace) -> Belief {
        let prior = pace.every.unwrap_or(self.options.prior_change_interval);
        Belief::of(history.shape, history.exposure).unwrap_or_else(|| Belief::prior(days(prior)))
    }

    /// Longest interval in days that the number of visits permits. It doubles with every visit, because otherwise a
    /// wrong first estimate could delay the next visit by months.
    fn max_interval_by_age(&self, history: &History) -> f64 {
        days(self.options.prior_change_interval) * f64::from(history.visits.clamp(1, 32) - 1).exp2()
    }

    /// Updates the history with a visit that found the page.
    fn learn(&self, history: &mut History, visit: &PageVisit) {
        let before = self.belief(history, visit.pace);
        let age = visit
            .modified
            .map(|modified| (visit.at - modified) as f64 / DAY_MS);
        let belief = match (history.days_since(visit.at), visit.seen) {
            (None, _) | (_, PageState::New) => match age {
                Some(age) if age >= MIN_AGE_DAYS => before.dated(age),
                _ => before,
            },
            (Some(days), PageState::Changed) => match age {
                Some(age) if age >= MIN_AGE_SHARE * days && age <= days => before.dated(age),
                _ => before.changed(days),
            },
            (Some(days), _) => before.same(days),
        };
        (history.shape, history.exposure) = belief.parts();
        history.count(visit.at, visit.seen == PageState::Changed);
        history.level = self.level(history, visit);
    }

    fn level(&self, history: &History, visit: &PageVisit) -> u8 {
        let every = visit.pace.every;
        let first = every.map_or(self.options.initial_rounds, |every| self.in_rounds(every));
        let level = frequency::level(history, self.options.history_visits, first);
        match visit.inner {
            Some(share) if self.options.policy == Policy::Selective => {
                frequency::lowered(u32::from(level), share) as u8
            }
            _ => level,
        }
    }

    /// Plans the next visit of a page that is gone. The interval doubles at each visit. After `max_gone` visits in a
    /// row that found the page gone, it is not visited again.
    fn plan_gone(&self, history: &mut History, visit: &PageVisit) -> Option<i64> {
        history.gone = history.gone.saturating_add(1);
        if let Some(market) = &self.market {
            market.leave(&mut history.cell);
        }
        if history.gone >= self.options.max_gone.max(1) {
            return None;
        }
        let rounds = 1i64 << (history.gone - 1).min(32);
        let round = self.rounds.number(visit.at).saturating_add(rounds);
        let due = self.rounds.time_in_round(round, visit.key);
        Some(due.max(visit.at + self.min_gap_ms()))
    }

    /// Plans the next visit `level` rounds later. If the page changed and its site is fast, plans it in the next quick
    /// round instead.
    fn plan_in_rounds(&self, level: u32, visit: &PageVisit) -> i64 {
        let rounds = level.min(self.in_rounds(self.longest(visit.pace)));
        let due = self.rounds.time_in_round(
            self.rounds.number(visit.at).saturating_add(rounds.into()),
            visit.key,
        );
        let due = match self.quick {
            Some(quick) if visit.quick && visit.seen == PageState::Changed => {
                due.min(quick.time_in_round(quick.number(visit.at) + 1, visit.key))
            }
            _ => due,
        };
        due.max(visit.at + self.min_gap_ms())
    }

    /// Shortest time between two visits that are planned in rounds. This is `min_interval`, or half of the shortest
    /// round if that is less.
    fn min_gap_ms(&self) -> i64 {
        let shortest = self.quick.map_or(i64::MAX, Rounds::length);
        let shortest = self.rounds.length().min(shortest);
        millis(self.options.min_interval).min(shortest / 2)
    }

    /// Plans the next visit `days` later. The interval varies by up to half the spread in either direction.
    fn plan_in_days(&self, days: f64, history: &History, visit: &PageVisit) -> i64 {
        let place = rounds::unit_hash(visit.key, u64::from(history.visits)) - 0.5;
        let spread = f64::from(self.options.spread.clamp(0.0, 1.0));
        let wait = days * (1.0 + spread * place) * DAY_MS;
        visit.at + (wait as i64).max(millis(self.options.min_interval))
    }

    /// Defers the visit until the response expires, but at most to twice the planned interval.
    fn defer_until_expiry(&self, due: i64, visit: &PageVisit) -> i64 {
        match visit.expires {
            Some(expires) if expires > due => {
                let twice = visit.at + 2 * (due - visit.at);
                let most = visit.at + millis(self.longest(visit.pace));
                expires.min(twice).min(most).max(due)
            }
            _ => due,
        }
    }
}

fn days(duration: Duration) -> f64 {
    duration.as_secs_f64() / 86_400.0
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis())
        .unwrap_or(i64::MAX)
        .min(i64::MAX / 8)
}

#[cfg(test)]
mod tests;
