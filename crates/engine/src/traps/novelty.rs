//! Trap detection (D5, D7, D8; Chakrabarti 2.3.6, Viuva Negra 4.1). Judges a site by the new text on its pages and by
//! their links back to known pages.
//!
//! An endless site shows one of two signs:
//!
//! * **No new text** ([`Trap::NoNewText`]): the pages bring new links, but their texts were seen before, or differ only
//!   in numbers and a few words. Examples are calendars, filters that combine in any order, session identifiers, paths
//!   that grow, and mazes with a fixed set of words.
//! * **No links back** ([`Trap::NoLinksBack`]): hardly any page has a link to a known page. Real sites have menus and
//!   links to the home page. A maze that invents its links has neither.
//!
//! A page brings new text if it confirms words. A word is confirmed when a second page of the site has it
//! ([`vocabulary`](super::vocabulary)). Invented words are never confirmed. So endless error pages with random words
//! are barren: they bring no new text.
//!
//! A stretch is a series of barren pages. A long stretch alone does not prove a trap, because manuals contain thousands
//! of similar pages, and a site may exist in two editions. The new links on the pages of a stretch are its growth. If
//! the growth is at least half the number of pages, the stretch does not end, and the site is a trap. One page adds at
//! most a few links to the growth. The reason is that an index page of an honest site lists hundreds of pages that
//! bring no new links themselves. If an earlier page had exactly the same words, a page may add more links, because the
//! months of a calendar have the same words. Each page with new text shortens the stretch. The more pages with new text
//! a site has brought, the longer a stretch may be. Much earlier, a site whose allowance is used up is doubted: its
//! visits are postponed ([`allowance`]). The visits of a site with nearly empty pages are also postponed. Such pages do
//! not prove a trap, because they may end. The constants were determined with real sites
//! (`docs/decisions/0008-novelty.md`).
//!
//! Read [`Novelty::add_page`] first. Only [`Record`] is stored between visits. Everything else has a fixed maximum
//! size, and each visit collects it anew.

use std::fmt;

use aranha_frontier::{NoveltyCounters as Record, Seen};
use aranha_page::{Link, LinkKind, Page};

use crate::traps::allowance::{self, Credit, max_stretch};
use crate::traps::dedup::SeenHashes;
use crate::traps::vocabulary::Vocabulary;
use crate::traps::words::{HASH_MULTIPLIER, each_word};

/// Number of pages by which one page with new text shortens the stretch.
const RELIEF_PAGES: u32 = 10;
/// Maximum number of new links that one page adds to the growth of the stretch.
const MAX_GROWTH: u32 = 4;
/// The maximum of new links for a page with exactly the words of an earlier page, such as a month of a calendar.
const MAX_GROWTH_SAME_WORDS: u32 = 32;
/// Number of pages at the start of a visit that do not shorten the stretch, because most words are still new to the
/// visit.
const WARM_UP_PAGES: u32 = 2;
/// Maximum number of hashes of texts in memory. When it is reached, all are dropped.
const MAX_TEXTS: usize = 64 << 10;
/// Number of latest pages whose sketches are kept in memory. A page is a near duplicate if its sketch is similar to one
/// of these.
const MAX_SKETCHES: usize = 32;
/// The check for links back begins after this number of pages with links. Honest sites may begin with 24 lists of links
/// without a menu, but rarely with 100.
pub(crate) const MIN_LINKED_PAGES: u32 = 100;
/// The same, for the hosts of a wildcard domain, which are trusted less.
pub(crate) const MIN_LINKED_PAGES_OF_HOSTS: u32 = 24;
/// If hardly any page leads back, a site is doubted when its pages with links reach the allowance, multiplied by this
/// number and divided by 2.
const LINKED_PAGES: u32 = 3;
/// If no page leads back, a site is doubted when its pages with links reach the allowance, multiplied by this number.
/// New text does not increase the allowance in this case.
const LINKED_PAGES_WITHOUT_BACK_LINK: u32 = 2;
/// A page with a shorter text, in bytes, is nearly empty.
const MIN_TEXT: usize = 64;
/// Pages with fewer links are ignored by the check for links back.
const MIN_LINKS: u32 = 3;
/// A site is a trap if less than 1/8 of its pages have a link to a known page. The constant is the divisor.
const BACK_LINK_SHARE: u32 = 8;
/// A site is doubted if less than 1/16 of its pages have a link to a known page. The constant is the divisor.
const DOUBTED_BACK_LINK_SHARE: u32 = 16;
/// Maximum number of words that are read from one page.
const MAX_PAGE_WORDS: usize = 4096;
/// A site with this number of pages with new text is trusted, as long as the length or the growth of its stretch is far
/// from the limit. On a trusted site, the words of only one page in [`SAMPLE_EVERY`] are read, chosen at random. Pages
/// whose words are not read are classified like the next page whose words are read.
const TRUSTED_PAGES: u32 = 256;
/// The length or the growth of a stretch is far from the limit while it is below the limit divided by this number.
const FAR_DIVISOR: u32 = 4;
/// On a trusted site, the words of only one page in `SAMPLE_EVERY` are read.
const SAMPLE_EVERY: u64 = 4;

