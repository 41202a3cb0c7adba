//! The section `[revisit]` of the configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The policy that chooses the time of the next visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// A page is visited once.
    Never,
    /// Every page is visited one time in every round.
    Fixed,
    /// Pages skip rounds while they do not change (Bouras 3.2).
    #[default]
    Frequency,
    /// Like `frequency`, but the pages that an unchanged page links to are visited only if enough of them are expected
    /// to have changed (Bouras 3.3). [`Options::selective`] chooses these groups of pages.
    Selective,
    /// A page is visited again when the probability that it has changed reaches `change_probability`.
    Poisson,
    /// `budget` requests a day are distributed over the pages so that the stored copies of important pages are up to
    /// date for as much of the time as possible.
    Optimal,
}

/// `selective`: the pages that decide about the pages that they link to (Bouras 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectiveGroups {
    /// The entry page of a site decides about all its other pages.
    #[default]
    EntryPages,
    /// Every page decides about the pages that were first found on it.
    AllPages,
    /// The second method of Bouras 3.3: every page is visited when its own turn comes. If the page has not changed, the
    /// pages that were first found on it are visited in the same round.
    Descend,
}

/// Options for revisits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The policy.
    pub policy: Policy,
    /// Length of a round for `fixed`, `frequency` and `selective`. With every policy, it is also the time until the
    /// first revisit of a page that is gone.
    #[serde(with = "aranha_units::duration")]
    pub every: Duration,
    /// Shortest interval between two visits of a page. If a round is shorter than twice this value, the shortest
    /// interval is half a round.
    #[serde(with = "aranha_units::duration")]
    pub min_interval: Duration,
    /// Longest interval between two visits of a page that is not gone.
    #[serde(with = "aranha_units::duration")]
    pub max_interval: Duration,
    /// Share of a round or interval by which visit times vary (F12); 0 = no variation.
    pub spread: f32,
    /// A page that is gone at this many visits in a row is not visited again.
    pub max_gone: u8,
    /// `frequency`: number of recent visits in which changes are counted, at most 32 (`limit` in Bouras 3.2).
    pub history_visits: u32,
    /// `frequency`: rounds between visits of a new page (the first `fr_max`, which is 2 in Bouras 5).
    pub initial_rounds: u32,
    /// `selective`: the pages that decide about the pages that they link to.
    pub selective: SelectiveGroups,
    /// `selective`: initial threshold. The pages below an unchanged page are visited if at least this share of them is
    /// expected to have changed.
    pub min_changed_share: f32,
    /// `fixed`, `frequency`, `selective`: length of a quick round. A site is fast if more than half of its pages change from one
    /// round to the next. If a page of a fast site has changed, it is visited again in the next quick round instead of
    /// the next full round (I6).
    #[serde(with = "aranha_units::duration::option")]
    pub quick_every: Option<Duration>,
    /// `poisson`, `optimal`: assumed time between changes of a page without history. With `optimal`, it is also the
    /// longest interval between the first two visits.
    #[serde(with = "aranha_units::duration")]
    pub prior_change_interval: Duration,
    /// `poisson`: the next visit is planned for the time at which the page has changed with this probability.
    pub change_probability: f32,
    /// `optimal`: number of requests a day.
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
            selective: SelectiveGroups::default(),
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
    fn options_are_read_from_toml() {
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
        let text = std::fs::read_to_string(path).expect("docs/aranha.toml can be read");
        let mut table: toml::Table = text.parse().expect("docs/aranha.toml is TOML");
        let section = table.remove("revisit").expect("it has a [revisit] section");
        assert_eq!(section.try_into(), Ok(Options::default()));
    }
}
