//! Replays the trap check on the pages of a site, in any order and without a crawl. Used by `examples/trap_replay.rs`.

use aranha_page::Page;

use crate::traps::allowance::Credit;
use crate::traps::novelty::{MIN_LINKED_PAGES, Novelty, Reading};

/// The input of the trap check for a page.
#[derive(Debug)]
pub struct ReplayPage {
    reading: Reading,
    /// The reading that is used if the words of the page are not read.
    without_words: Reading,
}

impl ReplayPage {
    /// Makes the reading of a page.
    pub fn of(page: &Page) -> Self {
        Self {
            reading: Reading::of_page(page),
            without_words: Reading::without_words(page.text_digest, page.sketch),
        }
    }
}

/// What the trap check decides after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayVerdict {
    /// The visit goes on.
    Continue,
    /// The allowance of the site is used up, and its next visit is postponed.
    Postponed,
    /// The site is blocked as a trap.
    Blocked,
}

/// The trap check of one site, in one visit. The site has no seed, and one other site links to it.
#[derive(Debug, Default)]
pub struct TrapReplay {
    novelty: Novelty,
    pages: u64,
}

impl TrapReplay {
    /// Adds a page with `links` links to pages of the site, of which `new` were unknown. `limit` is
    /// `thresholds.trap_pages`.
    pub fn add_page(
        &mut self,
        page: &ReplayPage,
        links: u32,
        new: u32,
        limit: u32,
    ) -> ReplayVerdict {
        let reads_words = self.novelty.reads_words(limit, self.pages);
        let reading = if reads_words {
            &page.reading
        } else {
            &page.without_words
        };
        let is_repeated = self.novelty.is_repeated(reading.text);
        self.pages += 1;
        if self.pages == 1 {
            // The trap check ignores the first page of a site.
            return ReplayVerdict::Continue;
        }
        self.novelty.add_page(reading, is_repeated, links, new);
        let credit = Credit {
            sources: 1,
            ..Credit::default()
        };
        if self.novelty.trap(limit, MIN_LINKED_PAGES).is_some() {
            ReplayVerdict::Blocked
        } else if self.novelty.doubt(limit, credit, usize::MAX).is_some() {
            ReplayVerdict::Postponed
        } else {
            ReplayVerdict::Continue
        }
    }
}