/// Hashes of the text of a page, for trap detection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Hash of the text.
    pub(crate) text: u64,
    /// Sketch of the text for the near-duplicate test; 0 if the text is too short.
    pub(crate) sketch: u64,
    /// Hashes of the different words of the text, unordered; `None` if the words were not read.
    words: Option<Vec<u32>>,
    /// Whether the page has hardly any text.
    is_empty: bool,
}

impl Reading {
    /// Makes the reading of a page whose words are not read.
    pub(crate) fn without_words(digest: u64, sketch: u64) -> Self {
        Self {
            text: digest,
            sketch,
            words: None,
            is_empty: false,
        }
    }

    /// Reads the words of a text.
    pub(crate) fn of(text: &str, digest: u64, sketch: u64) -> Self {
        let expected = MAX_PAGE_WORDS.min(text.len() / 16);
        let mut seen = SeenHashes::new(expected);
        let mut words = Vec::with_capacity(expected);
        let mut count = 0;
        each_word(text.as_bytes(), |hash| {
            if seen.insert(hash) {
                words.push(hash);
            }
            count += 1;
            count < MAX_PAGE_WORDS
        });
        Self {
            words: Some(words),
            is_empty: text.len() < MIN_TEXT,
            ..Self::without_words(digest, sketch)
        }
    }

    /// Reads the words of a page. A page that refreshes to another page has hardly any text, but does not count as
    /// empty.
    pub(crate) fn of_page(page: &Page) -> Self {
        let mut reading = Self::of(&page.text, page.text_digest, page.sketch);
        let is_refresh = |link: &Link| link.kind == LinkKind::Refresh;
        reading.is_empty = reading.is_empty && !page.links.iter().any(is_refresh);
        reading
    }
}

/// A hash of the set of words that does not depend on their order; 0 for an empty set.
fn hash_of_set(words: &[u32]) -> u64 {
    let spread = |word: &u32| {
        let word = (u64::from(*word) + 1).wrapping_mul(HASH_MULTIPLIER);
        (word ^ word >> 32).wrapping_mul(HASH_MULTIPLIER)
    };
    words.iter().map(spread).fold(0, u64::wrapping_add)
}

/// Why a site is a trap or is doubted. `Display` completes a sentence about the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// The pages have new links, but no new text.
    NoNewText,
    /// The links hardly ever lead to a known page.
    NoLinksBack,
    /// The pages have hardly any text. This is only a reason for doubt.
    NearlyEmpty,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNewText => f.write_str("its pages have new links but no new text"),
            Self::NoLinksBack => f.write_str("its pages hardly ever link to a known page"),
            Self::NearlyEmpty => f.write_str("its pages have hardly any text"),
        }
    }
}

/// The texts and links of one site that a visit remembers for trap detection.
#[derive(Debug, Default)]
pub(crate) struct Novelty {
    record: Record,
    /// The counters before the last page.
    before: Record,
    /// Pages of this visit whose words were read.
    pages: u32,
    /// Number of pages since the last page whose words were read.
    unread: u32,
    /// Growth that the unread pages add to the stretch if the next page whose words are read is barren.
    unread_growth: u32,
    /// Length of the stretch without the pages of earlier visits. `empty`: how many of these pages are nearly empty.
    stretch: u32,
    empty: u32,
    texts: Seen,
    vocabulary: Vocabulary,
    sketches: Vec<u64>,
}

