//! Unix milliseconds by tokio's clock: a step of the machine's wall clock changes nothing here, and under tokio's paused
//! clock the calendar moves with the timers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A calendar tied to tokio's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    start_ms: i64,
}

impl Clock {
    /// The machine's calendar, read once.
    pub(crate) fn new() -> Clock {
        Clock::at(unix_ms())
    }

    /// A calendar that shows this now.
    pub(crate) fn at(start_ms: i64) -> Clock {
        Clock {
            start: Instant::now(),
            start_ms,
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.start_ms.saturating_add(millis(self.start.elapsed()))
    }
}

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The wall clock, Unix milliseconds.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    millis(since)
}

/// A moment after another, however long the configuration says.
pub(crate) fn after(moment: Instant, duration: Duration) -> Instant {
    const FAR: Duration = Duration::from_hours(24 * 365);
    moment + duration.min(FAR)
}
