//! `poisson`: estimates how often a page changes (I4; Chakrabarti 2.3.11). Visits are at irregular times, and each
//! shows only whether the page has changed since the last one.
//!
//! Changes are modelled as a Poisson process whose rate has a Gamma distribution, the [`Belief`] (two numbers). If a
//! visit finds no change after t days, the likelihood is exp(-rate * t) and the posterior is again a Gamma
//! distribution. If a visit finds a change, the likelihood is 1 - exp(-rate * t), and the posterior is a difference of
//! two Gamma densities. This posterior is replaced by the Gamma distribution with the same mean and variance (assumed
//! density filtering). Both have closed forms. If the server gives the time of the last change, `age` days ago, the
//! likelihood is `rate * exp(-rate * age)`.
//!
//! The naive estimate, changes per visit, never exceeds one change per visit and is biased (Cho and Garcia-Molina,
//! "Estimating frequency of change", 2003). A maximum likelihood estimate would need all past intervals and iteration.

/// The prior has the weight of this many observed changes. It is small, because rates differ by orders of magnitude.
const PRIOR_SHAPE: f64 = 0.5;
/// The shape is limited to this many observed changes, so that older observations lose weight. Rates change over time.
const MAX_SHAPE: f64 = 60.0;
/// The exposure is limited to this many days of observation.
const MAX_EXPOSURE: f64 = 1000.0;
/// One second in days. Shorter intervals between visits count as one second.
const MIN_DAYS: f64 = 1.0 / 86_400.0;

/// Gamma distribution of a page's rate of change, per day.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Belief {
    shape: f64,
    exposure: f64,
}

impl Belief {
    /// The prior: one change every `days`, with a wide distribution.
    pub(crate) fn prior(days: f64) -> Self {
        Belief {
            shape: PRIOR_SHAPE,
            exposure: PRIOR_SHAPE * days.max(MIN_DAYS),
        }
    }

    /// Builds the distribution from the fields of a history; `None` before the first estimate.
    pub(crate) fn of(shape: f32, exposure: f32) -> Option<Self> {
        (shape > 0.0 && exposure > 0.0).then(|| Belief {
            shape: f64::from(shape),
            exposure: f64::from(exposure),
        })
    }

    /// Returns `shape` and `exposure`, as a history stores them.
    pub(crate) fn parts(self) -> (f32, f32) {
        (self.shape as f32, self.exposure as f32)
    }

    /// Mean number of changes a day.
    pub(crate) fn rate(self) -> f64 {
        self.shape / self.exposure
    }

    /// Updates the distribution with a visit that found no change after `days`.
    #[must_use]
    pub(crate) fn same(self, days: f64) -> Self {
        Belief {
            shape: self.shape,
            exposure: self.exposure + days.max(MIN_DAYS),
        }
        .limited()
    }

    /// Updates the distribution with a visit that found one or more changes after `days`.
    #[must_use]
    pub(crate) fn changed(self, days: f64) -> Self {
        let Belief { shape, exposure } = self;
        let log = (days.max(MIN_DAYS) / exposure).ln_1p();
        // 1 - (exposure / (exposure + days))^(shape + k), without cancellation for short intervals.
        let share = |k: f64| -(-(shape + k) * log).exp_m1();
        let mean = shape / exposure * share(1.0) / share(0.0);
        let square = shape * (shape + 1.0) / (exposure * exposure) * share(2.0) / share(0.0);
        let variance = (square - mean * mean).max(mean * mean / 1e4);
        Belief {
            shape: mean * mean / variance,
            exposure: mean / variance,
        }
        .limited()
    }

    /// Updates the distribution with a visit at which the last change was `age` days old.
    #[must_use]
    pub(crate) fn dated(self, age: f64) -> Self {
        Belief {
            shape: self.shape + 1.0,
            exposure: self.exposure + age.max(MIN_DAYS),
        }
        .limited()
    }

    /// Days until the page has changed with the probability `chance`, given the uncertainty of the rate.
    pub(crate) fn wait(self, chance: f64) -> f64 {
        let chance = chance.clamp(0.001, 0.999);
        self.exposure * (-(-chance).ln_1p() / self.shape).exp_m1()
    }

