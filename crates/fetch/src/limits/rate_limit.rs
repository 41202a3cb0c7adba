//! The download rate limit (`--limit-rate`, `crawl.limit_rate`), over all connections.
//!
//! Before every read, a connection reserves a small number of bytes. In this file that number is called a quantum; it
//! is not the quantum of a visit. The quanta of all connections follow each other at the rate of the limit, so the rate
//! is kept in every second, even within one response.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// Number of quanta per second. A larger number makes the rate smoother, but costs more CPU time.
const QUANTA_PER_SECOND: u64 = 50;

/// Maximum size of a quantum.
const MAX_QUANTUM: u64 = 64 << 10;

/// The limit, and the reservations of all connections.
#[derive(Debug)]
pub(crate) struct RateLimit {
    bytes_per_second: u64,
    /// When the next quantum may be read.
    next: Mutex<Instant>,
}

impl RateLimit {
    pub(crate) fn new(bytes_per_second: u64) -> RateLimit {
        RateLimit {
            bytes_per_second: bytes_per_second.max(1),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Maximum number of bytes of one read.
    pub(crate) fn quantum(&self) -> usize {
        (self.bytes_per_second / QUANTA_PER_SECOND).clamp(1, MAX_QUANTUM) as usize
    }

    /// Waits until a quantum may be read. Returns the duration of the wait. Cancel-safe.
    pub(crate) async fn reserve(&self) -> Duration {
        let now = Instant::now();
        let start = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let start = (*next).max(now);
            *next = start + self.time_of(self.quantum());
            start
        };
        sleep_until(start).await;
        start - now
    }

    /// Gives back `bytes` bytes of a quantum that were not read, so that the next read may start earlier.
    pub(crate) fn give_back(&self, bytes: usize) {
        let time = self.time_of(bytes);
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = next.checked_sub(time) {
            *next = earlier;
        }
    }

    fn time_of(&self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Six connections share the limit. Each of them always has bytes to read.
    #[tokio::test(start_paused = true)]
    async fn the_rate_is_kept_in_every_second() {
        let rate = Arc::new(RateLimit::new(1_000_000));
        let reads = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        let connections = (0..6).map(|_| {
            let (rate, reads) = (rate.clone(), reads.clone());
            tokio::spawn(async move {
                while begun.elapsed() < Duration::from_secs(10) {
                    rate.reserve().await;
                    let bytes = rate.quantum() * 3 / 4;
                    rate.give_back(rate.quantum() - bytes);
                    let mut reads = reads.lock().expect("no panic elsewhere");
                    reads.push((begun.elapsed(), bytes));
                }
            })
        });
        for connection in connections.collect::<Vec<_>>() {
            connection.await.expect("no panic");
        }
        let reads = reads.lock().expect("no panic elsewhere");
        for (start, _) in reads.iter() {
            let second = *start..*start + Duration::from_secs(1);
            let inside = reads.iter().filter(|(time, _)| second.contains(time));
            let bytes: usize = inside.map(|(_, bytes)| bytes).sum();
            assert!(bytes <= 1_200_000, "{bytes} bytes from {start:?}");
        }
        let total: usize = reads.iter().map(|(_, bytes)| bytes).sum();
        assert!((9_000_000..=10_500_000).contains(&total), "{total} bytes");
    }
}
