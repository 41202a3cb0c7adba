//! `selective`: decides whether a group of pages is visited when the page that links to them has not changed (I2, X6;
//! Bouras 3.3 and 5).
//!
//! The page that links to the group is called its *head*. With `revisit.selective = "entry_pages"` a site has one group:
//! its inner pages, and the head is its entry page. With `all_pages` and `descend` every page is the head of the pages
//! that were first found on it (`site_history.rs`).
//!
//! With `entry_pages` and `all_pages`, the group is visited if the head changed. If the head did not change or was
//! skipped, the group is visited only when the expected share of changed pages is unknown or reaches a threshold, which
//! is 40% at first. Bouras looks up the changed pages in a database. Here the expected share is computed from the
//! average share of pages that changed in a round. One page in eight is visited in every round, always the same pages,
//! so that the observed share stays current. After each full visit (a round in which the whole group was visited), the
//! threshold moves towards the share of pages that had changed.
//!
//! With `descend`, each page is visited when its own turn comes, as with `frequency`. If the head was visited and had
//! not changed, its group is visited in the same round. If the head had changed, each page of the group waits for its
//! own turn.

use serde::{Deserialize, Serialize};

use crate::{PageState, rounds};

/// Of this many pages, one is visited in every round, as a sample.
const SAMPLE_INTERVAL: u64 = 8;
/// Lowest and highest value of the threshold.
const THRESHOLD_RANGE: (f32, f32) = (0.1, 0.7);
/// After a full visit, the threshold moves by this part of its distance to the share of pages that had changed.
const THRESHOLD_STEP: f32 = 0.25;
/// Each new round multiplies the weight of all earlier rounds by this factor.
const DECAY: f32 = 0.85;
/// A site is fast if more than this share of its pages changes in a round.
const FAST_SHARE: f32 = 0.5;

/// The rule by which a group is followed (visited) after its head was visited or skipped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Follow {
    /// The group is followed if the head changed, or if the expected share of changed pages reaches the threshold. The
    /// value is the initial threshold.
    Changed(f32),
    /// The group is followed if the head was visited and had not changed.
    Unchanged,
}

/// Stored state of a group of pages between rounds. New fields are appended, as in [`History`](crate::History).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GroupHistory {
    /// Number of the current round ([`Schedule::round`](crate::Schedule::round)) plus one; 0 = none yet.
    round: u32,
    /// Number of the last round in which the group was followed, plus one; 0 = none yet.
    descended: u32,
    /// Number of rounds from the last full visit to this round.
    waited: u16,
    /// Number of pages of the group visited in this round.
    looked: u32,
    /// Number of pages of the group visited in this round that had changed.
    changed: u32,
    /// Share of the pages that change in one round, averaged over past rounds.
    share: f32,
    /// Number of page visits behind `share`; earlier visits count less.
    weight: f32,
    /// The group is followed if the expected share of changed pages is at least this; 0 = the configured initial value.
    threshold: f32,
}

impl GroupHistory {
    /// Counts a page of the group that was visited in this round. `New` and `Failed` do not count; `Gone` counts as a
    /// change.
    pub fn count_page(&mut self, seen: PageState) {
        match seen {
            PageState::New | PageState::Failed => {}
            PageState::Same => self.looked = self.looked.saturating_add(1),
            PageState::Changed | PageState::Gone => {
                self.looked = self.looked.saturating_add(1);
                self.changed = self.changed.saturating_add(1);
            }
        }
    }

    /// Share of the pages that change from one round to the next; `None` before the first observation. Half a page is
    /// added to the changed pages, and half a page to the unchanged pages. Without this, the share could be exactly 0
    /// or 1, and the expected share would then be the same after any number of rounds.
    pub fn share(&self) -> Option<f32> {
        (self.weight > 0.0).then(|| (self.share * self.weight + 0.5) / (self.weight + 1.0))
    }

    /// Whether more than half of the pages change from round to round (I6).
    pub fn fast(&self) -> bool {
        self.share().is_some_and(|share| share > FAST_SHARE)
    }

    /// Whether the group is followed in this round: all its pages that are due are visited.
    pub fn descending(&self) -> bool {
        self.round == self.descended
    }

    /// The group is followed if the expected share of changed pages is at least this. `first` is the configured initial
    /// value.
    pub fn threshold(&self, first: f32) -> f32 {
        if self.threshold > 0.0 {
            self.threshold
        } else {
            first
        }
    }

