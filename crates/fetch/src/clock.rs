//! Unix time derived from tokio's monotonic clock.
//!
//! A change of the machine's wall clock does not affect this time. If tokio's clock is paused, this time advances only
//! when tokio's clock jumps to the next timer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Unix time that advances with tokio's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalendarClock {
    start: Instant,
    start_ms: i64,
}

impl CalendarClock {
    /// A clock that starts at the current time. The wall clock is read only here.
    pub(crate) fn new() -> CalendarClock {
        CalendarClock::starting_at(unix_ms())
    }

    /// A clock that starts at `start_ms` (Unix milliseconds).
    pub(crate) fn starting_at(start_ms: i64) -> CalendarClock {
        CalendarClock {
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

/// The wall clock's time in Unix milliseconds.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    millis(since)
}

/// `start + duration`. Durations of more than a year count as one year, so that the sum cannot overflow.
pub(crate) fn deadline_after(start: Instant, duration: Duration) -> Instant {
    const MAX_DURATION: Duration = Duration::from_hours(24 * 365);
    start + duration.min(MAX_DURATION)
}