impl Novelty {
    /// Starts with the counters of earlier visits.
    pub(crate) fn resume(record: Record) -> Self {
        Self {
            record,
            before: record,
            ..Self::default()
        }
    }

    /// The counters for the next visit.
    pub(crate) fn record(&self) -> Record {
        self.record
    }

    /// Whether the words of a page are to be read. `limit`: see [`Novelty::trap`]. `random`: a number for this page
    /// that the site cannot predict, so that a trap cannot avoid the samples.
    pub(crate) fn reads_words(&self, limit: u32, random: u64) -> bool {
        let Record {
            barren,
            growth,
            fruitful,
            ..
        } = self.record;
        let is_near = barren >= max_stretch(limit, fruitful) / FAR_DIVISOR
            && growth >= barren / 2 / FAR_DIVISOR;
        let is_trusted = fruitful >= TRUSTED_PAGES && self.pages > WARM_UP_PAGES && !is_near;
        !is_trusted || (random.wrapping_mul(HASH_MULTIPLIER) >> 32).is_multiple_of(SAMPLE_EVERY)
    }

    /// Remembers a hash of a text or of a set of words. Returns true if the visit has seen it before.
    pub(crate) fn is_repeated(&mut self, text: u64) -> bool {
        text != 0 && !remember(&mut self.texts, text, MAX_TEXTS)
    }

    /// Adds a page with links to `links` different pages of the site, of which `new` were unknown. `is_repeated`:
    /// whether the text of the page was seen before. A page whose words were not read is classified like the next page
    /// whose words are read.
    pub(crate) fn add_page(&mut self, reading: &Reading, is_repeated: bool, links: u32, new: u32) {
        self.before = self.record;
        if links >= MIN_LINKS {
            self.record.pages = self.record.pages.saturating_add(1);
            self.record.back = self.record.back.saturating_add(u32::from(new < links));
        }
        let Some(words) = &reading.words else {
            self.unread = self.unread.saturating_add(1);
            self.unread_growth = self.unread_growth.saturating_add(new.min(MAX_GROWTH));
            return;
        };
        let pages = std::mem::take(&mut self.unread).saturating_add(1);
        let unread_growth = std::mem::take(&mut self.unread_growth);
        self.pages = self.pages.saturating_add(1);
        let is_near_duplicate = self.is_near_duplicate(reading.sketch);
        let has_known_words = self.is_repeated(hash_of_set(words)) || is_repeated;
        let counts = self.vocabulary.add(words);
        // At the start of a visit, nearly all words are new to the visit, and few are confirmed.
        let is_warm = self.pages > WARM_UP_PAGES;
        let is_novel = if is_warm {
            counts.is_novel(is_near_duplicate)
        } else {
            counts.may_be_novel(is_near_duplicate)
        };
        let is_barren = is_repeated || !is_novel;
        if !is_barren {
            if is_warm {
                self.record.fruitful = self.record.fruitful.saturating_add(pages);
                self.shorten_stretch(pages);
            }
            return;
        }
        let max_growth = if has_known_words {
            MAX_GROWTH_SAME_WORDS
        } else {
            MAX_GROWTH
        };
        if reading.is_empty {
            self.empty = self.empty.saturating_add(pages);
        }
        self.extend_stretch(pages, new.min(max_growth).saturating_add(unread_growth));
    }

    /// Adds a page without text, such as a redirect or a list of links. `new` is the number of its links to unknown
    /// pages.
    pub(crate) fn add_page_without_text(&mut self, new: u32) {
        self.before = self.record;
        self.extend_stretch(1, new.min(MAX_GROWTH));
    }

    fn extend_stretch(&mut self, pages: u32, growth: u32) {
        self.record.barren = self.record.barren.saturating_add(pages);
        self.record.growth = self.record.growth.saturating_add(growth);
        self.stretch = self.stretch.saturating_add(pages);
    }

