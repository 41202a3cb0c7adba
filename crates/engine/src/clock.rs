//! Time as a parameter: unix milliseconds that advance with tokio's clock.
//!
//! Everything in the engine that asks for the time asks here, so that under tokio's paused
//! clock a month passes in minutes and the calendar moves with the timers. A step of the
//! machine's wall clock during a crawl does not disturb courtesy or leases.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A calendar tied to tokio's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    started_ms: i64,
}

impl Clock {
    /// The machine's calendar, read once.
    pub fn new() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self::at(since.as_millis() as i64)
    }

    /// A calendar that begins at the given unix millisecond.
    pub fn at(started_ms: i64) -> Self {
        Self {
            started: Instant::now(),
            started_ms,
        }
    }

    /// When this process began.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Unix milliseconds now.
    pub fn now(&self) -> i64 {
        self.started_ms + self.started.elapsed().as_millis() as i64
    }

    /// The timer instant at which the calendar will show `ms`; now when that has passed.
    pub fn instant(&self, ms: i64) -> Instant {
        let ahead = ms.saturating_sub(self.started_ms).max(0) as u64;
        (self.started + Duration::from_millis(ahead)).max(Instant::now())
    }
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
    async fn the_calendar_follows_the_timers() {
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
