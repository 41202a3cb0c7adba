//! Settings of the user for a seed: how deep and how often its site is crawled (X6; Bouras, Table 1).

use std::time::Duration;

use aranha_url::SiteKey;

/// Settings for a seed. They apply to all pages of its site, so seeds of the same site share them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeedSettings {
    /// Maximum number of links on the way from a seed to a page of the site (`Level` in Bouras, Table 1). `None` means
    /// the crawl's own setting.
    pub depth: Option<u16>,
    /// Interval after the first visit of a page (the first `Fr_max`). `None` means the interval of the revisit policy.
    pub every: Option<Duration>,
    /// Longest interval between two visits of a page. `None` means the crawl's own setting.
    pub max_every: Option<Duration>,
}

impl SeedSettings {
    /// Whether no setting is set.
    pub fn is_empty(&self) -> bool {
        *self == SeedSettings::default()
    }

    /// The columns of a row: depth, and the intervals in milliseconds.
    pub(crate) fn columns(&self) -> [Option<i64>; 3] {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        [
            self.depth.map(i64::from),
            self.every.map(millis),
            self.max_every.map(millis),
        ]
    }

    pub(crate) fn of_columns([depth, every, max_every]: [Option<i64>; 3]) -> SeedSettings {
        let time = |millis: i64| Duration::from_millis(millis.unsigned_abs());
        SeedSettings {
            depth: depth.map(|depth| u16::try_from(depth).unwrap_or(u16::MAX)),
            every: every.map(time),
            max_every: max_every.map(time),
        }
    }
}

/// The settings of a site.
pub type SiteSettings = (SiteKey, SeedSettings);
