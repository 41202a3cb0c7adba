//! Computes the sketch that finds near duplicates (D3, Chakrabarti 2.3.7): a 64-bit `SimHash` over shingles.
//!
//! Every three consecutive words are a shingle. Its hash votes on each of the 64 bits, and the majority is the sketch
//! (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku, Jain and Das Sarma,
//! "Detecting near-duplicates for web crawling", WWW 2007). Texts that share most shingles differ in few bits; unrelated
//! texts differ in about 32.
//!
//! All words that begin with a digit count as the same word, so pages that differ only in dates, prices or counters have
//! the same sketch. Scripts without spaces are split into characters. Repetitions of a word in a row count once. Line
//! breaks count as spaces.
//!
//! The votes are counted in bit planes: word N of the counter array holds bit N of all 64 counters. Adding eight hashes
//! takes a few logical operations (a carry-save adder), without branches on the hashes.

use xxhash_rust::xxh3::xxh3_64;

use crate::swar::{below, first, keep, load, pack};

/// Minimum number of shingles for a sketch.
const FEWEST: u32 = 10;
/// Bytes from which a word of a script that may have no spaces is cut into characters.
const LONG: usize = 24;
/// Planes of the counters, the lowest bit first: texts are shorter than 2^27 words.
const PLANES: usize = 27;
/// The hash of every word that begins with a digit.
const NUMBER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Sketches at most this far apart are of near duplicates.
///
/// Measured on 2,004 different texts of the Rust documentation (`examples/near`), two million pairs: 1,462 pairs are
/// at most 6 bits apart, and of 1,268 of them that were compared exactly all but two share more than half of their
/// shingles (95% on average): a false alarm is met about once in a million pairs of different pages. From 9 bits on one
/// pair in seven is none. Two other words in the middle of a page (a name) move its sketch by 9 bits when it has under
/// 50 words, by 5 under 200, by 2 under 500, by 0 or 1 above; other numbers move it by none. A short page with
/// another name is therefore not found near: the price of few false alarms.
const MAX_DISTANCE: u32 = 6;

/// In how many of their 64 bits two sketches differ; 64 when either text was too short for a sketch.
pub fn sketch_distance(one: u64, other: u64) -> u32 {
    if one == 0 || other == 0 {
        return 64;
    }
    (one ^ other).count_ones()
}

/// Whether two texts are near duplicates by their sketches: at most `MAX_DISTANCE` bits apart.
pub fn is_near_duplicate(one: u64, other: u64) -> bool {
    sketch_distance(one, other) <= MAX_DISTANCE
}

