//! Signals from outside (I5 and issue 4's list: sitemaps, feeds, pushes, a proxy), each believed as far as it proved true.
//!
//! A source says that a page has changed. [`Trust::bring_forward`] says how much earlier the page is visited for that,
//! and after the visit [`Trust::learn`] is told whether it was so. One record for each source and site. A signal can
//! never put a visit off: silence is no promise.

use serde::{Deserialize, Serialize};

/// What an old observation weighs after each new one: about twenty count.
const MEMORY: f32 = 0.95;
/// Belief at and below which a signal moves nothing.
const LIAR: f64 = 0.1;
/// Belief at and above which a visit is made at once.
const HONEST: f64 = 0.8;

/// How often a source told the truth about a site. Of a source nothing is known about, half is believed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Trust {
    kept: f32,
    broken: f32,
}

impl Trust {
    /// A page was visited. `claimed`: the source had said it changed since the visit before; `changed`: it had. What a
    /// source did not say is no lie.
    pub fn learn(&mut self, claimed: bool, changed: bool) {
        if !claimed {
            return;
        }
        self.kept *= MEMORY;
        self.broken *= MEMORY;
        if changed {
            self.kept += 1.0;
        } else {
            self.broken += 1.0;
        }
    }

    /// Probability that the next claim is true: the mean of a Beta distribution that began flat.
    pub fn belief(&self) -> f64 {
        let (kept, broken) = (f64::from(self.kept), f64::from(self.broken));
        (kept + 1.0) / (kept + broken + 2.0)
    }

    /// When to visit a page that was to be visited at `due`, now that the source says it has changed, or will have, at
    /// `claimed` (later than the last visit, or it is no news). All Unix milliseconds. Never later than `due`.
    pub fn bring_forward(&self, now: i64, due: i64, claimed: i64) -> i64 {
        let target = now.max(claimed);
        if target >= due {
            return due;
        }
        due - ((due - target) as f64 * self.weight()) as i64
    }

    /// By what share of its waiting time a page is visited earlier for a claim: 0 to 1.
    pub fn weight(&self) -> f64 {
        ((self.belief() - LIAR) / (HONEST - LIAR)).clamp(0.0, 1.0)
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
    fn as_far_as_it_proved_true() {
        let due = 30 * DAY;
        let at_once = after(&[true; 4]).bring_forward(0, due, -DAY);
        assert_eq!(at_once, 0);
        let unknown = Trust::default().bring_forward(0, due, -DAY);
        assert!((10 * DAY..20 * DAY).contains(&unknown), "{unknown}");
        let liar = after(&[false; 20]).bring_forward(0, due, -DAY);
        assert_eq!(liar, due);
        // Half a page a truth: later than an unknown one who may still be honest.
        let often = after(&[true, false, true, true, true]).bring_forward(0, due, -DAY);
        assert!(often < unknown && often > 0, "{often}");
    }

    #[test]
    fn a_liar_may_better_himself() {
        let mut trust = after(&[false; 100]);
        for _ in 0..40 {
            trust.learn(true, true);
        }
        assert_eq!(trust.bring_forward(0, DAY, 0), 0);
    }

    #[test]
    fn silence_is_no_lie() {
        let mut trust = Trust::default();
        trust.learn(false, true);
        trust.learn(false, false);
        assert_eq!(trust, Trust::default());
    }

    #[test]
    fn what_will_change_is_waited_for() {
        let honest = after(&[true; 10]);
        assert_eq!(honest.bring_forward(0, 10 * DAY, 2 * DAY), 2 * DAY);
        assert_eq!(honest.bring_forward(0, 10 * DAY, 20 * DAY), 10 * DAY);
        assert_eq!(honest.bring_forward(5 * DAY, DAY, 0), DAY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn never_later(observations in proptest::collection::vec(any::<bool>(), 0..50),
                       now in -1_000_000i64..1_000_000, due in -1_000_000i64..1_000_000, claimed in -1_000_000i64..1_000_000) {
            let moved = after(&observations).bring_forward(now, due, claimed);
            prop_assert!(moved <= due);
            prop_assert!(moved >= due.min(now));
        }
    }
}
