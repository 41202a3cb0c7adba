//! What can be wrong with a configuration: one sentence that says where, and a hint where there is one.

use std::fmt;
use std::path::PathBuf;

use super::Origin;

/// A place in a configuration file; line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// As it was named.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}, line {}, column {}",
            self.path.display(),
            self.line,
            self.column
        )
    }
}

/// Why there is no configuration. The `Display` of each is one sentence; [`ConfigError::hint`] is the next step.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {path}: {source}", path = path.display())]
    Read {
        /// As it was named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A black list could not be read.
    #[error("cannot read the black list {path}: {source}", path = path.display())]
    ReadList {
        /// As it was named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A black list has a line that is no entry.
    #[error("{path}: {sentence}", path = path.display())]
    List {
        /// As it was named.
        path: PathBuf,
        /// What is wrong, and in which line.
        sentence: String,
    },
    /// A file is not TOML, has a key nobody knows or a value of the wrong kind.
    #[error("{place}: {sentence}")]
    File {
        /// Where it stands.
        place: FilePosition,
        /// What is wrong.
        sentence: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A flag's value is of the wrong kind.
    #[error("{flag}: {sentence}")]
    Flag {
        /// With its dashes.
        flag: String,
        /// What is wrong.
        sentence: String,
    },
    /// No such profile.
    #[error("there is no profile named `{name}`")]
    Profile {
        /// As it was given.
        name: String,
        /// What to do.
        hint: String,
    },
    /// Each layer reads by itself, but not all of them together.
    #[error("the layers of the configuration do not fit together: {0}")]
    Layers(String),
    /// Each layer reads, but a value in force makes no sense.
    #[error("{key} ({origin}): {sentence}")]
    Value {
        /// The dotted key.
        key: String,
        /// Who set it.
        origin: Origin,
        /// What is wrong.
        sentence: String,
        /// What to do.
        hint: Option<String>,
    },
}

impl ConfigError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File { hint, .. } | Self::Value { hint, .. } => hint.as_deref(),
            Self::Profile { hint, .. } => Some(hint),
            Self::List { .. } => Some(
                "one entry a line: a URL, a domain, an address or a range such as 192.0.2.0/24",
            ),
            Self::Read { .. } | Self::ReadList { .. } | Self::Flag { .. } | Self::Layers(_) => None,
        }
    }
}
