//! The words of a site: which words of a page are new, and which are confirmed (D5, D7).
//!
//! A word counts in favour of a site only if a second page has it too: it is then *confirmed*. So a page of invented words
//! brings nothing, however many there are, while the words of a real text recur on other pages of the site. Every word
//! is confirmed once. A site that repeats a fixed set of words has soon confirmed all of them.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::traps::words::HASH_MULTIPLIER;

/// Maximum size of each of the three sets of words: a hash table of 16,384 slots is then full.
const MAX_WORDS: usize = 14 << 10;
/// A page is novel only if it confirms more than one word in `NOVEL_SHARE`. A near duplicate of another page must
/// confirm more than one in `NOVEL_SHARE_OF_NEAR_DUPLICATE`, because a few confirmed words there may be only names or
/// misprints.
const NOVEL_SHARE: usize = 200;
const NOVEL_SHARE_OF_NEAR_DUPLICATE: usize = 20;
/// A page with many more new words than confirmed ones is not novel: for every confirmed word it may have this number of
/// new words.
const NEW_PER_CONFIRMED: usize = 6;
/// A page with at least this number of words is foreign if more than three quarters of them are new.
const MIN_FOREIGN_WORDS: usize = 8;

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

/// The words of the pages that a visit has read. Its size has a fixed maximum.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// Words of one page only.
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
    /// Whether the page brings text that the site did not have. `is_near_duplicate`: an earlier page has nearly the same
    /// text.
    pub(crate) fn is_novel(self, is_near_duplicate: bool) -> bool {
        let share = share_of(is_near_duplicate);
        self.confirmed * share > self.all
            && self.new <= self.confirmed * NEW_PER_CONFIRMED
            && !self.is_foreign()
    }

    /// Whether more than one word in `NOVEL_SHARE` is new or confirmed by this page. The first pages of a visit are
    /// judged by this weaker test: nearly all of their words are new to the visit, so few can be confirmed.
    pub(crate) fn may_be_novel(self, is_near_duplicate: bool) -> bool {
        (self.new + self.confirmed) * share_of(is_near_duplicate) > self.all
    }

    /// Whether the page has hardly any word in common with the pages before it, as if its words were invented. Pages of
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
        // One confirmed word is enough for 199 words, or for 19 of a near duplicate.
        check(199, 6, 1, false, true);
        check(200, 6, 1, false, false);
        check(100, 0, 1, true, false);
        check(19, 0, 1, true, true);
        // An apology with ten random words, one of which was the text of the link to this page.
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
