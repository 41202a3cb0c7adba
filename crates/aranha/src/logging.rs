//! Log messages of the crawler on stderr: `--log FILTER` and the configuration key `log.level`.
//!
//! A filter is a level (`info`), or levels by crate (`aranha_fetch=debug,info`). A message below the level costs one
//! atomic load. Each line has the time, level, spans and target. Control characters are escaped. The progress line on a
//! terminal is hidden while a log line is printed.

use std::io::{self, Write};
use std::sync::OnceLock;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::display::with_bar_hidden;
use crate::error::CommandError;
use crate::terminal_escape::Escaped;

/// The value of `--log`.
static FLAG: OnceLock<String> = OnceLock::new();

/// Starts logging if `--log` was given. Every command accepts this flag. Without the flag, `crawl` and `demo` use the
/// filter in `log.level`, and other commands do not log.
pub(crate) fn set_flag(filter: Option<String>) -> Result<(), CommandError> {
    let Some(filter) = filter else { return Ok(()) };
    start("--log", FLAG.get_or_init(|| filter))
}

/// The value of `--log`, if it was given.
pub(crate) fn flag() -> Option<&'static str> {
    FLAG.get().map(String::as_str)
}

/// Starts logging with `filter`, unless logging has already been started. `name` is the flag or key that set the
/// filter, for the error message.
pub(crate) fn start(name: &str, filter: &str) -> Result<(), CommandError> {
    let targets = parse(filter).ok_or_else(|| {
        CommandError::usage(format!("{name}: `{filter}` is not a log filter")).hint(
            "write a level (error, warn, info, debug, trace), or levels by crate: aranha_fetch=debug,info",
        )
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Stderr);
    let _ = tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .try_init();
    Ok(())
}

/// Parses a filter. A bare word that is not a level is an error here, because it is probably a misspelt level.
/// `Targets` would use such a word as the name of a crate.
fn parse(filter: &str) -> Option<Targets> {
    let valid = |part: &str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    filter.split(',').all(valid).then(|| filter.parse().ok())?
}

/// Writes each log line to stderr as a whole.
struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for Stderr {
    /// `line` is one complete event with its line feed.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let escaped = Escaped(text.trim_end_matches('\n')).to_string();
        with_bar_hidden(|| writeln!(io::stderr().lock(), "{escaped}"))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
