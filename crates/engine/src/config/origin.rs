//! The origin of each value in the configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::Renamed;

/// The layer that set a value. `aranha config show` prints its `Display` beside the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built into the program.
    Default,
    /// A named profile.
    Profile(String),
    /// A configuration file.
    File {
        /// Path as given by the user.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
    },
    /// Derived from the value with this key.
    Derived(&'static str),
    /// A command-line flag, with its dashes: `--pause`.
    Flag(String),
    /// An environment variable: `http_proxy`.
    Variable(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::Profile(name) => write!(formatter, "profile {name}"),
            Self::File { path, line } => write!(formatter, "{}, line {line}", path.display()),
            Self::Derived(key) => write!(formatter, "from {key}"),
            Self::Flag(flag) => write!(formatter, "flag {flag}"),
            Self::Variable(name) => write!(formatter, "environment variable {name}"),
        }
    }
}

/// The origin of every value that is not a built-in default, by dotted key (`crawl.pause`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    by_key: BTreeMap<String, Origin>,
    renamed: Vec<Renamed>,
}

impl Origins {
    /// The layer that set this key.
    pub fn of(&self, key: &str) -> Origin {
        self.by_key.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// The old key names that the configuration files use. A program should warn about each.
    pub fn renamed(&self) -> &[Renamed] {
        &self.renamed
    }

    /// Adds the old key names that a layer uses.
    pub(super) fn add_renamed(&mut self, renamed: Vec<Renamed>) {
        self.renamed.extend(renamed);
    }

    /// Sets the origin of a key. If an earlier layer had a table for this key, the origins of the keys in the table are
    /// forgotten.
    pub(super) fn set(&mut self, key: &str, origin: Origin) {
        let below = format!("{key}.");
        self.by_key.retain(|known, _| !known.starts_with(&below));
        self.by_key.insert(key.to_owned(), origin);
    }
}
