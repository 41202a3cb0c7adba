//! `selective`: decides whether the inner pages of a site are visited when its entry page has not changed (I2; Bouras
//! 3.3 and 5).
//!
//! If the entry page changed, the inner pages are visited. If it did not change or was skipped, they are visited only
//! when the expected share of changed pages reaches a threshold, 40% at first. Bouras looks up the changed pages
//! in a database. Here the expected share is computed from the share of pages that changed per round in past rounds.
//! One inner page in eight is visited in every round, always the same pages, so that the observed share stays current.
//! After each full visit (a round in which all inner pages were visited), the threshold moves towards the share of
//! pages that had changed.
//!
//! For each site the engine calls in every round: [`Schedule::open_round`](crate::Schedule::open_round) after the entry
//! page was visited or skipped, [`Schedule::visits_inner_page`](crate::Schedule::visits_inner_page) for each inner page
//! that is due, and [`SiteHistory::count_inner_visit`] for each one visited. When the engine plans the next visit of
//! the entry page, it passes [`SiteHistory::share`] as [`PageVisit::inner`](crate::PageVisit::inner).

use serde::{Deserialize, Serialize};

use crate::{PageState, rounds};

/// One inner page in this many is visited in every round.
const SAMPLE_INTERVAL: u64 = 8;
/// Lowest and highest value of the threshold.
const THRESHOLD_RANGE: (f32, f32) = (0.1, 0.7);
/// After a full visit, the threshold moves by this part of its distance to the share of pages that had changed.
const THRESHOLD_STEP: f32 = 0.25;
/// Each new round multiplies the weight of all earlier rounds by this factor.
const DECAY: f32 = 0.85;
/// A site is fast if more than this share of its pages changes in a round.
const FAST_SHARE: f32 = 0.5;

/// Stored state of one site between rounds. New fields are appended, as in [`History`](crate::History).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteHistory {
    /// Number of the current round ([`Schedule::round`](crate::Schedule::round)) plus one; 0 = none yet.
    round: u32,
    /// Number of the last round in which all inner pages were visited, plus one; 0 = none yet.
    descended: u32,
    /// Number of rounds from the last full visit to this round.
    waited: u16,
    /// Number of inner pages visited in this round.
    looked: u32,
    /// Number of inner pages visited in this round that had changed.
    changed: u32,
    /// Share of inner pages that change in one round, averaged over past rounds.
    share: f32,
    /// Number of page visits behind `share`; earlier visits count less.
    weight: f32,
    /// All inner pages are visited if the expected share of changed ones is at least this; 0 = the configured initial
    /// value.
    threshold: f32,
}

impl SiteHistory {
    /// Counts an inner page visited in this round. `New` and `Failed` do not count; `Gone` counts as a change.
    pub fn count_inner_visit(&mut self, seen: PageState) {
        match seen {
            PageState::New | PageState::Failed => {}
            PageState::Same => self.looked = self.looked.saturating_add(1),
            PageState::Changed | PageState::Gone => {
                self.looked = self.looked.saturating_add(1);
                self.changed = self.changed.saturating_add(1);
            }
        }
    }

    /// Share of the inner pages that change from one round to the next; `None` before the first observation. Half a
    /// page is added to the changed pages and half a page to the unchanged ones, because a share of exactly 0 or 1
    /// would give the same expected share after any number of rounds.
    pub fn share(&self) -> Option<f32> {
        (self.weight > 0.0).then(|| (self.share * self.weight + 0.5) / (self.weight + 1.0))
    }

    /// Whether more than half of the pages change from round to round (I6).
    pub fn fast(&self) -> bool {
        self.share().is_some_and(|share| share > FAST_SHARE)
    }

    /// Whether all inner pages are visited in this round.
    pub fn descending(&self) -> bool {
        self.round == self.descended
    }

    /// All inner pages are visited if the expected share of changed ones is at least this. `first` is the configured
    /// initial value.
    pub fn threshold(&self, first: f32) -> f32 {
        if self.threshold > 0.0 {
            self.threshold
        } else {
            first
        }
    }

    /// Starts round `number`. If it has been started already, only adds another entry page to it. `entry` is the state
    /// of the entry page, or `None` if it was skipped.
    pub(crate) fn open(&mut self, number: u32, entry: Option<PageState>, first: f32) {
        let round = number.saturating_add(1);
        if round != self.round {
            self.close(first);
            self.round = round;
            let waited = match self.descended {
                0 => 1,
                last => round.saturating_sub(last).max(1),
            };
            self.waited = u16::try_from(waited).unwrap_or(u16::MAX);
        }
        let follow = match entry {
            Some(PageState::New | PageState::Changed) => true,
            _ => self
                .share()
                .is_none_or(|share| after(share, self.waited) >= self.threshold(first)),
        };
        if follow {
            self.descended = round;
        }
    }

    /// Counts a visited page of round `number` while another policy is in force, one that visits all pages that are due.
    pub(crate) fn count_visit(&mut self, number: u32, seen: PageState, first: f32) {
        let round = number.saturating_add(1);
        if round != self.round {
            self.close(first);
            (self.round, self.descended, self.waited) = (round, round, 1);
        }
        self.count_inner_visit(seen);
    }

