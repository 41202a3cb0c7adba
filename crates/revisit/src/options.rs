//! The section `[revisit]` of the configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How the time of the next visit is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// A page is asked for once.
    Never,
    /// Every page once in every round.
    Fixed,
    /// Pages skip rounds as long as they do not change (B 3.2).
    #[default]
    Frequency,
    /// As `frequency`; inner pages of a site whose entry page has not changed are left alone unless enough of them change
    /// (B 3.3).
    Selective,
    /// A page is asked for again when it has changed with the probability `change_probability`.
    Poisson,
    /// `budget` requests a day are spent where they keep most important pages fresh.
    Optimal,
}

/// When pages are asked for again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which of the policies.
    pub policy: Policy,
    /// The length of a round for `fixed`, `frequency` and `selective`; for all of them, how soon a page that is gone is
    /// looked for again at first.
    #[serde(with = "aranha_units::duration")]
    pub every: Duration,
    /// No page is asked for more often; in rounds that are shorter than twice this, not twice within half a round.
    #[serde(with = "aranha_units::duration")]
    pub min_interval: Duration,
    /// No page is asked for more rarely, unless it is gone.
    #[serde(with = "aranha_units::duration")]
    pub max_interval: Duration,
    /// By what share of a round or an interval visiting times move from one visit to the next (F12); 0 = not at all.
    pub spread: f32,
    /// A page gone this many times in a row is dead.
    pub max_gone: u8,
    /// `frequency`: visits that are looked at for changes, at most 32 (B's `limit`).
    pub history_visits: u32,
    /// `frequency`: a new page is visited in one of so many rounds (B's first `fr_max`, which is 2 there).
    pub initial_rounds: u32,
    /// `selective`: share of a site's inner pages that must have changed, at first.
    pub min_changed_share: f32,
    /// `frequency`, `selective`: length of the quick rounds between full ones, for fast sites (I6).
    #[serde(with = "aranha_units::duration::option")]
    pub quick_every: Option<Duration>,
    /// `poisson`, `optimal`: time between changes assumed of a page that nothing is known about; `optimal` does not leave
    /// it alone for longer at first.
    #[serde(with = "aranha_units::duration")]
    pub prior_change_interval: Duration,
    /// `poisson`: how likely it is that a page has changed when it is asked for again.
    pub change_probability: f32,
    /// `optimal`: requests a day.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            policy: Policy::default(),
            every: Duration::from_hours(24),
            min_interval: Duration::from_hours(1),
            max_interval: Duration::from_hours(90 * 24),
            spread: 0.25,
            max_gone: 5,
            history_visits: 20,
            initial_rounds: 1,
            min_changed_share: 0.4,
            quick_every: None,
            prior_change_interval: Duration::from_hours(10 * 24),
            change_probability: 0.5,
            budget: 100_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_configuration() {
        let text = toml::to_string(&Options::default()).expect("serializes");
        assert_eq!(
            toml::from_str::<Options>(&text).expect("reads"),
            Options::default()
        );
        let options: Options =
            toml::from_str("policy = 'optimal'\nquick_every = '6h'\nmax_interval = '30d'")
                .expect("reads");
        assert_eq!(options.policy, Policy::Optimal);
        assert_eq!(options.quick_every, Some(Duration::from_hours(6)));
        assert!(toml::from_str::<Options>("policy = 'sometimes'").is_err());
        assert!(toml::from_str::<Options>("evry = '1d'").is_err());
    }

    #[test]
    fn the_documented_section_is_the_defaults() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/aranha.toml");
        let text = std::fs::read_to_string(path).expect("the documentation");
        let mut table: toml::Table = text.parse().expect("it reads");
        let section = table.remove("revisit").expect("it has the section");
        assert_eq!(section.try_into(), Ok(Options::default()));
    }
}
