//! Trap detection by the new text and the links back on the pages of a site (D5, D7, D8; Chakrabarti 2.3.6, Viuva Negra
//! 4.1).
//!
//! An endless site shows one of two signs:
//!
//! * **No new text** ([`Trap::NoNewText`]): its pages bring new links, but their texts were seen before or differ only
//!   in numbers and a few words. Examples are calendars, filters that combine in any order, session identifiers, paths
//!   that grow, and mazes whose text is drawn from a fixed set of words.
//! * **No links back** ([`Trap::NoLinksBack`]): hardly any page has a link to a known page. Real sites have menus and
//!   links to the home page; a maze that invents its links has neither.
//!
//! A stretch is a series of barren pages. A long stretch alone does not prove a trap: manuals contain thousands of
//! similar pages, and a site may exist in two editions. The site is a trap if the pages of the stretch also bring new
//! links, at least half as many as there are pages, because then the stretch does not end. The number of these links is
//! the growth of the stretch. One page adds at most a few links to the growth, because in an honest site one index page
//! lists hundreds of pages that bring no new links themselves. A page adds more only if an earlier page had exactly the
//! same words, like every month of a calendar. Each page with new text shortens the stretch. The more pages with new
//! text a site has brought, the longer a stretch may be. The constants were set on real sites: see
//! `docs/decisions/0008-novelty.md`.
//!
//! Read [`Novelty::add_page`] first. Only [`Record`] is stored between visits. Everything else has a fixed maximum
//! size, and each visit collects it anew.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use aranha_frontier::{NoveltyCounters as Record, Seen};

use crate::traps::dedup::SeenHashes;
use crate::traps::words::{HASH_MULTIPLIER, each_word};

/// Number of pages by which one page with new text shortens the stretch.
const RELIEF_PAGES: u32 = 10;
/// Each time a site has brought this number of pages with new text, its stretch may be one page longer.
const PAGES_PER_ALLOWANCE: u32 = 2;
/// Maximum number of new links that one page adds to the growth of the stretch.
const MAX_GROWTH: u32 = 4;
/// The same maximum for a page that has exactly the words of an earlier page, such as a month of a calendar.
const MAX_GROWTH_SAME_WORDS: u32 = 32;
/// Number of pages at the start of a visit that do not shorten the stretch, because most words are still new to the
/// visit.
const WARM_UP_PAGES: u32 = 8;
/// Maximum size of each of the two sets of known words. When the newer set is full, it replaces the older one.
const MAX_WORDS: usize = 16 << 10;
/// Maximum number of hashes of texts in memory. When it is reached, all are dropped.
const MAX_TEXTS: usize = 64 << 10;
/// Number of latest pages whose sketches are kept in memory. A page is a near duplicate if its sketch is similar to one
/// of these.
const MAX_SKETCHES: usize = 32;
/// Number of pages with links after which the check for links back begins. Honest sites may begin with 24 lists of
/// links without a menu, but rarely with 100.
pub(crate) const MIN_LINKED_PAGES: u32 = 100;
/// The same number for the hosts of a wildcard domain, which are trusted less.
pub(crate) const MIN_LINKED_PAGES_OF_HOSTS: u32 = 24;
/// Pages with fewer links are ignored by the check for links back.
const MIN_LINKS: u32 = 3;
/// At least one page in `BACK_LINK_SHARE` must have a link to a known page.
const BACK_LINK_SHARE: u32 = 8;
/// Maximum number of words that are read from one page.
const MAX_PAGE_WORDS: usize = 4096;
/// Number of pages with new text after which a site is trusted, as long as the length or the growth of its stretch is
/// far from the limit. On a trusted site, the words of only one page in [`SAMPLE_EVERY`] are read, chosen at random.
/// The unread pages before a sampled page are classified like the sampled page.
const TRUSTED_PAGES: u32 = 256;
/// The length or the growth of a stretch is far from its limit if it is below the limit divided by this number.
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
}

