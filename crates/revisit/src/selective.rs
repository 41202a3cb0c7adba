//! `selective`: whether the inner pages of a site are visited when its entry page has not changed (I2; B 3.3 and 5).
//!
//! An entry page that changed is followed as ever. One that did not, or was skipped, hides what goes on behind it: its
//! inner pages are visited when enough of them are likely to have changed, 40% at first. B looks that up in its database;
//! here it is known from the share that changed when last looked, for each round that passed since. So that this share
//! does not grow old where nobody looks, one inner page in eight is always visited, the same ones. The threshold
//! follows what was found: up where much had changed, down where little had.
//!
//! In a round the engine calls, for each site: [`Schedule::open_round`](crate::Schedule::open_round) once the entry page
//! was visited or skipped, [`Schedule::visits_inner_page`](crate::Schedule::visits_inner_page) for each inner page that is due,
//! [`SiteHistory::count_inner_visit`] for each that was visited, and gives [`SiteHistory::share`] to the entry page's next plan.

use serde::{Deserialize, Serialize};

use crate::{PageState, rounds};

/// One inner page in so many is visited in every round.
const SAMPLE: u64 = 8;
/// Where the threshold may go.
const THRESHOLDS: (f32, f32) = (0.1, 0.7);
/// How far the threshold goes towards what was found, each time.
const STEP: f32 = 0.25;
/// What earlier rounds weigh after a new one.
const MEMORY: f32 = 0.85;
/// Share of pages that change in a round from which on a site is fast.
const FAST: f32 = 0.5;

/// What is remembered of one site between rounds. As with [`History`](crate::History), new fields go to the end.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteHistory {
    /// The round being counted, as [`Schedule::round`](crate::Schedule::round) numbers them, plus one; 0 = none yet.
    round: u32,
    /// The last round in which the inner pages were visited, plus one.
    descended: u32,
    /// Rounds that the inner pages had gone without a visit when this round began.
    waited: u16,
    /// Inner pages visited in this round.
    looked: u32,
    /// Those of them that had changed.
    changed: u32,
    /// Share of inner pages that change in one round, by rounds that are over.
    share: f32,
    /// Pages that this share was seen on, the older ones counting less.
    weight: f32,
    /// Share that must have changed for a descent; 0 = as configured.
    threshold: f32,
}

impl SiteHistory {
    /// An inner page was visited in this round. `New` and `Failed` tell nothing about change; `Gone` is one.
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

    /// Share of the inner pages that change from one round to the next, as far as known.
    /// Half a page is added either way: a share of nothing or of all would never be corrected.
    pub fn share(&self) -> Option<f32> {
        (self.weight > 0.0).then(|| (self.share * self.weight + 0.5) / (self.weight + 1.0))
    }

    /// Whether more than half of the pages change from round to round (I6).
    pub fn fast(&self) -> bool {
        self.share().is_some_and(|share| share > FAST)
    }

    /// Whether all inner pages are visited in this round.
    pub fn descending(&self) -> bool {
        self.round == self.descended
    }

    /// Share of the inner pages that must be expected to have changed for a descent.
    pub fn threshold(&self, first: f32) -> f32 {
        if self.threshold > 0.0 {
            self.threshold
        } else {
            first
        }
    }

    /// Round `number` begins, or goes on with one more entry page; `entry`: what the entry page looked like, `None` when
    /// it was skipped.
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

    /// Learn from the round that is over.
    fn close(&mut self, first: f32) {
        if self.looked > 0 {
            let full = self.descending();
            let looked = self.looked as f32;
            let found = self.changed as f32 / looked;
            let share = match self.waited {
                // All changed in many rounds: half a page may have been left.
                waited @ 2.. if full => {
                    let found = found.min(1.0 - 0.5 / (looked + 1.0));
                    1.0 - (1.0 - found).powf(1.0 / f32::from(waited))
                }
                _ => found,
            };
            let weight = self.weight * MEMORY;
            self.share = (self.share * weight + share * looked) / (weight + looked);
            self.weight = weight + looked;
            if full {
                let before = self.threshold(first);
                self.threshold =
                    (before + STEP * (found - before)).clamp(THRESHOLDS.0, THRESHOLDS.1);
            }
        }
        self.looked = 0;
        self.changed = 0;
    }

    /// Whether the inner page `key` is visited in this round.
    pub(crate) fn visits(&self, key: u64) -> bool {
        self.descending() || rounds::mix(key).is_multiple_of(SAMPLE)
    }
}

/// Share that has changed after so many rounds, if `share` does in each.
fn after(share: f32, rounds: u16) -> f32 {
    1.0 - (1.0 - share).powi(i32::from(rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: f32 = 0.4;

    /// One round: the entry page, and how many of a hundred inner pages change in each round.
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
    fn the_more_changes_inside_the_more_often() {
        // B 5, second page: 89% of the inner pages change though the entry page does not.
        let busy = descents(89, 40);
        assert!(busy >= 30, "{busy}");
        let calm = descents(10, 40);
        assert!((4..=16).contains(&calm), "{calm}");
        let still = descents(0, 40);
        assert!(still <= 4, "{still}");
    }

    #[test]
    fn an_entry_page_that_changed_is_followed() {
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
            "a second entry page, or the same after a restart"
        );
        assert_eq!(site.share(), None);
        site.open(8, Some(PageState::Same), FIRST);
        assert_eq!(site.share(), Some(0.75));
        assert!(site.fast());
    }

    #[test]
    fn the_threshold_follows_what_is_found() {
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
    fn it_is_small() {
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
