//! `--limit-rate`: bytes a second, all sites together.
//!
//! A bucket that may go into debt: a request starts when the debt of the earlier ones has been
//! paid off by time, so the average holds whatever the size of single answers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The bucket; without a limit it never holds anybody.
#[derive(Debug)]
pub(crate) struct RateLimit {
    limit: Option<u64>,
    /// When the bytes taken so far will have been paid for.
    paid: Mutex<Instant>,
}

impl RateLimit {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            paid: Mutex::new(Instant::now()),
        }
    }

    /// Waits until earlier bytes are paid for. May be cancelled.
    pub(crate) async fn wait(&self) {
        if self.limit.is_some() {
            let paid = *self.paid.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::time::sleep_until(paid).await;
        }
    }

    /// Bytes that came.
    pub(crate) fn take(&self, bytes: u64) {
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
    async fn the_average_holds() {
        let rate = RateLimit::new(Some(1000));
        let begin = Instant::now();
        for _ in 0..10 {
            rate.wait().await;
            rate.take(500);
        }
        rate.wait().await;
        assert_eq!(begin.elapsed(), Duration::from_secs(5));
    }
}
