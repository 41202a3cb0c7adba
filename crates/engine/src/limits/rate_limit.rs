//! The download rate limit (`--limit-rate`, `crawl.limit_rate`), over all sites.
//!
//! A token bucket whose balance may become negative. The bytes of a response are subtracted when the response has
//! ended, and the next request waits until the balance is zero again. So the average rate is kept for responses of any
//! size.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The token bucket. If no limit is configured, no request waits.
#[derive(Debug)]
pub(crate) struct RateLimit {
    limit: Option<u64>,
    /// Time at which the balance is zero, if no further bytes are received.
    paid: Mutex<Instant>,
}

impl RateLimit {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            paid: Mutex::new(Instant::now()),
        }
    }

    /// Waits until the balance is zero. Cancel safe.
    pub(crate) async fn wait(&self) {
        if self.limit.is_some() {
            let paid = *self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::time::sleep_until(paid).await;
        }
    }

    /// Subtracts received bytes from the balance.
    pub(crate) fn charge(&self, bytes: u64) {
        if let Some(limit) = self.limit {
            let cost = Duration::from_secs_f64(bytes as f64 / limit.max(1) as f64);
            let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            *paid = (*paid).max(Instant::now()) + cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_average_rate_is_kept() {
        let rate = RateLimit::new(Some(1000));
        let begin = Instant::now();
        for _ in 0..10 {
            rate.wait().await;
            rate.charge(500);
        }
        rate.wait().await;
        assert_eq!(begin.elapsed(), Duration::from_secs(5));
    }
}
