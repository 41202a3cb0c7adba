//! The limit on the growth of the archive (`--size`, `crawl.size`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the bytes that a crawl has written to volumes, if `crawl.size` limits them.
#[derive(Debug)]
pub(crate) struct SizeLimit {
    limit: Option<u64>,
    written: AtomicU64,
}

impl SizeLimit {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            written: AtomicU64::new(0),
        }
    }

    /// Whether the size is limited. Without a limit no bytes need to be counted.
    pub(crate) fn is_set(&self) -> bool {
        self.limit.is_some()
    }

    /// Counts the bytes of a record. Returns true if the limit is reached.
    pub(crate) fn count(&self, bytes: u64) -> bool {
        let written = self.written.fetch_add(bytes, Relaxed) + bytes;
        self.limit.is_some_and(|limit| written >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_that_reaches_the_limit_is_reported() {
        let size = SizeLimit::new(Some(100));
        assert!(!size.count(99) && size.count(1) && size.count(0));
        assert!(!SizeLimit::new(None).count(u64::MAX / 2));
    }
}