impl Reading {
    /// Makes the reading of a page whose words are not read.
    pub(crate) fn without_words(digest: u64, sketch: u64) -> Self {
        Self {
            text: digest,
            sketch,
            words: None,
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
            ..Self::without_words(digest, sketch)
        }
    }
}

/// A hash of the set of words, independent of their order; 0 for an empty set.
fn hash_of_set(words: &[u32]) -> u64 {
    let spread = |word: &u32| {
        let word = (u64::from(*word) + 1).wrapping_mul(HASH_MULTIPLIER);
        (word ^ word >> 32).wrapping_mul(HASH_MULTIPLIER)
    };
    words.iter().map(spread).fold(0, u64::wrapping_add)
}

/// A set of words by their hashes. Hashes of 32 bits are enough: if 16,000 words are known, one in 250,000 new words
/// has the hash of a known word. Short hashes save memory, because thousands of visits keep such sets.
type WordSet = HashSet<u32, BuildHasherDefault<WordHasher>>;

/// Hasher for words that are hashes already. It only multiplies, to fill the upper bits, which hashbrown uses for its
/// tags.
#[derive(Debug, Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(self.0 as u32 ^ u32::from(*byte));
        }
    }

    fn write_u32(&mut self, hash: u32) {
        self.0 = u64::from(hash).wrapping_mul(HASH_MULTIPLIER);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Why a site is a trap. `Display` completes a sentence about the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// The pages have new links, but no new text.
    NoNewText,
    /// The links hardly ever lead to a known page.
    NoLinksBack,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNewText => f.write_str("its pages have new links but no new text"),
            Self::NoLinksBack => f.write_str("its pages hardly ever link to a known page"),
        }
    }
}

/// The texts and links of one site that a visit remembers for trap detection.
#[derive(Debug, Default)]
pub(crate) struct Novelty {
    record: Record,
    /// Pages of this visit whose words were read.
    pages: u32,
    /// Number of pages since the last page whose words were read.
    unread: u32,
    /// Growth that the unread pages add to the stretch if the next page whose words are read is barren.
    unread_growth: u32,
    texts: Seen,
    words: WordSet,
    older_words: WordSet,
    sketches: Vec<u64>,
}

impl Novelty {
    /// Starts with the counters of earlier visits.
    pub(crate) fn resume(record: Record) -> Self {
        Self {
            record,
            ..Self::default()
        }
    }

    /// The counters for the next visit.
    pub(crate) fn record(&self) -> Record {
        self.record
    }

    /// Whether the words of a page are to be read. `limit`: see [`Novelty::trap`]. `random`: a number per page that the
    /// site cannot predict, so that a trap cannot avoid the samples.
    pub(crate) fn reads_words(&self, limit: u32, random: u64) -> bool {
        let Record {
            barren,
            growth,
            fruitful,
            ..
        } = self.record;
        let is_near =
            barren >= self.max_stretch(limit) / FAR_DIVISOR && growth >= barren / 2 / FAR_DIVISOR;
        let is_trusted = fruitful >= TRUSTED_PAGES && self.pages > WARM_UP_PAGES && !is_near;
        !is_trusted || (random.wrapping_mul(HASH_MULTIPLIER) >> 32).is_multiple_of(SAMPLE_EVERY)
    }

    /// The longest stretch that the site is allowed.
    fn max_stretch(&self, limit: u32) -> u32 {
        limit.saturating_add(self.record.fruitful / PAGES_PER_ALLOWANCE)
    }

    /// Whether the visit has seen this hash of a text, or of a set of words, before. Remembers the hash.
    pub(crate) fn is_repeated(&mut self, text: u64) -> bool {
        text != 0 && !remember(&mut self.texts, text, MAX_TEXTS)
    }

