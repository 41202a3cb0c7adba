//! How much new content a site's pages still bring, and when it is a trap (D5, D7, D8; K 2.3.6, V 4.1).
//!
//! An endless site betrays itself in one of two ways. **Barren growth**: its pages bring new links but nothing new to
//! read: texts that were there before, texts that differ in their numbers or in a word here and there. Calendars,
//! filters that combine in any order, session identifiers, paths that grow, and mazes whose text is drawn from a fixed
//! stock of words are of this kind. **No way back**: hardly a page has a link to one that is known. Real
//! sites have menus and links home; a maze that invents its links has not, whatever its text.
//!
//! A stretch of barren pages alone is no sign: manuals hold thousands of pages alike, and a site may come in two
//! editions. It is one when the stretch finds at least half as many new pages as it has: then there is no end of it. No page
//! counts for more than a few of them, since in an honest site one index lists hundreds and the pages behind it bring none;
//! for more only when its words were all on one page before, as those of every month of a calendar. Every page that brings
//! something shortens the stretch, and a site that has brought much is granted longer ones. The figures
//! were set on real sites: see `docs/decisions/0008-novelty.md`.
//!
//! Read [`Novelty::note`] first. What is kept between visits is [`Record`]; the rest, bounded, is gathered anew.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use aranha_frontier::{NoveltyCounters as Record, Seen};

use crate::traps::dedup::Once;
use crate::traps::words::{ODD, each_word};

/// Barren pages that one page takes back that brings something.
const RELIEF: u32 = 10;
/// So many pages that brought something earn the site one barren page more.
const EARNED: u32 = 2;
/// New pages that one barren page counts for, at most.
const GROWTH: u32 = 4;
/// The same for a page that has just the words of an earlier one: the days of a month.
const GROWTH_ALIKE: u32 = 32;
/// Pages at the start of a visit that take nothing back: every word is new to a visit that has just begun.
const WARM_UP: u32 = 8;
/// Words remembered before the older half is forgotten.
const STOCK: usize = 16 << 10;
/// Texts remembered before they are forgotten.
const TEXTS: usize = 64 << 10;
/// Sketches of the last pages, for near duplicates.
const RECENT: usize = 32;
/// Pages with links after which links must have begun to lead back. A first level of so many lists without a menu is
/// rare; of two dozen it is not.
pub(crate) const ONWARD: u32 = 100;
/// The same for the hosts of a wildcard, which have not earned as much patience.
pub(crate) const ONWARD_HOSTS: u32 = 24;
/// Pages with fewer links say nothing about that.
const ONWARD_LINKS: u32 = 3;
/// One of so many must have a link to a page already known.
const ONWARD_SHARE: u32 = 8;
/// Words of one page that are looked at.
const WORDS: usize = 4096;
/// A site that has brought so many pages with something new is believed while it is far from a trap, either in the length of
/// its stretch of barren pages or in what that led to: of so many pages one, drawn by lot, is looked at, and stands for those
/// before it. Nearer to a trap every page is.
const BELIEVED: u32 = 256;
const FAR: u32 = 4;
const SAMPLE: u64 = 4;

/// What reading a page left for the judgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Hash of the text.
    pub(crate) text: u64,
    /// Sketch of the text, 0 when it is short.
    pub(crate) sketch: u64,
    /// Hashes of its words, each once, in no order; none when nobody looked at them.
    words: Option<Vec<u32>>,
}

impl Reading {
    /// Of a page whose words are not looked at.
    pub(crate) fn glance(digest: u64, sketch: u64) -> Self {
        Self {
            text: digest,
            sketch,
            words: None,
        }
    }

    /// Looks through a text once.
    pub(crate) fn of(text: &str, digest: u64, sketch: u64) -> Self {
        let mut once = Once::new(WORDS.min(text.len() / 16));
        let mut words = Vec::with_capacity(WORDS.min(text.len() / 16));
        let mut looked = 0;
        each_word(text.as_bytes(), |hash| {
            if once.is_first(hash) {
                words.push(hash);
            }
            looked += 1;
            looked < WORDS
        });
        Self {
            words: Some(words),
            ..Self::glance(digest, sketch)
        }
    }
}

/// One number for the words, whatever their order; 0 when there are none.
fn vocabulary(words: &[u32]) -> u64 {
    let spread = |word: &u32| {
        let word = (u64::from(*word) + 1).wrapping_mul(ODD);
        (word ^ word >> 32).wrapping_mul(ODD)
    };
    words.iter().map(spread).fold(0, u64::wrapping_add)
}