/// Words and sketch of a folded text.
pub(crate) fn of(text: &str) -> (u32, u64) {
    let mut votes = BitCounters::default();
    let mut rest = text.as_bytes();
    while let Some(lead) = rest.first() {
        let length = if *lead < 0xE0 {
            let (length, hash) = word(rest);
            votes.feature(if lead.is_ascii_digit() { NUMBER } else { hash });
            length
        } else {
            votes.spaceless(rest)
        };
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    (votes.words, votes.majority())
}

/// Bytes and hash of the word that `rest` begins with. Most words are found and hashed in one number.
#[inline]
fn word(rest: &[u8]) -> (usize, u64) {
    if let Some(low) = load(rest) {
        let end = below(low, 0x21);
        if end != 0 {
            let length = first(end);
            return (length, short(keep(low, length)));
        }
        if let Some(high) = load(&rest[8..]) {
            let end = below(high, 0x21);
            if end != 0 {
                let length = first(end);
                return (8 + length, medium(low, keep(high, length)));
            }
        }
    }
    long_word(rest)
}

/// The same for a long word, or the last.
#[inline(never)]
fn long_word(rest: &[u8]) -> (usize, u64) {
    let end = memchr::memchr2(b' ', b'\n', rest);
    let word = &rest[..end.unwrap_or(rest.len())];
    let hash = match word.split_at_checked(8) {
        None => short(pack(word)),
        Some((low, high)) if high.len() < 8 => medium(pack(low), pack(high)),
        Some(_) => xxh3_64(word),
    };
    (word.len(), hash)
}

/// Hash of a word under eight bytes, each in its lane.
#[inline]
fn short(lanes: u64) -> u64 {
    multiply(lanes ^ NUMBER, 0xA076_1D64_78BD_642F)
}

/// Hash of a word of eight to fifteen bytes.
#[inline]
fn medium(low: u64, high: u64) -> u64 {
    multiply(low ^ NUMBER, high ^ 0xE703_7ED1_A0B4_28DB)
}

/// Both halves of a product, folded: every bit of either factor reaches every bit.
#[inline]
fn multiply(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    (wide as u64) ^ (wide >> 64) as u64
}

/// The counters.
#[derive(Default)]
struct BitCounters {
    words: u32,
    /// Of a run of equal words only one begins a shingle.
    shingles: u32,
    /// Hashes of the two words before.
    before: [u64; 2],
    waiting: [u64; 8],
    planes: [u64; PLANES],
}

impl BitCounters {
    /// A word that may be a run of a script without spaces; returns its bytes.
    #[inline(never)]
    fn spaceless(&mut self, rest: &[u8]) -> usize {
        let (length, hash) = long_word(rest);
        if length < LONG {
            self.feature(hash);
            return length;
        }
        let is_first = |byte: &u8| byte & 0xC0 != 0x80;
        let mut begin = 0;
        while begin < length {
            let character = &rest[begin..length];
            let more = character[1..].iter().position(is_first);
            let end = more.map_or(character.len(), |more| more + 1);
            self.feature(xxh3_64(&character[..end]));
            begin += end;
        }
        length
    }

    /// Counts a word, and the shingle that ends with it. The first two words are shingles with nothing before them.
    #[inline]
    fn feature(&mut self, hash: u64) {
        let [first, second] = self.before;
        self.words = self.words.saturating_add(1);
        if hash == second {
            return;
        }
        self.before = [second, hash];
        // The place in the shingle must count, and every bit of every word reach every bit.
        let shingle = first
            .rotate_left(23)
            .wrapping_add(second)
            .rotate_left(17)
            .wrapping_add(hash);
        let hash = multiply(shingle ^ shingle >> 32, 0x8EBC_6AF0_9C88_C6E3);
        let hash = multiply(hash ^ hash >> 29, 0x5899_65CC_7537_4CC3);
        let at = self.shingles as usize % self.waiting.len();
        self.waiting[at] = hash;
        self.shingles = self.shingles.wrapping_add(1);
        if at == self.waiting.len() - 1 {
            self.count();
        }
    }

    /// Adds eight hashes to the 64 counters.
    #[inline]
    fn count(&mut self) {
        let [first, second, third, fourth, fifth, sixth, seventh, eighth] = self.waiting;
        let [ones, twos, fours, higher @ ..] = &mut self.planes;
        let (sum, one) = add(*ones, first, second);
        let (sum, two) = add(sum, third, fourth);
        let (sum, three) = add(sum, fifth, sixth);
        let (sum, four) = add(sum, seventh, eighth);
        *ones = sum;
        let (sum, one) = add(*twos, one, two);
        let (sum, two) = add(sum, three, four);
        *twos = sum;
        let (sum, mut carry) = add(*fours, one, two);
        *fours = sum;
        for plane in higher {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// The bits that more than half of the shingles have; 0 when there are too few shingles.
    fn majority(&mut self) -> u64 {
        let shingles = self.shingles;
        if shingles < FEWEST {
            return 0;
        }
        let left = shingles as usize % self.waiting.len();
        if left > 0 {
            self.waiting[left..].fill(0);
            self.count();
        }
        // Each counter compared with half of the shingles, all at once, from the highest plane down.
        let half = u64::from(shingles / 2);
        let (mut more, mut equal) = (0, u64::MAX);
        for (power, plane) in self.planes.iter().enumerate().rev() {
            let bit = 0_u64.wrapping_sub(half >> power & 1);
            more |= equal & plane & !bit;
            equal &= !(plane ^ bit);
        }
        // 0 says that there is no sketch.
        more.max(1)
    }
}

/// A full adder in every lane: sum and carry.
#[inline]
fn add(one: u64, two: u64, three: u64) -> (u64, u64) {
    let half = one ^ two;
    (half ^ three, one & two | half & three)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(text: &str) -> u64 {
        of(text).1
    }

    /// Text of a made-up language, another for each seed.
    fn invented(seed: u32, words: usize) -> String {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % bound
        };
        let syllables = ["ka", "ro", "mi", "te", "lu", "san", "por", "vi", "de", "no"];
        let mut text = String::new();
        for _ in 0..words {
            for _ in 0..=next(3) {
                text.push_str(syllables[next(10) as usize]);
            }
            text.push(' ');
        }
        text.trim_end().to_owned()
    }

    /// Counted the plain way.
    fn slowly(text: &str) -> u64 {
        let hash = |word: &str| match word.len() {
            0..8 => short(pack(word.as_bytes())),
            8..16 => medium(pack(&word.as_bytes()[..8]), pack(&word.as_bytes()[8..])),
            _ => xxh3_64(word.as_bytes()),
        };
        let mut words: Vec<u64> = text.split([' ', '\n']).map(hash).collect();
        words.dedup();
        let mut counters = [0_i64; 64];
        words.splice(..0, [0, 0]);
        for shingle in words.windows(3) {
            let mut votes = BitCounters {
                before: [shingle[0], shingle[1]],
                ..BitCounters::default()
            };
            votes.feature(shingle[2]);
            for (bit, counter) in counters.iter_mut().enumerate() {
                *counter += if votes.waiting[0] >> bit & 1 == 1 {
                    1
                } else {
                    -1
                };
            }
        }
        let mut found = 0;
        for (bit, counter) in counters.iter().enumerate() {
            found |= u64::from(*counter > 0) << bit;
        }
        found
    }

    #[test]
    fn the_majority_is_that_of_counters() {
        for length in [10, 11, 17, 18, 19, 100, 257, 5000] {
            let text = invented(length as u32, length);
            assert_eq!(sketch(&text), slowly(&text), "{length} words");
        }
    }

    #[test]
    fn words_are_counted() {
        for (text, words) in [("", 0), ("a", 1), ("a b\nc", 3), ("1 2 3 4", 4)] {
            assert_eq!(of(text), (words, 0), "{text}");
        }
        let (words, sketch) = of(&"漢字仮名交じり文".repeat(4));
        assert_eq!(words, 32);
        assert_ne!(sketch, 0);
    }

    #[test]
    fn short_texts_have_no_sketch() {
        assert_eq!(sketch("a b c d e f g h i"), 0);
        assert_ne!(sketch("a b c d e f g h i j"), 0);
        assert_eq!(sketch_distance(0, 0), 64);
        assert!(!is_near_duplicate(0, 0));
    }

    #[test]
    fn the_same_page_again() {
        for seed in 0..50 {
            let text = invented(seed, 1000);
            let again = |change: &dyn Fn(&str) -> String| {
                let other = change(&text);
                assert_ne!(text, other);
                sketch_distance(sketch(&text), sketch(&other))
            };
            // Another layout is no difference at all, neither are numbers.
            assert_eq!(again(&|text| text.replacen(' ', "\n", 20)), 0);
            let dated = format!("{text} 2026-11-15 17:48 visits 12345");
            let later = format!("{text} 2027-01-02 09:01 visits 999");
            assert_eq!(sketch_distance(sketch(&dated), sketch(&later)), 0);
            // Another name in the greeting.
            let one = format!("Welcome Maria Silva {text}");
            let other = format!("Welcome John Smith {text}");
            assert!(is_near_duplicate(sketch(&one), sketch(&other)), "{seed}");
        }
    }

    #[test]
    fn different_texts_are_far() {
        let sketches: Vec<u64> = (0..300).map(|seed| sketch(&invented(seed, 200))).collect();
        for (index, one) in sketches.iter().enumerate() {
            for other in &sketches[..index] {
                assert!(sketch_distance(*one, *other) > 8, "{one:x} {other:x}");
            }
        }
    }
}
