//! The ways in which a command ends: an exit status and, after a failure, one sentence with a hint.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use aranha_engine::config::ConfigError;
use aranha_frontier::FrontierError;

use crate::output::message;
use crate::session;
use crate::terminal_escape::Escaped;

/// Exit statuses for scripts. The numbers are part of the interface (docs/commands.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Finished, or a limit set by the user was reached.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// Wrong usage or configuration; nothing was written.
    Usage = 2,
    /// Stopped by a full disk or an unusable proxy. The same command continues the work.
    Stopped = 3,
    /// No seed could be fetched.
    NoSeed = 4,
    /// There is nothing to print, because the page has no text or only one version.
    Nothing = 5,
    /// Interrupted. The same command continues the work.
    Interrupted = 130,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command ended early: one sentence, a hint, an exit status.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The message, without a full stop. If it is `None`, nothing is printed.
    sentence: Option<String>,
    hint: Option<String>,
    status: ExitStatus,
}

impl CommandError {
    /// An error with exit status 1.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self {
            sentence: Some(sentence.into()),
            hint: None,
            status: ExitStatus::Failed,
        }
    }

    /// An error with exit status 3: after the cause is removed, the same command continues the work.
    pub(crate) fn stopped(sentence: impl Into<String>) -> Self {
        Self {
            status: ExitStatus::Stopped,
            ..Self::failed(sentence)
        }
    }

    /// An error with exit status 4: no seed could be fetched.
    pub(crate) fn no_seed(sentence: impl Into<String>) -> Self {
        Self {
            status: ExitStatus::NoSeed,
            ..Self::failed(sentence)
        }
    }

    /// An error with exit status 5: there is nothing to print.
    pub(crate) fn nothing(sentence: impl Into<String>) -> Self {
        Self {
            status: ExitStatus::Nothing,
            ..Self::failed(sentence)
        }
    }

    /// An error with exit status 2: wrong usage or configuration.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self {
            status: ExitStatus::Usage,
            ..Self::failed(sentence)
        }
    }

    /// Ends the command with status 0 and without a message, for example after a closed pipe.
    pub(crate) fn quiet() -> Self {
        Self {
            sentence: None,
            hint: None,
            status: ExitStatus::Done,
        }
    }

    /// The error for a file of the collection that cannot be written. If the disk is full, the status is 3 and the hint
    /// is to free disk space. Otherwise the status is 1 and the hint is `hint`.
    pub(crate) fn cannot_write(path: &Path, error: &io::Error, hint: &str) -> Self {
        let sentence = format!("cannot write `{}`: {error}", path.display());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Self::stopped(sentence).hint(FREE_DISK_SPACE)
            }
            _ => Self::failed(sentence).hint(hint),
        }
    }

    /// Sets the hint, which says what the user can do about the error.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The sentence without the hint; empty if the error has no sentence.
    pub(crate) fn sentence(&self) -> &str {
        self.sentence.as_deref().unwrap_or_default()
    }

    /// Prints the sentence as the reason why an input was skipped. The command continues after this call.
    pub(crate) fn print_skipped(&self) {
        if let Some(sentence) = &self.sentence {
            message(format_args!("skipped: {}", Escaped(sentence)));
        }
    }

    /// Prints sentence and hint to stderr. Both may quote files or the web, so control characters are escaped.
    pub(crate) fn report(self) -> ExitCode {
        let mut stderr = io::stderr().lock();
        // Write errors are ignored: if stderr is closed, there is nowhere else to report them.
        if let Some(sentence) = &self.sentence {
            let _ = writeln!(stderr, "error: {}", Escaped(sentence));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "hint: {}", Escaped(hint));
        }
        self.status.into()
    }
}

/// Hint for a full disk.
pub(crate) const FREE_DISK_SPACE: &str = "free some disk space, then run the same command again";

impl From<FrontierError> for CommandError {
    fn from(error: FrontierError) -> Self {
        session::frontier_error(&error)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let usage = Self::usage(error.to_string());
        if let Some(hint) = error.hint() {
            return usage.hint(hint);
        }
        usage.hint(match error {
            ConfigError::Read { .. } => {
                "name a file that exists, that you are allowed to read, and that is TOML in UTF-8"
            }
            ConfigError::ReadList { .. } => {
                "the file must be a text file that you are allowed to read"
            }
            _ => "`aranha config show` prints all keys, each with a valid value",
        })
    }
}
