//! Stops a crawl cleanly on Ctrl-C, SIGTERM and SIGHUP.

use aranha_engine::{Reason, Stop};
use tokio::signal::unix::{SignalKind, signal};

use crate::display::OutputMode;
use crate::error::{CommandError, ExitStatus};

/// Stops the crawl on the first SIGINT (Ctrl-C), SIGTERM or SIGHUP: visits check in, and the volume is closed. A second
/// one ends the process at once, which loses only the fetches since the last check-in.
pub(super) fn listen(stop: Stop, mode: OutputMode) -> Result<(), CommandError> {
    let failed = |error| CommandError::failed(format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    tokio::spawn(async move {
        let mut stopping = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if stopping {
                std::process::exit(ExitStatus::Interrupted as i32);
            }
            stopping = true;
            mode.message("\nstopping: visits are checking in (press Ctrl-C again to end at once)");
            stop.ask(Reason::Interrupted);
        }
    });
    Ok(())
}
