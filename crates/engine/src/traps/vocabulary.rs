//! The words of a site (D5, D7). Finds the words of a page that are new and the words that the page confirms.
//!
//! When a second page of the site has a word, the word is *confirmed*. Only confirmed words count in favour of a site,
//! and each word is confirmed only once. The words of a real text recur on other pages of the site, but invented words
//! do not. A site that repeats a fixed set of words has soon confirmed all of them.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::traps::words::HASH_MULTIPLIER;

/// Maximum size of each of the three sets of words. It fits into a hash table of 16,384 slots.
const MAX_WORDS: usize = 14 << 10;
/// A page is novel only if it confirms more than one in `NOVEL_SHARE` of its words. A near duplicate of another page
/// must confirm more than one in `NOVEL_SHARE_OF_NEAR_DUPLICATE`, because a few confirmed words may be only names or
/// misprints.
const NOVEL_SHARE: usize = 200;
const NOVEL_SHARE_OF_NEAR_DUPLICATE: usize = 20;
/// A page is not novel if it has more new words than this number times its confirmed words.
const NEW_PER_CONFIRMED: usize = 6;
/// A page with at least this number of words is foreign (its words may be invented) if more than three quarters of them
/// are new.
const MIN_FOREIGN_WORDS: usize = 8;

/// A set of the hashes of words. Hashes of 32 bits are enough: if 16,000 words are known, only one in 250,000 new words
/// has the hash of a known word. Short hashes save memory, because thousands of visits keep such sets.
type WordSet = HashSet<u32, BuildHasherDefault<WordHasher>>;

/// Hasher for words that are already hashes. The multiplication fills the upper bits, which hashbrown uses for its
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

/// The words of the pages that a visit has read. The number of words is limited.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// Words that only one page has.
    once: WordSet,
    /// Confirmed words. When the newer set is full, it replaces the older one.
    confirmed: WordSet,
    older: WordSet,
}

/// Numbers of different words of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordCounts {
    pub(crate) all: usize,
    /// Words that no earlier page has.
    pub(crate) new: usize,
    /// Words that one earlier page has.
    pub(crate) confirmed: usize,
}

impl Vocabulary {
    /// Adds the different words of a page.
    pub(crate) fn add(&mut self, words: &[u32]) -> WordCounts {
        let mut counts = WordCounts {
            all: words.len(),
            ..WordCounts::default()
        };
        for &word in words {
            if self.confirmed.contains(&word) || self.older.contains(&word) {
                continue;
            }
            if self.once.remove(&word) {
                self.confirmed.insert(word);
                counts.confirmed += 1;
            } else {
                self.once.insert(word);
                counts.new += 1;
            }
        }
        if self.confirmed.len() > MAX_WORDS {
            self.older = std::mem::take(&mut self.confirmed);
        }
        if self.once.len() > MAX_WORDS {
            self.once = WordSet::default();
        }
        counts
    }
}

impl WordCounts {
    /// Whether the page brings new text. `is_near_duplicate`: whether an earlier page has nearly the same text.
    pub(crate) fn is_novel(self, is_near_duplicate: bool) -> bool {
        let share = share_of(is_near_duplicate);
        self.confirmed * share > self.all
            && self.new <= self.confirmed * NEW_PER_CONFIRMED
            && !self.is_foreign()
    }

    /// Whether more than one in `NOVEL_SHARE` of the words is new or confirmed by this page. This weaker test is for
    /// the first pages of a visit. Nearly all words of these pages are new to the visit, so few can be confirmed.
    pub(crate) fn may_be_novel(self, is_near_duplicate: bool) -> bool {
        (self.new + self.confirmed) * share_of(is_near_duplicate) > self.all
    }

    /// Whether the page has hardly any words in common with earlier pages, so that its words may be invented. Pages of
    /// real sites share a menu and the frequent words of their language.
    fn is_foreign(self) -> bool {
        self.all >= MIN_FOREIGN_WORDS && 4 * self.new > 3 * self.all
    }
}

fn share_of(is_near_duplicate: bool) -> usize {
    if is_near_duplicate {
        NOVEL_SHARE_OF_NEAR_DUPLICATE
    } else {
        NOVEL_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_confirmed_by_the_second_page_that_has_it() {
        let mut vocabulary = Vocabulary::default();
        let mut check = |words: &[u32], new: usize, confirmed: usize| {
            let counts = vocabulary.add(words);
            let expected = WordCounts {
                all: words.len(),
                new,
                confirmed,
            };
            assert_eq!(counts, expected, "{words:?}");
        };
        check(&[1, 2, 3], 3, 0);
        check(&[2, 3, 4], 1, 2);
        check(&[2, 3, 4], 0, 1);
        check(&[1, 2, 3, 4], 0, 1);
        check(&[1, 2, 3, 4], 0, 0);
    }

    #[test]
    fn pages_are_novel_by_their_confirmed_words() {
        let check = |all, new, confirmed, near_duplicate, novel: bool| {
            let counts = WordCounts {
                all,
                new,
                confirmed,
            };
            assert_eq!(counts.is_novel(near_duplicate), novel, "{counts:?}");
        };
        check(100, 3, 5, false, true);
        // All words are known.
        check(100, 0, 0, false, false);
        // All words are new: an invented text, or the first page in another language.
        check(100, 100, 0, false, false);
        check(100, 80, 20, false, false);
        // One confirmed word is enough for a page of 199 words, or for a near duplicate of 19 words.
        check(199, 6, 1, false, true);
        check(200, 6, 1, false, false);
        check(100, 0, 1, true, false);
        check(19, 0, 1, true, true);
        // An error page with ten random words. One of these words was also the text of the link to this page.
        check(50, 9, 1, false, false);
        // Few words.
        check(4, 4, 0, false, false);
        check(4, 2, 2, false, true);
        check(0, 0, 0, false, false);
    }

    #[test]
    fn memory_is_bounded() {
        let mut vocabulary = Vocabulary::default();
        for page in 0..200u32 {
            let words: Vec<u32> = (0..4096).map(|word| page / 2 * 4096 + word).collect();
            vocabulary.add(&words);
        }
        for set in [&vocabulary.once, &vocabulary.confirmed, &vocabulary.older] {
            assert!(set.capacity() <= 2 * MAX_WORDS, "{}", set.capacity());
        }
    }
}
