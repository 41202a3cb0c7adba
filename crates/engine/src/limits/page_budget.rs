//! The page limit of the user's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::Notify;

/// The page limit: how many pages this process may still ask for, and how many have come.
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

    /// Takes one page; false when all are taken by fetches under way.
    pub(crate) fn take(&self) -> bool {
        let one = |left: u64| left.checked_sub(1);
        self.limit.is_none() || self.left.fetch_update(Relaxed, Relaxed, one).is_ok()
    }

    /// A fetch that brought no page does not count.
    pub(crate) fn give_back(&self) {
        if self.limit.is_some() {
            self.left.fetch_add(1, Relaxed);
            self.freed.notify_one();
        }
    }

    /// Waits until a page may have been given back.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// One page has come; true when it was the last.
    pub(crate) fn answered(&self) -> bool {
        let count = self.answered.fetch_add(1, Relaxed) + 1;
        self.limit.is_some_and(|limit| count >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_and_no_more() {
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
