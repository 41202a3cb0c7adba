//! Options of the frontier: the section `[frontier]` of `aranha.toml`.

use std::time::Duration;

use aranha_units::{duration, size};
use serde::{Deserialize, Serialize};

use crate::FrontierUrl;

/// Policy for links to other sites (F5; Viuva Negra 5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum External {
    /// Replace the link by a link to the home page of the other site; drop it if that site is known. This policy
    /// follows the fewest links, but does not find pages that cannot be reached from a home page.
    HomePage,
    /// Follow the link as it is. If all links to a site lead to pages without links, the rest of the site is not found.
    #[default]
    DeepLink,
    /// Follow the link as it is, and visit the home page of each new site too. This policy has the highest coverage.
    Combined,
}

/// Limits and policies of the Global Frontier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Address of a frontier that several nodes share: `postgres://USER@HOST/DATABASE?schema=NAME`. Empty: the frontier is in
    /// the folder of the collection.
    pub url: FrontierUrl,
    /// Name of this node, for people; empty for the name of the machine.
    pub node: String,
    /// Time without renewal after which a lease expires and the site can be leased again.
    #[serde(with = "duration")]
    pub lease: Duration,
    /// Time without a sign of life after which a node of a shared frontier counts as dead, and other nodes can visit
    /// its sites.
    #[serde(with = "duration")]
    pub node_timeout: Duration,
    /// Maximum number of pages in a window, for each concurrent request of the visit.
    pub window: usize,
    /// Policy for links to other sites.
    pub external_links: External,
    /// Number of links to other sites that are gathered in memory and in the journal before they are written as a link
    /// run.
    pub run_links: usize,
    /// Number of recently sent links that are remembered, 8 bytes each. A remembered link is not sent again.
    pub recent_links: usize,
    /// Size of the page cache of SQLite. Only for the embedded engine.
    #[serde(with = "size")]
    pub cache_size: u64,
    /// Size of the write-ahead log at which it is checkpointed into the database. Only for the embedded engine.
    #[serde(with = "size")]
    pub wal_size: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            url: FrontierUrl::Unset,
            node: String::new(),
            lease: Duration::from_mins(5),
            node_timeout: Duration::from_mins(1),
            window: 256,
            external_links: External::DeepLink,
            run_links: 1_000_000,
            recent_links: 1 << 20,
            cache_size: 96 << 20,
            wal_size: 64 << 20,
        }
    }
}

impl Options {
    /// The name of this node: [`Options::node`] or, if it is empty, the name of the machine.
    pub fn node_name(&self) -> String {
        if self.node.is_empty() {
            let system = rustix::system::uname();
            return system.nodename().to_string_lossy().into_owned();
        }
        self.node.clone()
    }
}
