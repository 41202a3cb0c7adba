//! Configuration: what is in force in a crawl, and where each value came from (M9).
//!
//! Four layers, each over the last: built-in defaults, a named profile, configuration files, command-line flags.
//! They are merged as TOML tables, leaf by leaf, and the [`Origin`] of every leaf is remembered, so that
//! `aranha config show` can say not only what holds but who said so.
//!
//! What always holds: every layer is read on its own against the same structs, so an unknown key or a wrong type
//! is refused with the file, line and column (or the flag) it stands in, never silently dropped; a [`Config`] that
//! [`Config::load`] returns has passed every check in `check.rs`, and says in `fetch.user_agent` who we are.
//!
//! Read first: [`CrawlOptions`] (the engine's own section; the other sections belong to the crates that act on them),
//! then `layer.rs` (how a layer is read) and `merge.rs` (how they become one).

mod check;
mod crawl;
mod derive;
mod error;
mod layer;
mod leaf;
pub(crate) mod limit;
mod merge;
mod nearest;
mod origin;
mod profile;
mod renamed;
mod scope;
mod show;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crawl::{CrawlOptions, LogOptions, ProxyCacheOptions, Thresholds};
pub use error::{ConfigError, FilePosition};
pub use layer::FlagValues;
pub use origin::{Origin, Origins};
pub use profile::{PROFILES, Profile};
pub use renamed::Renamed;

/// The configuration in force: one field a section of `aranha.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The profile whose values lie between the defaults and the files. A file may name it too.
    pub profile: String,
    /// `[crawl]`: what is crawled, how fast, by whom.
    pub crawl: CrawlOptions,
    /// `[thresholds]`: what a site may cost before its links are no longer followed (D5).
    pub thresholds: Thresholds,
    /// `[load]`: what the crawl may take of this machine and its network (N13).
    pub load: crate::limits::load::Caps,
    /// `[url]`: the canonical form of URLs.
    pub url: aranha_url::UrlRules,
    /// `[fetch]`: connections, limits of one fetch, DNS.
    pub fetch: aranha_fetch::Options,
    /// `[page]`: what is read out of a page.
    pub page: aranha_page::Options,
    /// `[volume]`: the archive.
    pub volume: aranha_volume::Options,
    /// `[frontier]`: leases, windows, external links.
    pub frontier: aranha_frontier::Options,
    /// `[retry]`: which outcomes are tried again, after how long, how often (F11).
    pub retry: aranha_frontier::Retry,
    /// `[revisit]`: when pages are visited again (I1 to I4).
    pub revisit: aranha_revisit::Options,
    /// `[proxy_cache]`: what a proxy near by tells and has (I5).
    pub proxy_cache: ProxyCacheOptions,
    /// `[log]`: what is written about the crawl.
    pub log: LogOptions,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: profile::DEFAULT.to_owned(),
            crawl: CrawlOptions::default(),
            thresholds: Thresholds::default(),
            load: crate::limits::load::Caps::default(),
            url: aranha_url::UrlRules::default(),
            fetch: aranha_fetch::Options::default(),
            page: aranha_page::Options::default(),
            volume: aranha_volume::Options::default(),
            frontier: aranha_frontier::Options::default(),
            retry: aranha_frontier::Retry::default(),
            revisit: aranha_revisit::Options::default(),
            proxy_cache: ProxyCacheOptions::default(),
            log: LogOptions::default(),
        }
    }
}

/// One value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    /// Its dotted key.
    pub key: String,
    /// As TOML has it.
    pub value: toml::Value,
    /// Who set it.
    pub origin: Origin,
}

/// What to load a configuration from, above the built-in defaults.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// A profile chosen on the command line; without it the last file that names one decides.
    pub profile: Option<String>,
    /// Configuration files, a later one over an earlier one. A file that is missing is an error.
    pub files: Vec<PathBuf>,
    /// What was typed on the command line.
    pub flags: FlagValues,
}

impl Config {
    /// Reads and merges the layers, then checks the whole.
    pub fn load(layers: &Layers) -> Result<(Self, Origins), ConfigError> {
        merge::load(layers)
    }

    /// Every value in force with its key and origin, in the order of the sections.
    pub fn entries(&self, origins: &Origins) -> Vec<ConfigEntry> {
        show::entries(self, origins)
    }

    /// All values in force as TOML, in the order of the sections, each with its origin as a comment.
    pub fn show(&self, origins: &Origins) -> String {
        show::all(self, origins)
    }

    /// Only what files and flags set, as TOML: what a collection keeps so that a later run continues alike.
    /// Profile values are left out, the profile's name is kept.
    pub fn show_own(&self, origins: &Origins) -> String {
        show::own(self, origins)
    }
}

#[cfg(test)]
mod tests;
