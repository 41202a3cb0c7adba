//! Coming back: what a visit found of a page that was there before, and when to ask again (I1 to I4, F12).
//!
//! A page answered keeps its [`Past`] and its place in the schedule; here the two meet. Change is judged on the text,
//! not on the markup around it. What the policies are is the business of `crates/revisit`; courtesy, thresholds and
//! retries are not touched by it: a page that fails is tried again by the retry table first.

use aranha_frontier::{Claim, Hop, Outcome, Past, Pending};
use aranha_revisit::{History, PageState, Policy, SiteHistory};
use aranha_url::PathKey;

use super::Visit;
use crate::collect::Version;
use crate::commit::Done;
use crate::signals::{self, Source};
use crate::status::tally::add;

impl Visit {
    /// Plans the next visit of a page that had an answer, unless the retry table did already.
    pub(super) fn come_back(
        &mut self,
        page: &Pending,
        done: &mut Done,
        version: Option<Version>,
        soft: bool,
        now: i64,
    ) {
        let seen = judge(page, done.record.outcome, soft, version.as_ref());
        self.count_change(page, seen);
        let expires = version.as_ref().and_then(|version| version.expires);
        let mut past = match (version, &page.past) {
            (Some(version), _) if seen != PageState::Gone => Box::new(version.past),
            (_, Some(past)) => past.clone(),
            (_, None) => return self.another_chance(done, now),
        };
        if seen != PageState::Failed {
            past.visited = done.record.time;
        }
        if done.record.next.is_none() {
            done.record.next = self.plan(page, &mut past, seen, expires, now);
        }
        // Kept in any case: a page that is tried again must not forget what it was.
        done.record.past = done.record.next.is_some().then_some(past);
    }

    /// When a page that is not asked now comes again; with what is remembered of one that was answered before.
    pub(super) fn come_back_unseen(&mut self, page: &Pending, done: &mut Done, now: i64) {
        let Some(mut past) = page.past.clone() else {
            return self.another_chance(done, now);
        };
        done.record.next = self.plan(page, &mut past, PageState::Failed, None, now);
        done.record.past = done.record.next.is_some().then_some(past);
    }

    /// A page that was never answered. A link that leads nowhere is not asked again and again; but what the retry table
    /// takes for passing, and outlasted the table, has another chance.
    fn another_chance(&self, done: &mut Done, now: i64) {
        if done.record.next.is_none() {
            done.record.next = self.next_chance(done.record.outcome, now);
        }
    }

    /// When the retry table is used up: the next round, and no sooner than the table's last delay. `None`: never, because
    /// failures like this one last, or nothing is visited twice.
    pub(super) fn next_chance(&self, cause: Outcome, now: i64) -> Option<i64> {
        let config = &self.context.config;
        let last = config.retry.delays(cause)?.last()?;
        let round = self.context.schedule.in_next_round(self.site_key.0, now);
        let last = now.saturating_add(last.as_millis() as i64);
        (config.revisit.policy != Policy::Never).then(|| round.max(last))
    }

    fn plan(
        &mut self,
        page: &Pending,
        past: &mut Past,
        seen: PageState,
        expires: Option<i64>,
        now: i64,
    ) -> Option<i64> {
        let policy = self.context.config.revisit.policy;
        if policy == Policy::Never {
            return None;
        }
        if let Some(before) = &page.past {
            self.learn_trust(before.claim, seen);
        }
        past.claim = 0;
        let mut history: History = postcard::from_bytes(&past.history).unwrap_or_default();
        let mut rounds = self.rounds();
        let entry = page.site_depth == 0;
        let schedule = &self.context.schedule;
        if policy == Policy::Selective {
            if entry {
                schedule.open_round(&mut rounds, Some(seen), now);
            } else {
                rounds.count_inner_visit(seen);
            }
            self.keep_rounds(&rounds);
        }
        let visit = aranha_revisit::PageVisit {
            at: now,
            seen,
            modified: past.modified,
            expires,
            importance: 1.0 / (1.0 + f32::from(page.depth)),
            // In rounds the pages of a site come together, so that one visit takes them all.
            key: match policy {
                Policy::Poisson | Policy::Optimal => page.key.0 ^ self.site_key.0,
                _ => self.site_key.0,
            },
            inner: entry.then(|| rounds.share()).flatten(),
            quick: self.context.schedule.quick(&rounds),
        };
        let next = self.context.schedule.plan(&mut history, &visit);
        past.history = postcard::to_stdvec(&history).unwrap_or_default();
        next
    }

