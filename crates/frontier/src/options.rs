//! What a crawl may choose about its frontier: `[frontier]` in `aranha.toml`.

use std::time::Duration;

use aranha_units::{duration, size};
use serde::{Deserialize, Serialize};

/// What becomes of a link to another site (F5; V 5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum External {
    /// It stands for the other site's home page, and is dropped when that site is known already: fewest links to
    /// carry, but what no path from the home page reaches is not found.
    HomePage,
    /// It is followed as it is; a site that is only known by a page without links stays at that page.
    #[default]
    DeepLink,
    /// It is followed as it is, and the home page of each new site is visited too: most coverage.
    Combined,
}

/// Limits and policies of the Global Frontier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// A lease that is not renewed for this long is lost to the next visit.
    #[serde(with = "duration")]
    pub lease: Duration,
    /// Pages in a visit's hands at most, for each request that it may have under way: what a lease brings, and what a check-in
    /// may hold.
    pub window: usize,
    /// Which links to other sites are followed.
    pub external_links: External,
    /// Links to other sites gathered (in memory, and in the journal on disk) before they are sorted into a run.
    pub run_links: usize,
    /// Links remembered so that a popular one is not sent a thousand times; 8 bytes each.
    pub recent_links: usize,
    /// Memory for database pages.
    #[serde(with = "size")]
    pub cache_size: u64,
    /// The write-ahead log is folded into the database when it has grown to this.
    #[serde(with = "size")]
    pub wal_size: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lease: Duration::from_mins(5),
            window: 256,
            external_links: External::DeepLink,
            run_links: 1_000_000,
            recent_links: 1 << 20,
            cache_size: 96 << 20,
            wal_size: 64 << 20,
        }
    }
}
