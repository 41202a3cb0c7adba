//! Settings for a seed as users type them (X6): flags of `aranha seed add`, or words after the URL in a file of seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use aranha_frontier::{Frontier, FrontierError, SeedSettings};
use aranha_units::duration;
use aranha_url::SiteKey;

/// The depth of a seed without a limit.
const UNLIMITED: u16 = u16::MAX;
/// The word that removes a setting.
const DEFAULT: &str = "default";
/// The names of the settings in a file of seeds.
const NAMES: [&str; 3] = ["depth", "every", "max_every"];

/// A change of one setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Change<T> {
    #[default]
    Keep,
    Remove,
    Set(T),
}

impl<T> Change<T> {
    fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Remove => None,
            Self::Set(value) => Some(value),
        }
    }

    /// The new value, if one is set.
    pub(crate) fn value(self) -> Option<T> {
        self.apply(None)
    }
}

/// A change of the settings of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SettingsChange {
    pub(crate) depth: Change<u16>,
    pub(crate) every: Change<Duration>,
    pub(crate) max_every: Change<Duration>,
}

impl SettingsChange {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn apply(self, before: SeedSettings) -> SeedSettings {
        SeedSettings {
            depth: self.depth.apply(before.depth),
            every: self.every.apply(before.every),
            max_every: self.max_every.apply(before.max_every),
        }
    }

    /// Splits a line such as `https://example.org/ depth=2 every=7d` into the URL and the settings.
    pub(crate) fn split(line: &str) -> Result<(&str, Self), String> {
        let (mut url, mut change) = (line.trim_end(), Self::default());
        while let Some((rest, word)) = url.rsplit_once(char::is_whitespace) {
            let Some((name, value)) = word.split_once('=') else {
                break;
            };
            match name {
                "depth" => change.depth = parse_depth(value)?,
                "every" => change.every = parse_interval(value)?,
                "max_every" => change.max_every = parse_interval(value)?,
                _ if rest.trim_start().contains(char::is_whitespace) || !rest.contains("://") => {
                    break;
                }
                _ => {
                    return Err(format!(
                        "`{name}` is not a setting of a seed; the settings are {}",
                        NAMES.join(", ")
                    ));
                }
            }
            url = rest.trim_end();
        }
        Ok((url, change))
    }
}

/// A number of links, `none` for no limit, or `default`.
pub(crate) fn parse_depth(text: &str) -> Result<Change<u16>, String> {
    match text {
        DEFAULT => Ok(Change::Remove),
        "none" => Ok(Change::Set(UNLIMITED)),
        _ => text.parse().map(Change::Set).map_err(|_| {
            format!("`{text}` is not a depth: write a number of links, none or default")
        }),
    }
}

/// A duration, or `default`.
pub(crate) fn parse_interval(text: &str) -> Result<Change<Duration>, String> {
    match text {
        DEFAULT => Ok(Change::Remove),
        _ => match duration::parse(text) {
            Ok(time) if !time.is_zero() => Ok(Change::Set(time)),
            Ok(_) => Err("the interval must be longer than 0".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// Changes the settings of sites. If a site has several changes, the last change counts. Returns the number of sites
/// whose settings have changed.
pub(crate) fn store(
    frontier: &mut dyn Frontier,
    now: i64,
    changes: &[(SiteKey, SettingsChange)],
) -> Result<u64, FrontierError> {
    if changes.iter().all(|(_, change)| change.is_empty()) {
        return Ok(0);
    }
    let before: BTreeMap<SiteKey, SeedSettings> = frontier.seed_settings()?.into_iter().collect();
    let mut after = BTreeMap::new();
    for (site, change) in changes {
        let known = before.get(site).copied().unwrap_or_default();
        let settings: &mut SeedSettings = after.entry(*site).or_insert(known);
        *settings = change.apply(*settings);
    }
    after.retain(|site, settings| before.get(site).copied().unwrap_or_default() != *settings);
    let changed: Vec<_> = after.into_iter().collect();
    frontier.set_seed_settings(now, &changed)?;
    Ok(changed.len() as u64)
}

/// The settings in the form of a file of seeds; empty if nothing is set.
pub(crate) fn words(settings: &SeedSettings) -> String {
    let intervals = [settings.every, settings.max_every].map(|time| time.map(duration::format));
    let values = [
        settings.depth.map(depth),
        intervals[0].clone(),
        intervals[1].clone(),
    ];
    let words = NAMES
        .into_iter()
        .zip(values)
        .filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    words.collect::<Vec<_>>().join(" ")
}

fn depth(limit: u16) -> String {
    match limit {
        UNLIMITED => "none".to_owned(),
        limit => limit.to_string(),
    }
}

/// The settings as an object with the names of a file of seeds. A setting that is not set is `null`.
pub(crate) fn json(settings: &SeedSettings) -> serde_json::Value {
    let depth = settings.depth.map(|limit| match limit {
        UNLIMITED => serde_json::json!("none"),
        limit => serde_json::json!(limit),
    });
    serde_json::json!({
        "depth": depth,
        "every": settings.every.map(duration::format),
        "max_every": settings.max_every.map(duration::format),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_separated_from_the_url() {
        let days = |days: u64| Change::Set(Duration::from_hours(24 * days));
        let none = SettingsChange::default();
        let check = |line: &str, url: &str, change| {
            assert_eq!(SettingsChange::split(line), Ok((url, change)), "{line}");
        };
        check("https://a.test/", "https://a.test/", none);
        check("a.test/?depth=2", "a.test/?depth=2", none);
        check("http://a.test/x y=1 z", "http://a.test/x y=1 z", none);
        let all = SettingsChange {
            depth: Change::Set(2),
            every: days(7),
            max_every: days(30),
        };
        check("a.test  depth=2\tevery=7d max_every=30d", "a.test", all);
        let change = SettingsChange {
            depth: Change::Set(UNLIMITED),
            every: Change::Remove,
            max_every: Change::Keep,
        };
        check("a.test every=default depth=none", "a.test", change);
        let spaced = SettingsChange {
            depth: Change::Set(1),
            ..none
        };
        check("http://a.test/x y depth=1", "http://a.test/x y", spaced);
        for line in [
            "a.test depth=-1",
            "a.test every=0",
            "a.test every=x",
            "http://a.test/ evry=1d",
        ] {
            assert!(SettingsChange::split(line).is_err(), "{line}");
        }
    }

    #[test]
    fn settings_are_printed_as_they_are_typed() {
        let settings = SeedSettings {
            depth: Some(2),
            every: Some(Duration::from_hours(48)),
            max_every: None,
        };
        assert_eq!(words(&settings), "depth=2 every=2d");
        assert_eq!(words(&SeedSettings::default()), "");
        let (_, change) = SettingsChange::split("a depth=none max_every=90m").unwrap();
        let changed = change.apply(settings);
        assert_eq!(words(&changed), "depth=none every=2d max_every=1h30m");
        assert_eq!(json(&changed)["depth"], "none");
        let (_, change) = SettingsChange::split("a depth=default").unwrap();
        assert_eq!(change.apply(changed).depth, None);
    }
}