/// Words by their hashes. Half the bytes are enough: of sixteen thousand words one in a quarter of a million is taken for
/// another, and thousands of visits remember some hundreds each.
type Words = HashSet<u32, BuildHasherDefault<Spread>>;

/// A hash is its own, but for its upper half, which must not be empty.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(self.0 as u32 ^ u32::from(*byte));
        }
    }

    fn write_u32(&mut self, hash: u32) {
        self.0 = u64::from(hash).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Why a site is taken for a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// New links, nothing new to read.
    Barren,
    /// Links that never lead back.
    Onward,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barren => f.write_str("its pages bring new links but nothing new to read"),
            Self::Onward => {
                f.write_str("hardly one of its pages has a link to one that was seen before")
            }
        }
    }
}

/// The memory of one site's contents while it is visited.
#[derive(Debug, Default)]
pub(crate) struct Novelty {
    record: Record,
    /// Pages of this visit whose words were looked at.
    pages: u32,
    /// Pages since the last of them whose words were not, and what they led to.
    glanced: u32,
    glanced_growth: u32,
    texts: Seen,
    words: Words,
    older_words: Words,
    sketches: Vec<u64>,
}

impl Novelty {
    /// Goes on from what earlier visits found.
    pub(crate) fn resume(record: Record) -> Self {
        Self {
            record,
            ..Self::default()
        }
    }

    /// What the next visit must know.
    pub(crate) fn record(&self) -> Record {
        self.record
    }

    /// Whether the words of a page are to be looked at. `limit` as for [`Novelty::trap`]; `lot`: a number that is another one
    /// for every page, in an order that the site cannot know: a trap has its own rhythm.
    pub(crate) fn wants_words(&self, limit: u32, lot: u64) -> bool {
        let Record {
            barren,
            growth,
            fruitful,
            ..
        } = self.record;
        let is_near = barren >= self.patience(limit) / FAR && growth >= barren / 2 / FAR;
        let is_believed = fruitful >= BELIEVED && self.pages > WARM_UP && !is_near;
        !is_believed || (lot.wrapping_mul(ODD) >> 32).is_multiple_of(SAMPLE)
    }

    /// Who has brought much may be dull for longer.
    fn patience(&self, limit: u32) -> u32 {
        limit.saturating_add(self.record.fruitful / EARNED)
    }

    /// Whether the site had this text, or these words, already; remembers it.
    pub(crate) fn repeats(&mut self, text: u64) -> bool {
        text != 0 && !remember(&mut self.texts, text, TEXTS)
    }

    /// Takes in a page: `links` to pages of the site, each counted once, of which `new` were not known before.
    /// `repeats`: its text was there before. A page whose words nobody looked at shares the lot of the next one that is looked at.
    pub(crate) fn note(&mut self, reading: &Reading, repeats: bool, links: u32, new: u32) {
        if links >= ONWARD_LINKS {
            self.record.pages = self.record.pages.saturating_add(1);
            self.record.back = self.record.back.saturating_add(u32::from(new < links));
        }
        let Some(words) = &reading.words else {
            self.glanced = self.glanced.saturating_add(1);
            self.glanced_growth = self.glanced_growth.saturating_add(new.min(GROWTH));
            return;
        };
        let pages = std::mem::take(&mut self.glanced).saturating_add(1);
        let others_growth = std::mem::take(&mut self.glanced_growth);
        self.pages = self.pages.saturating_add(1);
        let near = self.is_near(reading.sketch);
        let alike = self.repeats(vocabulary(words)) || repeats;
        let fresh = self.learn(words);
        // One new word in a hundred may be chance: a name, a misprint; in a near duplicate one in twenty.
        let share = if near { 20 } else { 100 };
        let barren = repeats || fresh * share <= words.len();
        if !barren {
            if self.pages > WARM_UP {
                self.record.fruitful = self.record.fruitful.saturating_add(pages);
                self.relieve(pages);
            }
            return;
        }
        let growth = new.min(if alike { GROWTH_ALIKE } else { GROWTH });
        self.note_barren(pages, growth.saturating_add(others_growth));
    }

    /// Takes in an answer with nothing to read, a redirect or a list of links, that led to so many new pages.
    pub(crate) fn note_silent(&mut self, new: u32) {
        self.note_barren(1, new.min(GROWTH));
    }

    fn note_barren(&mut self, pages: u32, growth: u32) {
        self.record.barren = self.record.barren.saturating_add(pages);
        self.record.growth = self.record.growth.saturating_add(growth);
    }

    /// Something new on so many pages: part of the stretch is forgotten, and its share of the growth with it.
    pub(crate) fn relieve(&mut self, pages: u32) {
        let Record { barren, growth, .. } = self.record;
        let left = barren.saturating_sub(pages.saturating_mul(RELIEF));
        self.record.barren = left;
        self.record.growth =
            (u64::from(growth) * u64::from(left) / u64::from(barren.max(1))) as u32;
    }

