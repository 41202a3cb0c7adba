//! Progress of a long command on stderr. On a terminal, one line is overwritten. Otherwise a new line is printed every
//! few seconds.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::output::message;

const TERMINAL_INTERVAL: Duration = Duration::from_millis(100);
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// The progress line. Dropping it clears the line on a terminal.
pub(crate) struct ProgressLine {
    terminal: bool,
    last: Instant,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        let supported = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        Self {
            terminal: supported && std::io::stderr().is_terminal(),
            last: Instant::now(),
        }
    }

    /// Shows the line if enough time has passed since the previous one.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String) {
        let interval = if self.terminal {
            TERMINAL_INTERVAL
        } else {
            LOG_INTERVAL
        };
        if self.last.elapsed() < interval {
            return;
        }
        self.last = Instant::now();
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r{}", line());
        } else {
            message(line());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