    /// Adds a page with links to `links` different pages of the site, of which `new` were unknown. `is_repeated`: its
    /// text was seen before. A page whose words were not read is classified like the next page that is read.
    pub(crate) fn add_page(&mut self, reading: &Reading, is_repeated: bool, links: u32, new: u32) {
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
        let new_words = self.add_words(words);
        // A page is barren if its text was seen before, or if at most 1% of its words are new (5% in a near duplicate).
        // So few new words may be names or misprints.
        let share = if is_near_duplicate { 20 } else { 100 };
        let is_barren = is_repeated || new_words * share <= words.len();
        if !is_barren {
            if self.pages > WARM_UP_PAGES {
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
        self.extend_stretch(pages, new.min(max_growth).saturating_add(unread_growth));
    }

    /// Adds a page without text, such as a redirect or a list of links, with `new` links to unknown pages.
    pub(crate) fn add_page_without_text(&mut self, new: u32) {
        self.extend_stretch(1, new.min(MAX_GROWTH));
    }

    fn extend_stretch(&mut self, pages: u32, growth: u32) {
        self.record.barren = self.record.barren.saturating_add(pages);
        self.record.growth = self.record.growth.saturating_add(growth);
    }

    /// Shortens the stretch after `pages` pages with new text. The growth shrinks in proportion.
    pub(crate) fn shorten_stretch(&mut self, pages: u32) {
        let Record { barren, growth, .. } = self.record;
        let left = barren.saturating_sub(pages.saturating_mul(RELIEF_PAGES));
        self.record.barren = left;
        self.record.growth =
            (u64::from(growth) * u64::from(left) / u64::from(barren.max(1))) as u32;
    }

    /// Whether the site is a trap. `limit`: number of pages after which a stretch with new links is a trap, if the site
    /// never brought new text. `min_linked_pages`: number of pages with links after which the check for links back
    /// begins.
    pub(crate) fn trap(&self, limit: u32, min_linked_pages: u32) -> Option<Trap> {
        let Record {
            barren,
            growth,
            pages,
            back,
            ..
        } = self.record;
        if barren >= self.max_stretch(limit) && growth >= barren / 2 {
            Some(Trap::NoNewText)
        } else if pages >= min_linked_pages && back.saturating_mul(BACK_LINK_SHARE) < pages {
            Some(Trap::NoLinksBack)
        } else {
            None
        }
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

    /// Adds words to the known ones. Returns how many were new.
    fn add_words(&mut self, words: &[u32]) -> usize {
        let mut new = 0;
        for &word in words {
            if self.words.insert(word) && !self.older_words.contains(&word) {
                new += 1;
            }
        }
        if self.words.len() > MAX_WORDS {
            self.older_words = std::mem::take(&mut self.words);
        }
        new
    }
}

/// Adds a hash to a set, which is emptied first if it has `max` hashes. Returns false if the hash was in the set.
fn remember(seen: &mut Seen, hash: u64, max: usize) -> bool {
    if seen.len() >= max {
        *seen = Seen::default();
    }
    seen.insert(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_numbers_are_ignored() {
        let words = |text: &str| Reading::of(text, 1, 1).words.unwrap_or_default();
        assert_eq!(words("Aranha, ARANHA; aranha!").len(), 1);
        assert_eq!(words("the web of 2026 a1b2c3d4 (and)").len(), 0);
        assert_eq!(
            words("coração\tcoracao crawling crawlings Crawling's").len(),
            4
        );
        let stock: Vec<String> = (0..5000).map(letters).collect();
        let stock = stock.join(" ");
        assert_eq!(words(&stock).len(), MAX_PAGE_WORDS, "no collisions");
    }

    fn letters(number: u32) -> String {
        let letter = |digit: u8| char::from(digit - b'0' + b'a');
        format!("{number:05}").bytes().map(letter).collect()
    }

    const LIMIT: u32 = 50;

    /// Adds pages until the site is a trap. Returns their number and the kind of trap. `page` returns the text, the
    /// number of links and the number of new links of page n.
    fn pages_until_trap(page: impl Fn(u32) -> (String, u32, u32)) -> Option<(u32, Trap)> {
        let mut novelty = Novelty::default();
        (1..=3000).find_map(|number| {
            let (text, links, new) = page(number);
            let digest = text.bytes().fold(1, |hash: u64, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let repeats = novelty.is_repeated(digest);
            novelty.add_page(&Reading::of(&text, digest, 0), repeats, links, new);
            novelty
                .trap(LIMIT, MIN_LINKED_PAGES)
                .map(|trap| (number, trap))
        })
    }

    /// Makes a different word for every number.
    fn word(number: u32) -> String {
        number
            .to_string()
            .bytes()
            .map(|digit| {
                ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"]
                    [usize::from(digit - b'0')]
            })
            .collect::<String>()
            + "x"
    }

    #[test]
    fn a_calendar_is_a_trap() {
        let calendar = |n| (format!("Calendar of month {n}: no events"), 2, 1);
        let (pages, trap) = pages_until_trap(calendar).unwrap();
        assert_eq!(trap, Trap::NoNewText);
        assert!((LIMIT..2 * LIMIT).contains(&pages), "{pages}");
    }

    #[test]
    fn a_maze_of_invented_words_is_a_trap() {
        let maze = |n| ((0..50).map(|k| word(n * 50 + k) + " ").collect(), 10, 10);
        assert_eq!(
            pages_until_trap(maze),
            Some((MIN_LINKED_PAGES, Trap::NoLinksBack))
        );
    }

    #[test]
    fn a_maze_with_a_fixed_set_of_words_and_a_link_home_is_a_trap() {
        let stock = |n: u32| {
            let text = (0..50).map(|k| word((n * 7919 + k * 104_729) % 400) + " ");
            (text.collect(), 10, 9)
        };
        let (pages, trap) = pages_until_trap(stock).unwrap();
        assert_eq!(trap, Trap::NoNewText);
        assert!(pages < 100, "{pages}");
    }

    #[test]
    fn a_site_with_new_words_on_every_page_is_no_trap() {
        let site = |n| {
            let stock = (0..100).map(|k| word((n * 7919 + k * 104_729) % 400) + " ");
            (
                stock.collect::<String>() + &word(10_000 + n * 2) + " " + &word(10_001 + n * 2),
                20,
                12,
            )
        };
        assert_eq!(pages_until_trap(site), None);
    }

    #[test]
    fn a_manual_with_similar_pages_is_no_trap() {
        // A list of a thousand pages comes first, then these pages, which differ only in their numbers.
        let manual = |n| match n {
            1 => ((0..1000).map(|n| word(n) + " ").collect(), 1000, 1000),
            _ => (
                format!("instruction number {n}, see the list"),
                30,
                u32::from(n % 9 == 0),
            ),
        };
        assert_eq!(pages_until_trap(manual), None);
    }

    #[test]
    fn a_few_indexes_are_not_growth() {
        // Like rust-doc: pages contain little more than a menu, and every thirtieth page lists another part of the
        // site.
        let manual = |n| {
            let new = if n % 30 == 0 { 60 } else { 0 };
            (
                format!("menu: {} {}", word(n % 400), word(n % 401)),
                600,
                new,
            )
        };
        assert_eq!(pages_until_trap(manual), None);
    }

    #[test]
    fn lists_with_empty_pages_behind_them_are_a_trap() {
        // Every sixth page links to five empty pages and to the next list.
        let lists = |n| (format!("entry {n}"), 7, if n % 6 == 0 { 6 } else { 0 });
        let (_, trap) = pages_until_trap(lists).unwrap();
        assert_eq!(trap, Trap::NoNewText);
        // Every month links to its days and to the next month.
        let calendar = |n| match n % 29 {
            0 => (format!("month {n}, days: no events"), 30, 29),
            _ => (format!("day {n}: no events"), 3, 0),
        };
        let (pages, trap) = pages_until_trap(calendar).unwrap();
        assert_eq!(trap, Trap::NoNewText);
        assert!(pages < 150, "{pages}");
    }

    /// Crawls a site, with `visit` pages per visit. `every`: whether the words of every page are read, not only those
    /// of sampled pages. Returns the number of pages whose words were read, and the number of pages until the site is a
    /// trap.
    fn crawl(
        visit: u32,
        every: bool,
        page: impl Fn(u32) -> Option<(String, u32, u32)>,
    ) -> (u32, Option<u32>) {
        let (mut novelty, mut read) = (Novelty::default(), 0);
        let trap = (1..=4000).find(|&number| {
            if number % visit == 0 {
                novelty = Novelty::resume(novelty.record());
            }
            let digest = u64::from(number);
            let reads_words = every || novelty.reads_words(LIMIT, digest);
            // Redirects and images are requested like other pages, and have no words.
            let Some((text, links, new)) = page(number) else {
                return false;
            };
            let reading = if reads_words {
                read += 1;
                Reading::of(&text, digest, 0)
            } else {
                Reading::without_words(digest, 0)
            };
            novelty.add_page(&reading, false, links, new);
            novelty.trap(LIMIT, MIN_LINKED_PAGES).is_some()
        });
        (read, trap)
    }

    /// A page with new text.
    fn honest(n: u32) -> (String, u32, u32) {
        ((0..50).map(|k| word(n * 50 + k) + " ").collect(), 20, 12)
    }

    #[test]
    fn few_pages_of_a_trusted_site_are_read() {
        let (read, trap) = crawl(u32::MAX, false, |n| Some(honest(n)));
        assert_eq!(trap, None);
        assert!((1000..1400).contains(&read), "{read} of 4000");
        // Half of the pages, and nearly all from page `manual` on, have neither new text nor new links.
        for manual in [4000, 1500] {
            let site = |n: u32| match n % if n < manual { 2 } else { 200 } {
                0 => Some(honest(n)),
                _ => Some(("menu and nothing else".to_owned(), 20, 0)),
            };
            let (read, trap) = crawl(u32::MAX, false, site);
            assert_eq!(trap, None);
            assert!((1000..1700).contains(&read), "{read} of 4000");
        }
    }

    /// Sites that become traps after some honest pages. The traps have different periods; visits are long or short; in
    /// some traps every second page is a redirect.
    #[test]
    fn a_trap_after_honest_pages_is_found_with_little_delay() {
        let mut traps = 0;
        for begin in [301, 702] {
            let periods = [1, 2, 3, 4, 6, 8, 10];
            let visits = |period| [(period, 5), (period, u32::MAX)];
            for (period, visit) in periods.into_iter().flat_map(visits) {
                for odd_only in [false, true] {
                    // In each period one page links to the others, which are empty.
                    let page = |n: u32| match n {
                        _ if n < begin => Some(honest(n)),
                        _ if odd_only && n.is_multiple_of(2) => None,
                        _ if n % period == 1 % period => {
                            Some((format!("entry {n}"), period + 2, period))
                        }
                        _ => Some((format!("entry {n}"), 7, 0)),
                    };
                    let (_, Some(every)) = crawl(visit, true, page) else {
                        continue;
                    };
                    traps += 1;
                    let (read, found) = crawl(visit, false, page);
                    let found = found.unwrap_or(u32::MAX);
                    assert!(read <= found);
                    let late = found.saturating_sub(every);
                    let trap = format!("{begin} {period} {visit} {odd_only}");
                    assert!(late <= 100, "{trap}: at {found} instead of {every}");
                }
            }
        }
        assert!(traps > 30, "{traps}");
    }

    #[test]
    fn counters_are_kept_between_visits() {
        let mut record = Record::default();
        let mut pages = 0;
        let trap = loop {
            let mut visit = Novelty::resume(record);
            for _ in 0..10 {
                pages += 1;
                let reading = Reading::of("no events in this month", 7, 0);
                let repeats = visit.is_repeated(7);
                visit.add_page(&reading, repeats, 2, 1);
            }
            record = visit.record();
            if let Some(trap) = visit.trap(LIMIT, MIN_LINKED_PAGES) {
                break trap;
            }
        };
        assert_eq!(trap, Trap::NoNewText);
        assert!(pages <= 100, "{pages}");
    }
}