    /// The number of the current round plus one; 0 = none yet.
    pub(crate) fn current_round(&self) -> u32 {
        self.round
    }

    /// Starts round `number`. If that round has started already, only adds another visit of a head to it. `head` is the
    /// state of the head, or `None` if the head was skipped or is not visited yet.
    pub(crate) fn open(&mut self, number: u32, head: Option<PageState>, follow: Follow) {
        let round = number.saturating_add(1);
        if round != self.round {
            self.close(follow);
            self.round = round;
            let waited = match (follow, self.descended) {
                // Each page has its own turn, so the time since the group was last followed does not matter.
                (Follow::Unchanged, _) | (_, 0) => 1,
                (Follow::Changed(_), last) => round.saturating_sub(last).max(1),
            };
            self.waited = u16::try_from(waited).unwrap_or(u16::MAX);
        }
        let follows = match (follow, head) {
            (Follow::Unchanged, head) => head == Some(PageState::Same),
            (Follow::Changed(_), Some(PageState::New | PageState::Changed)) => true,
            (Follow::Changed(first), _) => self
                .share()
                .is_none_or(|share| after(share, self.waited) >= self.threshold(first)),
        };
        if follows {
            self.descended = round;
        }
    }

    /// Counts a visited page of round `number` under a policy other than `selective`, which visits all pages that are
    /// due.
    pub(crate) fn count_visit(&mut self, number: u32, seen: PageState, first: f32) {
        let round = number.saturating_add(1);
        if round != self.round {
            self.close(Follow::Changed(first));
            (self.round, self.descended, self.waited) = (round, round, 1);
        }
        self.count_page(seen);
    }

    /// Updates share and threshold at the end of a round.
    fn close(&mut self, follow: Follow) {
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
            if full && let Follow::Changed(first) = follow {
                let before = self.threshold(first);
                self.threshold = (before + THRESHOLD_STEP * (found - before))
                    .clamp(THRESHOLD_RANGE.0, THRESHOLD_RANGE.1);
            }
        }
        self.looked = 0;
        self.changed = 0;
    }

    /// Whether the page `key` of the group is visited in this round, because the group is followed or the page is in the
    /// sample.
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
    const FOLLOW: Follow = Follow::Changed(FIRST);

    /// Simulates one round in which `percent` of the inner pages change. `stale` marks pages that have changed since
    /// their last visit. Returns the number of inner pages visited.
    fn round(
        site: &mut GroupHistory,
        number: u32,
        entry: Option<PageState>,
        percent: u32,
        stale: &mut [bool],
    ) -> usize {
        for (page, stale) in stale.iter_mut().enumerate() {
            *stale |=
                rounds::unit_hash(page as u64, u64::from(number)) < f64::from(percent) / 100.0;
        }
        site.open(number, entry, FOLLOW);
        let mut visited = 0;
        for (page, stale) in stale.iter_mut().enumerate() {
            if site.visits(page as u64) {
                site.count_page(if *stale {
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
        let mut site = GroupHistory::default();
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
        let mut site = GroupHistory::default();
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
        let mut site = GroupHistory::default();
        site.open(7, Some(PageState::New), FOLLOW);
        site.count_page(PageState::Changed);
        let before = site.clone();
        site.open(7, Some(PageState::Same), FOLLOW);
        assert_eq!(
            site, before,
            "a second entry page, or the same one after a restart"
        );
        assert_eq!(site.share(), None);
        site.open(8, Some(PageState::Same), FOLLOW);
        assert_eq!(site.share(), Some(0.75));
        assert!(site.fast());
    }

    #[test]
    fn the_threshold_follows_the_share_found() {
        let mut site = GroupHistory::default();
        let mut stale = [false; 100];
        for number in 0..3 {
            round(&mut site, number, Some(PageState::Changed), 90, &mut stale);
        }
        assert!(site.threshold(FIRST) > FIRST);
        let mut site = GroupHistory::default();
        for number in 0..3 {
            round(&mut site, number, Some(PageState::Changed), 0, &mut stale);
        }
        assert!(site.threshold(FIRST) < FIRST);
    }

    #[test]
    fn a_site_history_stays_within_its_size() {
        assert!(size_of::<GroupHistory>() <= 40);
        let bytes = postcard::to_stdvec(&GroupHistory {
            round: 500_000,
            descended: 499_999,
            share: 0.5,
            weight: 80.0,
            ..GroupHistory::default()
        })
        .expect("encodes");
        assert!(bytes.len() <= 24, "{}", bytes.len());
    }
}
