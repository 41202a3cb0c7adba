//! The page limit (`crawl.pages`). Each fetch reserves a page first, so that active fetches cannot exceed the limit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::Notify;

/// Counts how many pages can still be reserved and how many were received.
#[derive(Debug)]
pub(crate) struct PageBudget {
    limit: Option<u64>,
    left: AtomicU64,
    answered: AtomicU64,
    freed: Notify,
}

impl PageBudget {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            left: AtomicU64::new(limit.unwrap_or(0)),
            answered: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }

    /// Reserves one page. Returns false if none is left, because every page up to the limit was received or is reserved
    /// by an active fetch.
    pub(crate) fn take(&self) -> bool {
        let one = |left: u64| left.checked_sub(1);
        self.limit.is_none() || self.left.fetch_update(Relaxed, Relaxed, one).is_ok()
    }

    /// Returns the reservation of a fetch that received no page.
    pub(crate) fn give_back(&self) {
        if self.limit.is_some() {
            self.left.fetch_add(1, Relaxed);
            self.freed.notify_one();
        }
    }

    /// Waits until a fetch returns its reservation. Does not wait if a reservation was returned while no visit waited.
    /// Another visit may reserve the page before the caller does.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Counts a received page. Returns true if the limit is reached.
    pub(crate) fn answered(&self) -> bool {
        let count = self.answered.fetch_add(1, Relaxed) + 1;
        self.limit.is_some_and(|limit| count >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_returned_reservations_can_be_taken_again() {
        let budget = PageBudget::new(Some(2));
        assert!(budget.take() && budget.take() && !budget.take());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..10_000 {
                        if budget.take() {
                            budget.give_back();
                        }
                    }
                });
            }
            budget.give_back();
        });
        assert!(budget.take() && !budget.take());
        assert!(PageBudget::new(None).take());
    }
}