    /// Scales both parameters down to their limits; the mean stays the same.
    fn limited(self) -> Self {
        let excess = (self.shape / MAX_SHAPE)
            .max(self.exposure / MAX_EXPOSURE)
            .max(1.0);
        Belief {
            shape: (self.shape / excess).max(1e-3),
            exposure: self.exposure / excess,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::unit_hash;
    use proptest::prelude::*;

    /// Computes the posterior mean by numerical integration over a fine grid of rates.
    fn exact(observations: &[(f64, bool)], prior_days: f64) -> f64 {
        let (shape, exposure) = (PRIOR_SHAPE, PRIOR_SHAPE * prior_days);
        let (mut sum, mut weighted) = (0.0, 0.0);
        for step in 0..20_000 {
            let log_rate = -14.0 + f64::from(step) * 0.001_2; // e^-14 .. e^10
            let rate = log_rate.exp();
            let mut likelihood = shape * log_rate - exposure * rate;
            for &(days, changed) in observations {
                likelihood += if changed {
                    (-(-rate * days).exp_m1()).ln()
                } else {
                    -rate * days
                };
            }
            sum += likelihood.exp();
            weighted += likelihood.exp() * rate;
        }
        weighted / sum
    }

    /// Simulates visits of a page with this rate of change, at irregular times. Each result is the interval in days and
    /// whether the page had changed.
    fn observe(rate: f64, mean_days: f64, visits: u64, seed: u64) -> Vec<(f64, bool)> {
        (0..visits)
            .map(|turn| {
                let days = mean_days * (0.25 + 1.5 * unit_hash(seed, turn));
                let changed = unit_hash(seed ^ 0xabcd, turn) < -(-rate * days).exp_m1();
                (days, changed)
            })
            .collect()
    }

    fn learn(observations: &[(f64, bool)]) -> f64 {
        observations
            .iter()
            .fold(Belief::prior(30.0), |belief, &(days, changed)| {
                if changed {
                    belief.changed(days)
                } else {
                    belief.same(days)
                }
            })
            .rate()
    }

    #[test]
    fn the_estimate_is_near_the_exact_posterior() {
        for (rate, days) in [(0.01, 10.0), (0.1, 5.0), (0.5, 3.0), (1.0, 0.5), (3.0, 0.3)] {
            for seed in 0..5 {
                let observations = observe(rate, days, 30, seed);
                let (filter, exact) = (learn(&observations), exact(&observations, 30.0));
                let ratio = filter / exact;
                assert!((0.85..1.18).contains(&ratio), "{rate}: {filter} {exact}");
            }
        }
    }

    #[test]
    fn rates_above_one_change_per_visit_are_estimated() {
        // The page changes every two days and is visited every five. The naive estimate,
        // changes per visit, would be at most 0.2 changes a day.
        let mean = (0..20)
            .map(|seed| learn(&observe(0.5, 5.0, 60, seed)))
            .sum::<f64>()
            / 20.0;
        assert!((0.42..0.6).contains(&mean), "{mean}");
    }

    #[test]
    fn a_dated_change_gives_a_better_estimate() {
        let days = 20.0;
        let hidden = Belief::prior(30.0).changed(days);
        let dated = Belief::prior(30.0).dated(1.0);
        assert!(dated.rate() > hidden.rate());
        assert!(Belief::prior(30.0).dated(300.0).rate() < Belief::prior(30.0).rate());
    }

    #[test]
    fn the_wait_matches_its_probability() {
        // If the rate is nearly certain, the wait is the median of the exponential distribution.
        let belief = Belief {
            shape: 1e5,
            exposure: 1e6,
        };
        assert!((belief.wait(0.5) - 10.0 * std::f64::consts::LN_2).abs() < 1e-3);
        assert!(belief.wait(0.9) > belief.wait(0.5));
        assert!(
            Belief::prior(30.0).wait(0.5) > belief.wait(0.5),
            "an uncertain rate gives a longer wait"
        );
    }

    #[test]
    fn a_rate_that_changes_is_followed() {
        let calm = (0..200).fold(Belief::prior(30.0), |belief, _| belief.same(10.0));
        assert!(calm.rate() < 1.0 / 1000.0);
        let woken = (0..12).fold(calm, |belief, _| belief.changed(10.0));
        assert!(woken.rate() > 1.0 / 100.0, "{}", woken.rate());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn every_update_gives_a_valid_distribution(observations in proptest::collection::vec((0.0..10_000f64, 0..3u8), 1..80)) {
            let mut belief = Belief::prior(30.0);
            for (days, kind) in observations {
                let before = belief.rate();
                belief = match kind {
                    0 => belief.same(days),
                    1 => belief.changed(days),
                    _ => belief.dated(days),
                };
                let (shape, exposure) = belief.parts();
                prop_assert!(shape.is_finite() && shape > 0.0 && exposure.is_finite() && exposure > 0.0);
                match kind {
                    0 => prop_assert!(belief.rate() <= before.max(1e-6) * 1.000_001),
                    1 => prop_assert!(belief.rate() >= before * 0.999_999),
                    _ => {}
                }
                prop_assert!(belief.wait(0.5) > 0.0);
            }
        }
    }
}