    /// Whether it is enough. `limit`: the longest stretch of barren pages that may grow.
    /// `onward`: pages after which links must lead back.
    pub(crate) fn trap(&self, limit: u32, onward: u32) -> Option<Trap> {
        let Record {
            barren,
            growth,
            pages,
            back,
            ..
        } = self.record;
        if barren >= self.patience(limit) && growth >= barren / 2 {
            Some(Trap::Barren)
        } else if pages >= onward && back.saturating_mul(ONWARD_SHARE) < pages {
            Some(Trap::Onward)
        } else {
            None
        }
    }

    fn is_near(&mut self, sketch: u64) -> bool {
        if sketch == 0 {
            return false;
        }
        let near = self
            .sketches
            .iter()
            .any(|other| aranha_page::is_near_duplicate(*other, sketch));
        if self.sketches.len() < RECENT {
            self.sketches.push(sketch);
        } else {
            self.sketches[self.pages as usize % RECENT] = sketch;
        }
        near
    }

    /// How many of the words are new; from now on they are known.
    fn learn(&mut self, words: &[u32]) -> usize {
        let mut fresh = 0;
        for &word in words {
            if self.words.insert(word) && !self.older_words.contains(&word) {
                fresh += 1;
            }
        }
        if self.words.len() > STOCK {
            self.older_words = std::mem::take(&mut self.words);
        }
        fresh
    }
}

