//! The output of a crawl: progress while it runs, notices, and a summary at the end.
//!
//! * `progress` prints the state of the crawl at regular intervals, and notices at once.
//! * `summary` prints the summary.
//! * `bar` is the progress line on a terminal; other output hides it for a moment.
//! * `json` prints events on stdout.
//! * `numbers` formats counts and sizes.
//!
//! JSON goes to stdout. Everything else goes to stderr.

mod bar;
mod json;
mod numbers;
mod progress;
mod summary;

use std::io::IsTerminal as _;

pub(crate) use bar::with_bar_hidden;
pub(crate) use json::add_deprecated_status_fields;
pub(crate) use numbers::{about, grouped};
pub(crate) use progress::follow;
pub(crate) use summary::summary;

use crate::output::message;

/// How a crawl reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// A progress line on a terminal, updated in place.
    Live,
    /// A progress line every few seconds, for a file or a pipe.
    Lines,
    /// JSON on stdout.
    Json,
    /// Errors only.
    Quiet,
}

impl OutputMode {
    pub(crate) fn choose(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if std::io::stderr().is_terminal() {
            Self::Live
        } else {
            Self::Lines
        }
    }

    /// Prints a message for people on stderr.
    pub(crate) fn message(self, text: &str) {
        if matches!(self, Self::Live | Self::Lines) {
            with_bar_hidden(|| message(text));
        }
    }
}
