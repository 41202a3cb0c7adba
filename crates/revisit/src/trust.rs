//! Trust in external signals of change: sitemaps, feeds, pushes, a proxy (I5).
//!
//! When a source claims that a page has changed, [`Trust::bring_forward`] computes an earlier time for its next visit.
//! After the visit, [`Trust::learn`] records whether the claim was true. There is one [`Trust`] for each source and
//! site. Claims only make visits earlier. The absence of claims does not delay a visit, because it does not mean that
//! the page is unchanged.

use serde::{Deserialize, Serialize};

/// Each new claim multiplies the weight of all earlier claims by this factor, so that about the last twenty claims
/// count.
const DECAY: f32 = 0.95;
/// A claim has no effect if the probability that it is true is at most this.
const MIN_BELIEF: f64 = 0.1;
/// A claim makes the page due immediately if the probability that it is true is at least this.
const FULL_BELIEF: f64 = 0.8;

/// Counts of true and false claims of a source about a site. Before the first claim, the probability that a claim is
/// true is taken as one half.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Trust {
    true_claims: f32,
    false_claims: f32,
}

impl Trust {
    /// Records a visit of a page. `claimed` says whether the source claimed a change since the previous visit, and
    /// `changed` says whether the page had changed. A visit without a claim is not counted.
    pub fn learn(&mut self, claimed: bool, changed: bool) {
        if !claimed {
            return;
        }
        self.true_claims *= DECAY;
        self.false_claims *= DECAY;
        if changed {
            self.true_claims += 1.0;
        } else {
            self.false_claims += 1.0;
        }
    }

    /// Probability that the next claim is true: the mean of a Beta distribution with a uniform prior.
    pub fn belief(&self) -> f64 {
        let (true_claims, false_claims) =
            (f64::from(self.true_claims), f64::from(self.false_claims));
        (true_claims + 1.0) / (true_claims + false_claims + 2.0)
    }

    /// The new visit time of a page that is due at `due`, after a claim that the page changes at the time `claimed`.
    /// `claimed` may be in the future and must be later than the last visit. All times are unix milliseconds. The
    /// result is never later than `due`.
    pub fn bring_forward(&self, now: i64, due: i64, claimed: i64) -> i64 {
        let target = now.max(claimed);
        if target >= due {
            return due;
        }
        due - ((due - target) as f64 * self.weight()) as i64
    }

    /// Share of the remaining waiting time that a claim removes: 0 to 1.
    pub fn weight(&self) -> f64 {
        ((self.belief() - MIN_BELIEF) / (FULL_BELIEF - MIN_BELIEF)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: i64 = 86_400_000;

    fn after(observations: &[bool]) -> Trust {
        let mut trust = Trust::default();
        for &changed in observations {
            trust.learn(true, changed);
        }
        trust
    }

    #[test]
    fn visits_move_by_the_share_of_true_claims() {
        let due = 30 * DAY;
        let at_once = after(&[true; 4]).bring_forward(0, due, -DAY);
        assert_eq!(at_once, 0);
        let unknown = Trust::default().bring_forward(0, due, -DAY);
        assert!((10 * DAY..20 * DAY).contains(&unknown), "{unknown}");
        let never_true = after(&[false; 20]).bring_forward(0, due, -DAY);
        assert_eq!(never_true, due);
        // With 4 true claims of 5, the visit is earlier than for an unknown source, but not immediate.
        let often = after(&[true, false, true, true, true]).bring_forward(0, due, -DAY);
        assert!(often < unknown && often > 0, "{often}");
    }

    #[test]
    fn trust_recovers() {
        let mut trust = after(&[false; 100]);
        for _ in 0..40 {
            trust.learn(true, true);
        }
        assert_eq!(trust.bring_forward(0, DAY, 0), 0);
    }

    #[test]
    fn visits_without_a_claim_do_not_count() {
        let mut trust = Trust::default();
        trust.learn(false, true);
        trust.learn(false, false);
        assert_eq!(trust, Trust::default());
    }

    #[test]
    fn a_future_change_is_not_visited_early() {
        let honest = after(&[true; 10]);
        assert_eq!(honest.bring_forward(0, 10 * DAY, 2 * DAY), 2 * DAY);
        assert_eq!(honest.bring_forward(0, 10 * DAY, 20 * DAY), 10 * DAY);
        assert_eq!(honest.bring_forward(5 * DAY, DAY, 0), DAY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_visit_is_never_delayed(observations in proptest::collection::vec(any::<bool>(), 0..50),
                       now in -1_000_000i64..1_000_000, due in -1_000_000i64..1_000_000, claimed in -1_000_000i64..1_000_000) {
            let moved = after(&observations).bring_forward(now, due, claimed);
            prop_assert!(moved <= due);
            prop_assert!(moved >= due.min(now));
        }
    }
}