/// Remembers a hash, within bounds; false when it was known.
fn remember(seen: &mut Seen, hash: u64, most: usize) -> bool {
    if seen.len() >= most {
        *seen = Seen::default();
    }
    seen.insert(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_regard_to_case_and_numbers() {
        let words = |text: &str| Reading::of(text, 1, 1).words.unwrap_or_default();
        assert_eq!(words("Aranha, ARANHA; aranha!").len(), 1);
        assert_eq!(words("the web of 2026 a1b2c3d4 (and)").len(), 0);
        assert_eq!(
            words("coração\tcoracao crawling crawlings Crawling's").len(),
            4
        );
        let stock: Vec<String> = (0..5000).map(letters).collect();
        let stock = stock.join(" ");
        assert_eq!(words(&stock).len(), WORDS, "no two are taken for one");
    }

    fn letters(number: u32) -> String {
        let letter = |digit: u8| char::from(digit - b'0' + b'a');
        format!("{number:05}").bytes().map(letter).collect()
    }

    const LIMIT: u32 = 50;

    /// After how many pages of a site it is taken for a trap: text, links and new links of page n.
    fn pages_until_trap(page: impl Fn(u32) -> (String, u32, u32)) -> Option<(u32, Trap)> {
        let mut novelty = Novelty::default();
        (1..=3000).find_map(|number| {
            let (text, links, new) = page(number);
            let digest = text.bytes().fold(1, |hash: u64, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let repeats = novelty.repeats(digest);
            novelty.note(&Reading::of(&text, digest, 0), repeats, links, new);
            novelty.trap(LIMIT, ONWARD).map(|trap| (number, trap))
        })
    }

    /// A word for every number.
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
        assert_eq!(trap, Trap::Barren);
        assert!((LIMIT..2 * LIMIT).contains(&pages), "{pages}");
    }

    #[test]
    fn a_maze_of_invented_words_is_a_trap() {
        let maze = |n| ((0..50).map(|k| word(n * 50 + k) + " ").collect(), 10, 10);
        assert_eq!(pages_until_trap(maze), Some((ONWARD, Trap::Onward)));
    }

    #[test]
    fn a_maze_with_a_stock_of_words_and_a_link_home_is_a_trap() {
        let stock = |n: u32| {
            let text = (0..50).map(|k| word((n * 7919 + k * 104_729) % 400) + " ");
            (text.collect(), 10, 9)
        };
        let (pages, trap) = pages_until_trap(stock).unwrap();
        assert_eq!(trap, Trap::Barren);
        assert!(pages < 100, "{pages}");
    }

    #[test]
    fn people_who_write_are_no_trap() {
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
    fn a_manual_with_pages_alike_is_no_trap() {
        // A thousand pages that differ in their numbers, and a list of them all that was read before.
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
    fn a_few_indexes_do_not_make_a_stretch_grow() {
        // As in rust-doc: pages that hold little but a menu, and among thirty one that lists another part of the site.
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
        // Every sixth page leads to five that hold nothing and to the next list.
        let lists = |n| (format!("entry {n}"), 7, if n % 6 == 0 { 6 } else { 0 });
        let (_, trap) = pages_until_trap(lists).unwrap();
        assert_eq!(trap, Trap::Barren);
        // Every month leads to its days and to the month after it.
        let calendar = |n| match n % 29 {
            0 => (format!("month {n}, days: no events"), 30, 29),
            _ => (format!("day {n}: no events"), 3, 0),
        };
        let (pages, trap) = pages_until_trap(calendar).unwrap();
        assert_eq!(trap, Trap::Barren);
        assert!(pages < 150, "{pages}");
    }

    /// A site that is read as visits of so many pages do, or with a look at `every` page: pages looked at, and pages until it
    /// is taken for a trap.
    fn looked_at(
        visit: u32,
        every: bool,
        page: impl Fn(u32) -> Option<(String, u32, u32)>,
    ) -> (u32, Option<u32>) {
        let (mut novelty, mut looked) = (Novelty::default(), 0);
        let trap = (1..=4000).find(|&number| {
            if number % visit == 0 {
                novelty = Novelty::resume(novelty.record());
            }
            let digest = u64::from(number);
            let wants_words = every || novelty.wants_words(LIMIT, digest);
            // Redirects and pictures are asked for like others, and have no words.
            let Some((text, links, new)) = page(number) else {
                return false;
            };
            let reading = if wants_words {
                looked += 1;
                Reading::of(&text, digest, 0)
            } else {
                Reading::glance(digest, 0)
            };
            novelty.note(&reading, false, links, new);
            novelty.trap(LIMIT, ONWARD).is_some()
        });
        (looked, trap)
    }

    /// A page that brings something.
    fn honest(n: u32) -> (String, u32, u32) {
        ((0..50).map(|k| word(n * 50 + k) + " ").collect(), 20, 12)
    }

    #[test]
    fn of_a_site_that_brings_much_few_pages_are_looked_at() {
        let (looked, trap) = looked_at(u32::MAX, false, |n| Some(honest(n)));
        assert_eq!(trap, None);
        assert!((1000..1400).contains(&looked), "{looked} of 4000");
        // Half of its pages bring nothing, but lead nowhere either; and after some time nearly all of them, as in a manual.
        for manual in [4000, 1500] {
            let site = |n: u32| match n % if n < manual { 2 } else { 200 } {
                0 => Some(honest(n)),
                _ => Some(("menu and nothing else".to_owned(), 20, 0)),
            };
            let (looked, trap) = looked_at(u32::MAX, false, site);
            assert_eq!(trap, None);
            assert!((1000..1700).contains(&looked), "{looked} of 4000");
        }
    }

    /// Traps of every rhythm, behind honest pages, in visits of many pages and of few, some with every other page a redirect.
    #[test]
    fn a_trap_behind_an_honest_site_is_found_as_soon() {
        let mut traps = 0;
        for begin in [301, 702] {
            let periods = [1, 2, 3, 4, 6, 8, 10];
            let visits = |period| [(period, 5), (period, u32::MAX)];
            for (period, visit) in periods.into_iter().flat_map(visits) {
                for odd_only in [false, true] {
                    // One page leads on to the others, which hold nothing.
                    let page = |n: u32| match n {
                        _ if n < begin => Some(honest(n)),
                        _ if odd_only && n.is_multiple_of(2) => None,
                        _ if n % period == 1 % period => {
                            Some((format!("entry {n}"), period + 2, period))
                        }
                        _ => Some((format!("entry {n}"), 7, 0)),
                    };
                    let (_, Some(every)) = looked_at(visit, true, page) else {
                        continue;
                    };
                    traps += 1;
                    let (looked, found) = looked_at(visit, false, page);
                    let found = found.unwrap_or(u32::MAX);
                    assert!(looked <= found);
                    let late = found.saturating_sub(every);
                    let trap = format!("{begin} {period} {visit} {odd_only}");
                    assert!(late <= 100, "{trap}: at {found} instead of {every}");
                }
            }
        }
        assert!(traps > 30, "{traps}");
    }

    #[test]
    fn evidence_outlives_the_visit() {
        let mut record = Record::default();
        let mut pages = 0;
        let trap = loop {
            let mut visit = Novelty::resume(record);
            for _ in 0..10 {
                pages += 1;
                let reading = Reading::of("no events in this month", 7, 0);
                let repeats = visit.repeats(7);
                visit.note(&reading, repeats, 2, 1);
            }
            record = visit.record();
            if let Some(trap) = visit.trap(LIMIT, ONWARD) {
                break trap;
            }
        };
        assert_eq!(trap, Trap::Barren);
        assert!(pages <= 100, "{pages}");
    }
}
