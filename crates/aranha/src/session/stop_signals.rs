//! Stops a crawl cleanly on Ctrl-C, SIGTERM and SIGHUP.

use std::time::{Duration, Instant};

use aranha_engine::{Reason, Stop};
use tokio::signal::unix::{SignalKind, signal};

use crate::display::OutputMode;
use crate::error::{CommandError, ExitStatus};

/// Further Unix signals within this time after the first are ignored, because one cause can send two signals. For
/// example, `timeout` signals its child and then its process group, and a terminal that closes sends SIGHUP after
/// SIGTERM.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Stops the crawl on the first SIGINT (Ctrl-C), SIGTERM or SIGHUP: visits check in, and the volume is closed. A
/// further signal more than a second later ends the process at once. Then only the fetches since the last check-in are
/// lost.
pub(super) fn listen(stop: Stop, mode: OutputMode) -> Result<(), CommandError> {
    let failed = |error| CommandError::failed(format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    tokio::spawn(async move {
        let mut first: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            match first {
                Some(first) if first.elapsed() < SAME_SIGNAL => continue,
                Some(_) => std::process::exit(ExitStatus::Interrupted as i32),
                None => first = Some(Instant::now()),
            }
            mode.message("\nstopping: visits are checking in (press Ctrl-C again to end at once)");
            stop.ask(Reason::Interrupted);
        }
    });
    Ok(())
}
