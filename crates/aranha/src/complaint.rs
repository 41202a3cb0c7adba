//! How a command ends: an exit status, and a sentence with a hint when something is wrong.

use std::io::{self, Write};
use std::process::ExitCode;

use aranha_engine::config::ConfigError;

use crate::output::tell;
use crate::plain::Plain;

/// What scripts read. The numbers are part of the interface (docs/commands.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Finished, or a limit that the user set was reached.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// Wrong usage or configuration; nothing was written.
    Usage = 2,
    /// Stopped by a full disk; the same command continues.
    Stopped = 3,
    /// Interrupted; the same command continues.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// One clear sentence, what to do about it, and how the program ends.
#[derive(Debug)]
pub(crate) struct Complaint {
    /// Without a full stop. `None` ends quietly.
    sentence: Option<String>,
    hint: Option<String>,
    status: Status,
}

impl Complaint {
    /// Something failed on the way.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self {
            sentence: Some(sentence.into()),
            hint: None,
            status: Status::Failed,
        }
    }

    /// It could not go on, but the same command continues later.
    pub(crate) fn stopped(sentence: impl Into<String>) -> Self {
        Self {
            status: Status::Stopped,
            ..Self::failed(sentence)
        }
    }

    /// What was typed or configured cannot be used.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self {
            status: Status::Usage,
            ..Self::failed(sentence)
        }
    }

    /// Whoever read our output has had enough: not a fault.
    pub(crate) fn quiet() -> Self {
        Self {
            sentence: None,
            hint: None,
            status: Status::Done,
        }
    }

    /// The next step for the user.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What is wrong, for one who goes on all the same.
    pub(crate) fn sentence(&self) -> &str {
        self.sentence.as_deref().unwrap_or_default()
    }

    /// Mentions it and goes on.
    pub(crate) fn mention(&self) {
        if let Some(sentence) = &self.sentence {
            tell(format_args!("left out: {}", Plain(sentence)));
        }
    }

    /// Prints it. Sentence and hint may quote a file or the web: what could move the cursor is escaped.
    pub(crate) fn report(self) -> ExitCode {
        let mut stderr = io::stderr().lock();
        // There is nobody left to tell when stderr is closed too.
        if let Some(sentence) = &self.sentence {
            let _ = writeln!(stderr, "error: {}", Plain(sentence));
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "hint: {}", Plain(hint));
        }
        self.status.into()
    }
}

impl From<ConfigError> for Complaint {
    fn from(error: ConfigError) -> Self {
        let complaint = Self::usage(error.to_string());
        if let Some(hint) = error.hint() {
            return complaint.hint(hint);
        }
        complaint.hint(match error {
            ConfigError::Read { .. } => "it must be a TOML file in UTF-8 that you may read",
            ConfigError::ReadList { .. } => "it must be a text file that you may read",
            _ => "`aranha config show` prints every key with a value that is good",
        })
    }
}
