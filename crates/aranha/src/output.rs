//! Writes data to stdout through a buffer, and messages for people to stderr.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use serde_json::Value;

use crate::display::grouped;
use crate::error::CommandError;
use crate::terminal_escape::EscapedJson;

/// Buffered stdout. Call [`Output::finish`] at the end, because writing the rest of the buffer can also fail.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), CommandError> {
        writeln!(self.0, "{line}").map_err(|error| write_error(&error))
    }

    /// Writes text that contains its own line ends.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), CommandError> {
        self.0
            .write_all(text.as_bytes())
            .map_err(|error| write_error(&error))
    }

    /// Writes a JSON value on one line.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), CommandError> {
        self.line(EscapedJson(value))
    }

    /// Writes the rest of the buffer.
    pub(crate) fn finish(mut self) -> Result<(), CommandError> {
        self.0.flush().map_err(|error| write_error(&error))
    }
}

/// Prints a line for people to stderr. Unlike `eprintln!` it does not panic when stderr is closed.
pub(crate) fn message(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A number with its noun: `1 page`, `1,234 pages`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", grouped(number))
}

/// The error for a failed write to stdout. A closed pipe (`aranha … | head`) ends the command with status 0.
pub(crate) fn write_error(error: &io::Error) -> CommandError {
    if error.kind() == ErrorKind::BrokenPipe {
        return CommandError::quiet();
    }
    CommandError::failed(format!("cannot write to stdout: {error}"))
        .hint("redirect stdout to a file or device that is writable and not full")
}
