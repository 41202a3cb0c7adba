//! Data on stdout, buffered, and a reader that goes away is no error; words for people on stderr.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use serde_json::Value;

use crate::complaint::Complaint;
use crate::display::grouped;
use crate::plain::PlainJson;

/// Where a command's data goes. Call [`Output::finish`] at the end: what is still buffered can fail too.
pub(crate) struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// One line.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Complaint> {
        writeln!(self.0, "{line}").map_err(|error| refused(&error))
    }

    /// Text as it is, line ends included.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Complaint> {
        self.0
            .write_all(text.as_bytes())
            .map_err(|error| refused(&error))
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Complaint> {
        self.line(PlainJson(value))
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Complaint> {
        self.0.flush().map_err(|error| refused(&error))
    }
}

/// A line for people, on stderr. When nobody is left to read it, the work goes on: `eprintln!` would end it.
pub(crate) fn tell(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// `1 page`, `1,234 pages`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

/// `aranha … | head` closes the pipe when it has seen enough: that ends the command, quietly and well.
pub(crate) fn refused(error: &io::Error) -> Complaint {
    if error.kind() == ErrorKind::BrokenPipe {
        return Complaint::quiet();
    }
    Complaint::failed(format!("cannot write to the output: {error}"))
        .hint("stdout must lead to a place with room that can be written to")
}