    /// Updates share and threshold at the end of a round.
    fn close(&mut self, first: f32) {
        if self.looked > 0 {
            let full = self.descending();
            let looked = self.looked as f32;
            let found = self.changed as f32 / looked;
            let share = match self.waited {
                // If all pages changed over several rounds, half a page is counted as unchanged, so that the share per
                // round stays below 1.
                waited @ 2.. if full => {
                    let found = found.min(1.0 - 0.5 / (looked + 1.0));
                    1.0 - (1.0 - found).powf(1.0 / f32::from(waited))
                }
                _ => found,
            };
            let weight = self.weight * DECAY;
            self.share = (self.share * weight + share * looked) / (weight + looked);
            self.weight = weight + looked;
            if full {
                let before = self.threshold(first);
                self.threshold = (before + THRESHOLD_STEP * (found - before))
                    .clamp(THRESHOLD_RANGE.0, THRESHOLD_RANGE.1);
            }
        }
        self.looked = 0;
        self.changed = 0;
    }

    /// Whether the inner page `key` is visited in this round.
    pub(crate) fn visits(&self, key: u64) -> bool {
        self.descending() || rounds::mix(key).is_multiple_of(SAMPLE_INTERVAL)
    }
}

/// Share of the pages that have changed after `rounds` rounds, if `share` of them change in each round.
fn after(share: f32, rounds: u16) -> f32 {
    1.0 - (1.0 - share).powi(i32::from(rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: f32 = 0.4;

    /// Simulates one round in which `percent` of the inner pages change. `stale` marks pages that have changed since
    /// their last visit. Returns the number of inner pages visited.
    fn round(
        site: &mut SiteHistory,
        number: u32,
        entry: Option<PageState>,
        percent: u32,
        stale: &mut [bool],
    ) -> usize {
        for (page, stale) in stale.iter_mut().enumerate() {
            *stale |=
                rounds::unit_hash(page as u64, u64::from(number)) < f64::from(percent) / 100.0;
        }
        site.open(number, entry, FIRST);
        let mut visited = 0;
        for (page, stale) in stale.iter_mut().enumerate() {
            if site.visits(page as u64) {
                site.count_inner_visit(if *stale {
                    PageState::Changed
                } else {
                    PageState::Same
                });
                *stale = false;
                visited += 1;
            }
        }
        visited
    }

    fn descents(percent: u32, rounds: u32) -> usize {
        let mut site = SiteHistory::default();
        let mut stale = [false; 100];
        (0..rounds)
            .filter(|&number| {
                round(
                    &mut site,
                    20_000 + number,
                    Some(PageState::Same),
                    percent,
                    &mut stale,
                ) == 100
            })
            .count()
    }

    #[test]
    fn more_inner_changes_give_more_full_visits() {
        // Bouras 5, second page: 89% of the inner pages change although the entry page does not.
        let busy = descents(89, 40);
        assert!(busy >= 30, "{busy}");
        let calm = descents(10, 40);
        assert!((4..=16).contains(&calm), "{calm}");
        let still = descents(0, 40);
        assert!(still <= 4, "{still}");
    }

    #[test]
    fn a_changed_entry_page_leads_to_a_full_visit() {
        let mut site = SiteHistory::default();
        let mut stale = [false; 100];
        for number in 0..20 {
            round(&mut site, number, Some(PageState::Same), 0, &mut stale);
        }
        assert!(!site.descending());
        assert_eq!(
            round(&mut site, 20, Some(PageState::Changed), 0, &mut stale),
            100
        );
        assert_ne!(round(&mut site, 21, None, 0, &mut stale), 100);
    }

    #[test]
    fn a_round_is_closed_once() {
        let mut site = SiteHistory::default();
        site.open(7, Some(PageState::New), FIRST);
        site.count_inner_visit(PageState::Changed);
        let before = site.clone();
        site.open(7, Some(PageState::Same), FIRST);
        assert_eq!(
            site, before,
            "a second entry page, or the same one after a restart"
        );
        assert_eq!(site.share(), None);
        site.open(8, Some(PageState::Same), FIRST);
        assert_eq!(site.share(), Some(0.75));
        assert!(site.fast());
    }

    #[test]
    fn the_threshold_follows_the_share_found() {
        let mut site = SiteHistory::default();
        let mut stale = [false; 100];
        for number in 0..3 {
            round(&mut site, number, Some(PageState::Changed), 90, &mut stale);
        }
        assert!(site.threshold(FIRST) > FIRST);
        let mut site = SiteHistory::default();
        for number in 0..3 {
            round(&mut site, number, Some(PageState::Changed), 0, &mut stale);
        }
        assert!(site.threshold(FIRST) < FIRST);
    }

    #[test]
    fn a_site_history_stays_within_its_size() {
        assert!(size_of::<SiteHistory>() <= 40);
        let bytes = postcard::to_stdvec(&SiteHistory {
            round: 500_000,
            descended: 499_999,
            share: 0.5,
            weight: 80.0,
            ..SiteHistory::default()
        })
        .expect("encodes");
        assert!(bytes.len() <= 24, "{}", bytes.len());
    }
}