    /// Shortens the stretch after `pages` pages with new text. The growth and the empty pages shrink in proportion.
    pub(crate) fn shorten_stretch(&mut self, pages: u32) {
        let relief = pages.saturating_mul(RELIEF_PAGES);
        let Record { barren, growth, .. } = self.record;
        self.record.barren = barren.saturating_sub(relief);
        self.record.growth = in_proportion(growth, self.record.barren, barren);
        let left = self.stretch.saturating_sub(relief);
        self.empty = in_proportion(self.empty, left, self.stretch);
        self.stretch = left;
    }

    /// Whether the site is a trap. `limit`: maximum length of a stretch with new links on a site that never brought new
    /// text. `min_linked_pages`: the check for links back begins after this number of pages with links.
    pub(crate) fn trap(&self, limit: u32, min_linked_pages: u32) -> Option<Trap> {
        let Record {
            barren,
            fruitful,
            pages,
            ..
        } = self.record;
        if barren >= max_stretch(limit, fruitful) && self.grows() {
            Some(Trap::NoNewText)
        } else if pages >= min_linked_pages && self.never_leads_back(BACK_LINK_SHARE) {
            Some(Trap::NoLinksBack)
        } else {
            None
        }
    }

    /// Whether the site is doubted because the last page has used up an allowance. Returns the reason, and the wait
    /// until the next visit in milliseconds. `limit`: see [`Novelty::trap`]. `credit`: the facts that increase the
    /// allowance. `queued`: number of pages of the site that wait. A site of nearly empty pages is doubted only if more
    /// than `limit` pages wait, because a few such pages cost less than another visit.
    pub(crate) fn doubt(&self, limit: u32, credit: Credit, queued: usize) -> Option<(Trap, i64)> {
        let (before, now) = (self.before, self.record);
        let earned = Credit {
            fruitful: now.fruitful,
            ..credit
        };
        let allowance = allowance::allowance(limit, earned)?;
        if let Some(wait) = allowance::wait(before.barren, now.barren, allowance) {
            if self.grows() {
                return Some((Trap::NoNewText, wait));
            }
            let is_empty = self.empty > 0 && self.empty >= self.stretch / 2;
            if is_empty && queued > limit as usize {
                return Some((Trap::NearlyEmpty, wait));
            }
        }
        // If no page leads back, new words do not increase the allowance, because a maze can invent them.
        let linked_pages = if now.back == 0 {
            allowance::allowance(limit, credit)?.saturating_mul(LINKED_PAGES_WITHOUT_BACK_LINK)
        } else {
            allowance.saturating_mul(LINKED_PAGES) / 2
        };
        let wait = allowance::wait(before.pages, now.pages, linked_pages);
        wait.filter(|_| self.never_leads_back(DOUBTED_BACK_LINK_SHARE))
            .map(|wait| (Trap::NoLinksBack, wait))
    }

    /// Whether the growth of the stretch is at least half of its length.
    fn grows(&self) -> bool {
        self.record.growth >= self.record.barren / 2
    }

    /// Whether fewer than one page in `share` has a link to a known page.
    fn never_leads_back(&self, share: u32) -> bool {
        self.record.back.saturating_mul(share) < self.record.pages
    }

    fn is_near_duplicate(&mut self, sketch: u64) -> bool {
        if sketch == 0 {
            return false;
        }
        let is_near = self
            .sketches
            .iter()
            .any(|other| aranha_page::is_near_duplicate(*other, sketch));
        if self.sketches.len() < MAX_SKETCHES {
            self.sketches.push(sketch);
        } else {
            self.sketches[self.pages as usize % MAX_SKETCHES] = sketch;
        }
        is_near
    }
}

/// `part * left / whole`: reduces `part` in the same proportion in which `whole` was reduced to `left`.
fn in_proportion(part: u32, left: u32, whole: u32) -> u32 {
    (u64::from(part) * u64::from(left) / u64::from(whole.max(1))) as u32
}

/// Adds a hash to a set. If the set has `max` hashes, it is emptied first. Returns false if the hash was in the set.
fn remember(seen: &mut Seen, hash: u64, max: usize) -> bool {
    if seen.len() >= max {
        *seen = Seen::default();
    }
    seen.insert(hash)
}

#[cfg(test)]
mod tests;
