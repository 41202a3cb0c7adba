//! The configuration of a crawl, and the origin of each value (M9).
//!
//! Layers are merged value by value, and a later layer overrides an earlier one. The order is: built-in defaults, a
//! profile, the proxies that environment variables name, configuration files, command-line flags. The [`Origin`] of
//! every value is kept for `aranha config show`.
//!
//! Invariants:
//! - Every layer is deserialised on its own into the same structs. An unknown key or a wrong type is an error that
//!   names the file, line and column, or the flag.
//! - A [`Config`] from [`Config::load`] has passed all checks in `check.rs`, and its `fetch.user_agent` contains the
//!   contact.
//!
//! Read first: [`CrawlOptions`] (the engine's own section; the other sections belong to their crates), then `layer.rs`
//! (reading a layer) and `merge.rs` (merging the layers).

mod busy_hours;
mod check;
mod crawl;
mod derive;
mod edit;
mod environment;
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

pub use aranha_fetch::{FetchSetupError, ProxySetting, Secrets, check_proxies};
pub use busy_hours::{DayHours, UtcOffset};
pub use crawl::{
    CrawlOptions, DuplicateLinks, LogOptions, NoIndex, ProxyCacheOptions, RobotsPolicy, Thresholds,
};
pub use environment::ProxyVariables;
pub use error::{ConfigError, FilePosition};
pub use layer::FlagValues;
pub use origin::{Origin, Origins};
pub use profile::{PROFILES, Profile};
pub use renamed::Renamed;

/// The configuration: one field per section of `aranha.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Name of the profile. A flag or a file sets it.
    pub profile: String,
    /// `[crawl]`: scope, limits, courtesy and identity of the crawler.
    pub crawl: CrawlOptions,
    /// `[thresholds]`: limits beyond which a site is treated as a trap (D5).
    pub thresholds: Thresholds,
    /// `[load]`: limits on the load of this machine and its network (N13).
    pub load: crate::limits::load::Caps,
    /// `[url]`: the canonical form of URLs.
    pub url: aranha_url::UrlRules,
    /// `[fetch]`: connections, limits of a fetch, DNS.
    pub fetch: aranha_fetch::Options,
    /// `[page]`: reading of pages.
    pub page: aranha_page::Options,
    /// `[volume]`: the WARC files.
    pub volume: aranha_volume::Options,
    /// `[frontier]`: leases, windows, external links.
    pub frontier: aranha_frontier::Options,
    /// `[retry]`: which outcomes are retried, when and how often (F11).
    pub retry: aranha_frontier::Retry,
    /// `[revisit]`: when pages are revisited (I1 to I4).
    pub revisit: aranha_revisit::Options,
    /// `[proxy_cache]`: signals and copies from a caching proxy (I5).
    pub proxy_cache: ProxyCacheOptions,
    /// `[log]`: logs of the crawl.
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

/// One value of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    /// The dotted key.
    pub key: String,
    /// The value in TOML.
    pub value: toml::Value,
    /// The layer that set it.
    pub origin: Origin,
}

/// The layers of a configuration, except the built-in defaults.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The profile from the command line. If it is `None`, the last file that names a profile decides.
    pub profile: Option<String>,
    /// The settings that the nodes of a crawl share, as the text of a configuration file. All files override them.
    pub shared: Option<String>,
    /// Configuration files; a later one overrides an earlier one. A missing file is an error.
    pub files: Vec<PathBuf>,
    /// Values from the command line.
    pub flags: FlagValues,
    /// The proxies that environment variables name. Files and flags override them.
    pub environment: ProxyVariables,
    /// Values from the flag `--set`, each `section.key=value`. They override `flags`.
    pub settings: Vec<String>,
}

impl Config {
    /// Reads and merges the layers, then checks the result.
    pub fn load(layers: &Layers) -> Result<(Self, Origins), ConfigError> {
        merge::load(layers)
    }

    /// Every value with its key and origin, in the order of the sections.
    pub fn entries(&self, origins: &Origins) -> Vec<ConfigEntry> {
        show::entries(self, origins)
    }

    /// All values as TOML, in the order of the sections, each with its origin as a comment.
    pub fn show(&self, origins: &Origins) -> String {
        show::all(self, origins)
    }

    /// The values from files and flags, and the name of the profile, as TOML. A collection keeps this text, so that
    /// later crawls use the same configuration.
    pub fn show_own(&self, origins: &Origins) -> String {
        show::own(self, origins)
    }

    /// The settings that all nodes of this crawl share: like [`Config::show_own`], but without the keys that belong to
    /// one machine.
    pub fn show_shared(&self, origins: &Origins) -> String {
        show::shared(self, origins)
    }

    /// The keys from files and flags whose values contain secrets. [`Config::show`] hides the secrets, and
    /// [`Config::show_own`] leaves them out.
    pub fn secret_keys(&self, origins: &Origins) -> Vec<String> {
        show::secret_keys(self, origins)
    }

    /// Returns `text`, a configuration file, with `frontier.url` set to the value of this configuration, without the
    /// password. Other values and comments are kept. `None` if the section `[frontier]` of the text cannot be extended.
    pub fn with_frontier(&self, text: &str) -> Option<String> {
        edit::set_text(text, "frontier", "url", &self.frontier.url.to_string())
    }

    /// Returns `text`, a configuration file, with the filters `crawl.accept`, `crawl.reject` and `crawl.keep` of this
    /// configuration. An empty filter replaces nothing. Other values and comments are kept. `None` if the section
    /// `[crawl]` of the text cannot be extended.
    pub fn with_filters(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        for (name, list) in [
            ("accept", &self.crawl.accept),
            ("reject", &self.crawl.reject),
            ("keep", &self.crawl.keep),
        ] {
            if !list.is_empty() {
                text = edit::set_list(&text, "crawl", name, list)?;
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests;
