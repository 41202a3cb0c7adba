//! Errors in a configuration: one sentence with the position, and a hint.

use std::fmt;
use std::path::PathBuf;

use super::Origin;

/// A position in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Path as given by the user.
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

/// Why a configuration could not be loaded. `Display` is one sentence; [`ConfigError::hint`] suggests a correction.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {path}: {source}", path = path.display())]
    Read {
        /// Path as given by the user.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A black list could not be read.
    #[error("cannot read the black list {path}: {source}", path = path.display())]
    ReadList {
        /// Path as given by the user.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line of a black list is not a valid entry.
    #[error("{path}: {sentence}", path = path.display())]
    List {
        /// Path as given by the user.
        path: PathBuf,
        /// The problem, with its line.
        sentence: String,
    },
    /// A file is not valid TOML, has an unknown key, or has a value of the wrong type.
    #[error("{position}: {sentence}")]
    File {
        /// Where the problem is.
        position: FilePosition,
        /// The problem.
        sentence: String,
        /// A suggested correction.
        hint: Option<String>,
    },
    /// The value of a flag has the wrong type, or `--set` names an unknown key.
    #[error("{flag}: {sentence}")]
    Flag {
        /// The flag, with its dashes.
        flag: String,
        /// The problem.
        sentence: String,
        /// A suggested correction.
        hint: Option<String>,
    },
    /// The profile does not exist.
    #[error("there is no profile named `{name}`")]
    Profile {
        /// Name as given by the user.
        name: String,
        /// A suggested correction.
        hint: String,
    },
    /// Every layer is valid, but the merged configuration is not.
    #[error("the configuration files and flags contradict each other: {0}")]
    Layers(String),
    /// A value has the right type but cannot work.
    #[error("{key} ({origin}): {sentence}")]
    Value {
        /// The dotted key.
        key: String,
        /// The layer that set it.
        origin: Origin,
        /// The problem.
        sentence: String,
        /// A suggested correction.
        hint: Option<String>,
    },
}

impl ConfigError {
    /// A suggested correction.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::File { hint, .. } | Self::Value { hint, .. } | Self::Flag { hint, .. } => {
                hint.as_deref()
            }
            Self::Profile { hint, .. } => Some(hint),
            Self::List { .. } => Some(
                "one entry per line: a URL, a domain, an IP address or a range such as 192.0.2.0/24",
            ),
            Self::Read { .. } | Self::ReadList { .. } | Self::Layers(_) => None,
        }
    }
}
