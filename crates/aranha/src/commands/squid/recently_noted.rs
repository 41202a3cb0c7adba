//! Pages told of lately, so that nobody is told of them twice (C 3: not within 24 hours).
//!
//! Two generations: when the younger is full it becomes the older, and what was the older is forgotten. A page that is
//! forgotten too early is told of once more, which the crawl knows to leave alone.

use std::collections::HashMap;
use std::time::Duration;

use aranha_url::PageKey;

/// Pages in a generation.
const GENERATION: usize = 1 << 16;

/// A bounded memory of pages.
#[derive(Default)]
pub(super) struct RecentlyNoted {
    young: HashMap<PageKey, i64>,
    old: HashMap<PageKey, i64>,
}

impl RecentlyNoted {
    /// Whether a page is new at this time (unix milliseconds), or was told of longer than `again` ago; it is then
    /// remembered.
    pub(super) fn is_news(&mut self, page: PageKey, at: i64, again: Duration) -> bool {
        let last = self.young.get(&page).or_else(|| self.old.get(&page));
        if last.is_some_and(|last| u128::from(at.abs_diff(*last)) < again.as_millis()) {
            return false;
        }
        if self.young.len() >= GENERATION {
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
    fn not_twice_within_the_time() {
        let mut recent = RecentlyNoted::default();
        let again = Duration::from_millis(100);
        assert!(recent.is_news(page(1), 1000, again));
        assert!(!recent.is_news(page(1), 1099, again));
        assert!(recent.is_news(page(2), 1099, again));
        assert!(recent.is_news(page(1), 1100, again));
        assert!(
            !recent.is_news(page(1), 1101, again),
            "counted from the last"
        );
        assert!(recent.is_news(page(1), 1101, Duration::ZERO), "0s: always");
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut recent = RecentlyNoted::default();
        let again = Duration::from_hours(24);
        for number in 0..5 * GENERATION as u64 {
            assert!(recent.is_news(page(number), 0, again));
        }
        assert!(recent.young.len() + recent.old.len() <= 2 * GENERATION);
        assert!(!recent.is_news(page(5 * GENERATION as u64 - 1), 0, again));
    }
}
