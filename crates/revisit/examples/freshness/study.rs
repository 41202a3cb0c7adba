//! The three questions of issue 5, each asked of the same web.
//!
//! 1. All policies with the same budget, beside uniform visiting and the clairvoyant optimum.
//! 2. What `frequency` saves at the freshness of visiting everything in every round (B 5).
//! 3. What `selective` finds behind entry pages that did not change (Bouras 3.3).

use std::time::Duration;

use aranha_revisit::{Options, Policy};

use crate::{
    crawl::{Outcome, Setting},
    web::Web,
};

/// Days between two visits of a page, if all are visited alike.
pub(crate) const INTERVAL: f64 = 10.0;
/// `optimal` by uniform visiting, importance-weighted staleness.
pub(crate) const OF_UNIFORM: f64 = 0.70;
/// `optimal` by the clairvoyant optimum.
pub(crate) const OF_CLAIRVOYANT: f64 = 1.10;
/// Downloads that B reports saved.
pub(crate) const SAVED: f64 = 0.28;

/// What is set, and what it costs.
pub(crate) struct Study<'a> {
    pub(crate) setting: Setting<'a>,
    /// Requests a day.
    pub(crate) budget: f64,
}

/// `frequency` beside visiting everything in every round.
pub(crate) struct Saving {
    pub(crate) round: f64,
    pub(crate) everything: Outcome,
    /// With the same rounds.
    pub(crate) same_round: Outcome,
    /// With rounds just short enough for the same freshness.
    pub(crate) same_freshness: Outcome,
    pub(crate) shorter_round: f64,
}

impl Saving {
    /// Share of the downloads saved at equal or better freshness; none if that was not reached.
    pub(crate) fn saved(&self) -> f64 {
        if self.same_freshness.freshness < self.everything.freshness {
            return 0.0;
        }
        1.0 - self.same_freshness.requests / self.everything.requests
    }
}

impl<'a> Study<'a> {
    /// A third of the time is for warming up.
    pub(crate) fn new(web: &'a Web) -> Self {
        Study {
            setting: Setting {
                web,
                warm: web.days / 3.0,
                first: INTERVAL,
            },
            budget: web.pages.len() as f64 / INTERVAL,
        }
    }

    pub(crate) fn uniform(&self) -> Outcome {
        self.setting.uniform(self.budget)
    }

    pub(crate) fn clairvoyant(&self) -> Outcome {
        self.setting.clairvoyant(self.budget)
    }

    pub(crate) fn optimal(&self) -> Outcome {
        self.setting.run(&Options {
            policy: Policy::Optimal,
            budget: self.budget as u64,
            ..Options::default()
        })
    }

    /// Policies without a budget of their own, with the setting that makes them spend it.
    pub(crate) fn at_budget(&self, policy: Policy) -> Outcome {
        let run = |knob: f64| {
            self.setting.run(&match policy {
                Policy::Poisson => Options {
                    policy,
                    change_probability: knob as f32,
                    ..Options::default()
                },
                _ => rounds(policy, knob * INTERVAL),
            })
        };
        let most = if policy == Policy::Poisson { 0.98 } else { 2.0 };
        calibrate(0.02, most, 1.004, run, |outcome| {
            self.setting.spent(outcome) > self.budget
        })
        .1
        .1
    }

    /// Question 2, for rounds of so many days.
    pub(crate) fn saving(&self, round: f64) -> Saving {
        let everything = self.setting.run(&rounds(Policy::Fixed, round));
        let same_round = self.setting.run(&rounds(Policy::Frequency, round));
        let run = |every: f64| self.setting.run(&rounds(Policy::Frequency, every));
        // The longest rounds that are still as fresh.
        let ((shorter_round, same_freshness), _) =
            calibrate(round / 8.0, round, 1.02, run, |outcome| {
                outcome.freshness >= everything.freshness
            });
        Saving {
            round,
            everything,
            same_round,
            same_freshness,
            shorter_round,
        }
    }

    /// Question 3: who passes over everything behind an unchanged entry page, with daily rounds; and `selective` with
    /// rounds that cost as much.
    pub(crate) fn behind(&self) -> (Outcome, Outcome) {
        let skipping = self
            .setting
            .in_rounds(&rounds(Policy::Selective, 1.0), true);
        let run = |every: f64| self.setting.run(&rounds(Policy::Selective, every));
        let (_, (_, selective)) = calibrate(1.0, 30.0, 1.02, run, |outcome| {
            outcome.requests > skipping.requests
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

/// Where `above` turns from true to false as the value grows, to within the factor `within`: the last value and run on either side.
fn calibrate(
    mut low: f64,
    mut high: f64,
    within: f64,
    run: impl Fn(f64) -> Outcome,
    above: impl Fn(&Outcome) -> bool,
) -> ((f64, Outcome), (f64, Outcome)) {
    let (mut lower, mut higher) = (None, None);
    while high / low > within {
        let middle = (low * high).sqrt();
        let outcome = run(middle);
        if above(&outcome) {
            low = middle;
            lower = Some(outcome);
        } else {
            high = middle;
            higher = Some(outcome);
        }
    }
    let lower = lower.unwrap_or_else(|| run(low));
    let higher = higher.unwrap_or_else(|| run(high));
    ((low, lower), (high, higher))
}
