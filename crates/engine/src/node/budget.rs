//! The page limit of the user's.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use tokio::sync::Notify;

/// The page limit: how many pages this process may still ask for, and how many have come.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Option<u64>,
    left: AtomicI64,
    answered: AtomicU64,
    freed: Notify,
}

impl Budget {
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            left: AtomicI64::new(limit.map_or(i64::MAX, |limit| limit.min(i64::MAX as u64) as i64)),
            answered: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }

    /// Takes one page; false when all are taken by fetches under way.
    pub(crate) fn take(&self) -> bool {
        let taken = self.limit.is_none() || self.left.fetch_sub(1, Relaxed) > 0;
        if !taken {
            self.left.fetch_add(1, Relaxed);
        }
        taken
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
    pub(super) fn answered(&self) -> bool {
        let count = self.answered.fetch_add(1, Relaxed) + 1;
        self.limit.is_some_and(|limit| count >= limit)
    }
}
