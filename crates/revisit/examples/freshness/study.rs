//! Four comparisons on the same web:
//!
//! 1. All policies with the same budget, compared with uniform visits and with the clairvoyant optimum.
//! 2. The downloads that `frequency` saves compared with visiting all pages in every round, at the same freshness
//!    (Bouras 5).
//! 3. The changes that `selective` finds in sites whose entry page did not change (Bouras 3.3).
//! 4. The values of `revisit.selective`, `frequency` and `fixed` with the same budget.

use std::time::Duration;

use aranha_revisit::{Options, Policy, SelectiveGroups};

use crate::{
    crawl::{Measurements, PolicyExperiment},
    web::ChangingWeb,
};

/// Days between two visits of a page if all pages are visited equally often (uniform visits).
pub(crate) const UNIFORM_INTERVAL: f64 = 10.0;
/// Bound for the weighted staleness of `optimal`, relative to uniform visits.
pub(crate) const MAX_OF_UNIFORM: f64 = 0.70;
/// Bound for the weighted staleness of `optimal`, relative to the clairvoyant optimum.
pub(crate) const MAX_OF_CLAIRVOYANT: f64 = 1.10;
/// Bound for the share of downloads that `frequency` saves: the share that Bouras 5 reports.
pub(crate) const MIN_SAVED: f64 = 0.28;

/// A simulated web and the budget of its crawls.
pub(crate) struct Study<'a> {
    pub(crate) experiment: PolicyExperiment<'a>,
    /// Requests per day.
    pub(crate) budget: f64,
}

/// `frequency` compared with visiting all pages in every round.
pub(crate) struct Saving {
    /// Length of a round in days.
    pub(crate) round: f64,
    /// The crawl that visits all pages in every round.
    pub(crate) everything: Measurements,
    /// The crawl with `frequency` and rounds of the same length.
    pub(crate) same_round: Measurements,
    /// The crawl with `frequency` and rounds of `shorter_round` days. This is the longest round at which `frequency`
    /// reaches the freshness of `everything`.
    pub(crate) same_freshness: Measurements,
    pub(crate) shorter_round: f64,
}

impl Saving {
    /// Share of the downloads saved at equal or better freshness; 0 if that freshness was not reached.
    pub(crate) fn saved(&self) -> f64 {
        if self.same_freshness.freshness < self.everything.freshness {
            return 0.0;
        }
        1.0 - self.same_freshness.requests / self.everything.requests
    }
}

impl<'a> Study<'a> {
    /// The warm-up takes the first third of the simulated time.
    pub(crate) fn new(web: &'a ChangingWeb) -> Self {
        Study {
            experiment: PolicyExperiment {
                web,
                warm_up: web.days / 3.0,
                first_visits: UNIFORM_INTERVAL,
            },
            budget: web.pages.len() as f64 / UNIFORM_INTERVAL,
        }
    }

    pub(crate) fn uniform(&self) -> Measurements {
        self.experiment.uniform(self.budget)
    }

    pub(crate) fn clairvoyant(&self) -> Measurements {
        self.experiment.clairvoyant(self.budget)
    }

    pub(crate) fn optimal(&self) -> Measurements {
        self.experiment.run(&Options {
            policy: Policy::Optimal,
            budget: self.budget as u64,
            ..Options::default()
        })
    }

    /// Simulates a policy that has no budget option, with the interval or probability at which it makes `budget`
    /// requests per day.
    pub(crate) fn at_budget(&self, policy: Policy) -> Measurements {
        self.at_budget_with(policy, SelectiveGroups::default())
    }

    /// Like [`Study::at_budget`], with a value of `revisit.selective`.
    pub(crate) fn at_budget_with(
        &self,
        policy: Policy,
        selective: SelectiveGroups,
    ) -> Measurements {
        let run = |value: f64| {
            self.experiment.run(&match policy {
                Policy::Poisson => Options {
                    policy,
                    change_probability: value as f32,
                    ..Options::default()
                },
                _ => Options {
                    selective,
                    ..rounds(policy, value * UNIFORM_INTERVAL)
                },
            })
        };
        let max = if policy == Policy::Poisson { 0.98 } else { 2.0 };
        calibrate(0.02, max, 1.004, run, |measured| {
            self.experiment.requests_per_day(measured) > self.budget
        })
        .1
        .1
    }

    /// Comparison 2, for rounds of this number of days.
    pub(crate) fn saving(&self, round: f64) -> Saving {
        let everything = self.experiment.run(&rounds(Policy::Fixed, round));
        let same_round = self.experiment.run(&rounds(Policy::Frequency, round));
        let run = |every: f64| self.experiment.run(&rounds(Policy::Frequency, every));
        let ((shorter_round, same_freshness), _) =
            calibrate(round / 8.0, round, 1.02, run, |measured| {
                measured.freshness >= everything.freshness
            });
        Saving {
            round,
            everything,
            same_round,
            same_freshness,
            shorter_round,
        }
    }

    /// Comparison 3. The first crawl has daily rounds and skips sites with an unchanged entry page. The second crawl
    /// has the policy `selective`, and rounds of such a length that it makes as many requests as the first.
    pub(crate) fn selective(&self) -> (Measurements, Measurements) {
        let skipping = self
            .experiment
            .in_rounds(&rounds(Policy::Selective, 1.0), true);
        let run = |every: f64| self.experiment.run(&rounds(Policy::Selective, every));
        let (_, (_, selective)) = calibrate(1.0, 30.0, 1.02, run, |measured| {
            measured.requests > skipping.requests
        });
        (skipping, selective)
    }
}

fn rounds(policy: Policy, days: f64) -> Options {
    Options {
        policy,
        every: Duration::from_secs_f64(days * 86_400.0),
        ..Options::default()
    }
}

/// Finds the value at which `above` changes from true to false, by bisection. Stops when the values on both sides
/// differ by at most the factor `within`, and returns both values with their measurements.
fn calibrate(
    mut low: f64,
    mut high: f64,
    within: f64,
    run: impl Fn(f64) -> Measurements,
    above: impl Fn(&Measurements) -> bool,
) -> ((f64, Measurements), (f64, Measurements)) {
    let (mut lower, mut higher) = (None, None);
    while high / low > within {
        let middle = (low * high).sqrt();
        let measured = run(middle);
        if above(&measured) {
            low = middle;
            lower = Some(measured);
        } else {
            high = middle;
            higher = Some(measured);
        }
    }
    let lower = lower.unwrap_or_else(|| run(low));
    let higher = higher.unwrap_or_else(|| run(high));
    ((low, lower), (high, higher))
}
