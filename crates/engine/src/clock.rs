//! Unix milliseconds that advance with tokio's clock.
//!
//! All times in the engine come from this clock. In a simulation tokio's clock is paused, and this clock advances
//! together with the timers. A change of the system time during a crawl affects neither courtesy nor leases.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::fault_injection::clock_shift_ms;

/// Calendar time based on tokio's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    started_ms: i64,
}

impl Clock {
    /// Starts at the current system time.
    pub fn new() -> Self {
        Self::at(system_ms())
    }

    /// Starts at the given unix millisecond.
    pub fn at(started_ms: i64) -> Self {
        Self {
            started: Instant::now(),
            started_ms,
        }
    }

    /// When this clock was created.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The current time in unix milliseconds.
    pub fn now(&self) -> i64 {
        self.started_ms + self.started.elapsed().as_millis() as i64
    }

    /// System time minus the time of this clock, in milliseconds. The difference changes when the system clock is set.
    pub(crate) fn system_offset_ms(&self) -> i64 {
        system_ms() - self.now()
    }

    /// The tokio instant at unix millisecond `ms`, or the current instant if that time has passed.
    pub fn instant(&self, ms: i64) -> Instant {
        let ahead = ms.saturating_sub(self.started_ms).max(0) as u64;
        (self.started + Duration::from_millis(ahead)).max(Instant::now())
    }
}

/// The system time in unix milliseconds.
fn system_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_millis() as i64 + clock_shift_ms()
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calendar_time_advances_with_the_timers() {
        let clock = Clock::at(1_000);
        tokio::time::advance(Duration::from_hours(24)).await;
        assert_eq!(clock.now(), 86_401_000);
        assert_eq!(
            clock.instant(86_402_000),
            Instant::now() + Duration::from_secs(1)
        );
        assert_eq!(clock.instant(5), Instant::now());
    }
}
