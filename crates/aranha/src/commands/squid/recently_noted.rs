//! Pages that were recently passed to the crawl, so that each page is passed only once per interval (CoBWeb 3: 24
//! hours).
//!
//! To bound the memory, there are two generations of pages. When the young generation is full, it replaces the old
//! generation. If a page is dropped before its interval has ended, it may be passed once more, which does no harm.

use std::collections::HashMap;
use std::time::Duration;

use aranha_url::PageKey;

/// Maximum number of pages in a generation.
const GENERATION_SIZE: usize = 1 << 16;

/// Pages with the time (Unix milliseconds) at which they were passed.
#[derive(Default)]
pub(super) struct RecentlyNoted {
    young: HashMap<PageKey, i64>,
    old: HashMap<PageKey, i64>,
}

impl RecentlyNoted {
    /// Stores the page and returns true, unless the page was already stored less than `interval` before `at`.
    pub(super) fn insert(&mut self, page: PageKey, at: i64, interval: Duration) -> bool {
        let last = self.young.get(&page).or_else(|| self.old.get(&page));
        if last.is_some_and(|last| u128::from(at.abs_diff(*last)) < interval.as_millis()) {
            return false;
        }
        if self.young.len() >= GENERATION_SIZE {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(page, at);
        true
    }
}

#[cfg(test)]
mod tests {
    use aranha_url::{PathKey, SiteKey};

    use super::*;

    fn page(number: u64) -> PageKey {
        PageKey {
            site: SiteKey(1),
            path: PathKey(number),
        }
    }

    #[test]
    fn a_page_is_passed_once_per_interval() {
        let mut recent = RecentlyNoted::default();
        let interval = Duration::from_millis(100);
        assert!(recent.insert(page(1), 1000, interval));
        assert!(!recent.insert(page(1), 1099, interval));
        assert!(recent.insert(page(2), 1099, interval));
        assert!(recent.insert(page(1), 1100, interval));
        assert!(
            !recent.insert(page(1), 1101, interval),
            "the interval begins at the last insertion"
        );
        assert!(
            recent.insert(page(1), 1101, Duration::ZERO),
            "an interval of 0 passes every request"
        );
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut recent = RecentlyNoted::default();
        let interval = Duration::from_hours(24);
        for number in 0..5 * GENERATION_SIZE as u64 {
            assert!(recent.insert(page(number), 0, interval));
        }
        assert!(recent.young.len() + recent.old.len() <= 2 * GENERATION_SIZE);
        assert!(!recent.insert(page(5 * GENERATION_SIZE as u64 - 1), 0, interval));
    }
}