    /// A sitemap or a feed of the site says when a page of it changed last.
    pub(super) fn hear_of(&mut self, key: PathKey, at: i64, list: &Pending) {
        let source = match list.hop {
            Hop::Sitemap => Source::Sitemap,
            _ => Source::Feed,
        };
        let now = self.context.clock.now();
        let weight = signals::weigh(&self.facts, source as u8);
        if at <= now && weight > 0.0 {
            self.batch.claims.push(Claim {
                key,
                at,
                source: source as u8,
                weight,
                gap: 0,
            });
        }
    }

    /// Whoever brought this visit forward is believed more from now on, or less.
    fn learn_trust(&mut self, claim: u8, seen: PageState) {
        let changed = match seen {
            _ if claim == 0 => return,
            PageState::Same => false,
            PageState::Changed | PageState::Gone => true,
            PageState::New | PageState::Failed => return,
        };
        signals::learn(&mut self.facts, claim, changed);
        self.facts_changed = true;
    }

    /// The proxy no longer had a page that it told of. One that is known waits for its turn; a new one is asked of its
    /// own server.
    pub(super) fn miss(&mut self, mut page: Pending) {
        add(&self.context.counters.proxy_misses, 1);
        self.context.budget.give_back();
        let Some(mut past) = page.past.take() else {
            page.hop = Hop::Signal;
            self.queue.push_front(page);
            return;
        };
        past.claim = 0;
        let now = self.context.clock.now();
        if let Some(due) = self.plan(&page, &mut past, PageState::Failed, None, now) {
            page.past = Some(past);
            self.batch.later.push((due, page));
        }
    }

    /// `selective`: a page that is due, but passed over in this round, until the next; not one that somebody told of.
    pub(super) fn pass_over(&mut self, page: &Pending, now: i64) -> Option<i64> {
        if page.past.is_none()
            || page.past.as_ref().is_some_and(|past| past.claim != 0)
            || page.site_depth == 0
            || page.tries > 0
            || self.context.config.revisit.policy != Policy::Selective
        {
            return None;
        }
        let schedule = &self.context.schedule;
        let mut rounds = self.rounds();
        let before = rounds.clone();
        // No entry page was due: this is where the round begins.
        schedule.open_round(&mut rounds, None, now);
        if rounds != before {
            self.keep_rounds(&rounds);
        }
        let schedule = &self.context.schedule;
        (!schedule.visits_inner_page(&rounds, page.key.0))
            .then(|| schedule.in_next_round(self.site_key.0, now))
    }

    /// `selective`: the entry page first, because what it says decides about the others.
    pub(super) fn entry_pages_first(&mut self) {
        if self.context.config.revisit.policy == Policy::Selective {
            let mut pages: Vec<_> = std::mem::take(&mut self.queue).collect();
            pages.sort_by_key(|page| page.past.is_some() && page.site_depth > 0);
            self.queue = pages.into_iter().collect();
        }
    }

    fn rounds(&self) -> SiteHistory {
        postcard::from_bytes(&self.facts.rounds).unwrap_or_default()
    }

    fn keep_rounds(&mut self, rounds: &SiteHistory) {
        self.facts.rounds = postcard::to_stdvec(rounds).unwrap_or_default();
        self.facts_changed = true;
    }

    fn count_change(&self, page: &Pending, seen: PageState) {
        if page.past.is_none() || page.hop == Hop::SoftNotFoundProbe {
            return;
        }
        let counters = &self.context.counters;
        match seen {
            PageState::Same => add(&counters.unchanged, 1),
            PageState::Changed => add(&counters.changed, 1),
            PageState::Gone => add(&counters.gone, 1),
            PageState::New | PageState::Failed => {}
        }
    }
}

/// What the visit found.
fn judge(page: &Pending, outcome: Outcome, soft: bool, version: Option<&Version>) -> PageState {
    match (version, &page.past, outcome.status()) {
        _ if soft => PageState::Gone,
        (_, Some(_), Some(304)) => PageState::Same,
        (_, _, Some(404 | 410)) => PageState::Gone,
        (Some(version), Some(past), _) if version.past.fingerprint == past.fingerprint => {
            PageState::Same
        }
        (Some(_), Some(_), _) => PageState::Changed,
        (Some(_), None, _) => PageState::New,
        (None, ..) => PageState::Failed,
    }
}
