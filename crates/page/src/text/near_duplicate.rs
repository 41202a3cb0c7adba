//! Computes the sketch that finds near duplicates (D3, Chakrabarti 2.3.7): a 64-bit `SimHash` over shingles.
//!
//! Every three consecutive words are a shingle. Each bit of the 64-bit hash of a shingle is a vote for the bit of the
//! sketch at the same position, and the majority of the votes decides (Charikar, "Similarity estimation techniques from
//! rounding algorithms", STOC 2002; Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007).
//! Texts that share most shingles differ in few bits; unrelated texts differ in about 32.
//!
//! All words that begin with a digit count as the same word, so pages that differ only in dates, prices or counters
//! have the same sketch. Scripts without spaces are split into characters. A word that is repeated directly after
//! itself counts once. Line breaks count as spaces.
//!
//! The votes are counted in bit planes: plane N is a `u64` that holds bit N of all 64 counters. Adding eight hashes
//! takes a few logical operations (a carry-save adder), without branches on the hashes.

use xxhash_rust::xxh3::xxh3_64;

use crate::swar::{below, first, keep, load, pack};

/// Minimum number of shingles for a sketch.
const MIN_SHINGLES: u32 = 10;
/// A word is split into characters if it has at least this many bytes and its script may be one that is written without
/// spaces, such as Chinese.
const MIN_SPLIT_BYTES: usize = 24;
/// Number of bit planes; the first holds the lowest bits. Texts have fewer than 2^27 words.
const PLANES: usize = 27;
/// The hash of every word that begins with a digit.
const NUMBER_HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// Maximum distance of the sketches of near duplicates, in bits.
///
/// Measured with `examples/near_duplicates` on 2,004 different texts of the Rust documentation (two million pairs).
/// 1,462 pairs are at most 6 bits apart. 1,268 of these pairs were compared shingle by shingle: all but two share more
/// than half of their shingles (95% on average). That is about one false positive per million pairs of different pages.
/// Among pairs that are 9 bits apart, one in seven is a false positive.
///
/// Replacing two words in the middle of a page moves its sketch by 9 bits if the page has fewer than 50 words, by 5
/// bits if it has fewer than 200 words, by 2 bits if it has fewer than 500 words, and by at most 1 bit if it is longer.
/// Replacing numbers does not move the sketch. Two short pages that differ in a name are therefore not recognised as
/// near duplicates.
const MAX_DISTANCE: u32 = 6;

/// The number of bits in which two sketches differ. 64 if either text was too short for a sketch.
fn sketch_distance(one: u64, other: u64) -> u32 {
    if one == 0 || other == 0 {
        return 64;
    }
    (one ^ other).count_ones()
}

/// Whether two sketches ([`Page::sketch`](crate::Page::sketch)) belong to near duplicates, because at most 6 of their
/// 64 bits differ.
pub fn is_near_duplicate(one: u64, other: u64) -> bool {
    sketch_distance(one, other) <= MAX_DISTANCE
}

/// Returns the number of words and the sketch of a text of `TextBuilder`. The sketch is 0 if the text is too short.
pub(crate) fn words_and_sketch(text: &str) -> (u32, u64) {
    let mut votes = BitCounters::default();
    let mut rest = text.as_bytes();
    while let Some(lead) = rest.first() {
        // Scripts without spaces begin with a byte of 0xE0 or more.
        let length = if *lead < 0xE0 {
            let (length, hash) = first_word(rest);
            votes.add_word(if lead.is_ascii_digit() {
                NUMBER_HASH
            } else {
                hash
            });
            length
        } else {
            votes.add_spaceless(rest)
        };
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    (votes.words, votes.majority())
}

/// Length and hash of the word that `rest` begins with. Most words fit into one or two registers.
#[inline]
fn first_word(rest: &[u8]) -> (usize, u64) {
    if let Some(low) = load(rest) {
        let end = below(low, 0x21);
        if end != 0 {
            let length = first(end);
            return (length, hash_short(keep(low, length)));
        }
        if let Some(high) = load(&rest[8..]) {
            let end = below(high, 0x21);
            if end != 0 {
                let length = first(end);
                return (8 + length, hash_medium(low, keep(high, length)));
            }
        }
    }
    first_long_word(rest)
}

/// Like [`first_word`], for a word that has at least 16 bytes or is near the end of the text.
#[inline(never)]
fn first_long_word(rest: &[u8]) -> (usize, u64) {
    let end = memchr::memchr2(b' ', b'\n', rest);
    let word = &rest[..end.unwrap_or(rest.len())];
    let hash = match word.split_at_checked(8) {
        None => hash_short(pack(word)),
        Some((low, high)) if high.len() < 8 => hash_medium(pack(low), pack(high)),
        Some(_) => xxh3_64(word),
    };
    (word.len(), hash)
}

/// Hash of a word of up to seven bytes, given as lanes.
#[inline]
fn hash_short(lanes: u64) -> u64 {
    folded_multiply(lanes ^ NUMBER_HASH, 0xA076_1D64_78BD_642F)
}

/// Hash of a word of 8 to 15 bytes.
#[inline]
fn hash_medium(low: u64, high: u64) -> u64 {
    folded_multiply(low ^ NUMBER_HASH, high ^ 0xE703_7ED1_A0B4_28DB)
}

/// XOR of both halves of the 128-bit product, so that every bit of either factor affects every bit of the result.
#[inline]
fn folded_multiply(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    (wide as u64) ^ (wide >> 64) as u64
}

/// 64 vote counters in bit planes, and the words that the next shingle needs.
#[derive(Default)]
struct BitCounters {
    words: u32,
    /// Number of shingles. A word that equals the word before it adds no shingle.
    shingles: u32,
    /// Hashes of the last two words.
    previous: [u64; 2],
    /// Shingle hashes that are not yet added to the planes.
    pending: [u64; 8],
    planes: [u64; PLANES],
}

impl BitCounters {
    /// Adds the first word of `rest`, whose script may have no spaces. A long word is split into characters. Returns
    /// the length of the word.
    #[inline(never)]
    fn add_spaceless(&mut self, rest: &[u8]) -> usize {
        let (length, hash) = first_long_word(rest);
        if length < MIN_SPLIT_BYTES {
            self.add_word(hash);
            return length;
        }
        let is_lead_byte = |byte: &u8| byte & 0xC0 != 0x80;
        let mut begin = 0;
        while begin < length {
            let character = &rest[begin..length];
            let more = character[1..].iter().position(is_lead_byte);
            let end = more.map_or(character.len(), |more| more + 1);
            self.add_word(xxh3_64(&character[..end]));
            begin += end;
        }
        length
    }

    /// Adds a word and the shingle that ends with it. The shingles of the first two words are shorter.
    #[inline]
    fn add_word(&mut self, hash: u64) {
        let [first, second] = self.previous;
        self.words = self.words.saturating_add(1);
        if hash == second {
            return;
        }
        self.previous = [second, hash];
        // The order of the words matters, and every bit of every word affects every bit of the hash.
        let shingle = first
            .rotate_left(23)
            .wrapping_add(second)
            .rotate_left(17)
            .wrapping_add(hash);
        let hash = folded_multiply(shingle ^ shingle >> 32, 0x8EBC_6AF0_9C88_C6E3);
        let hash = folded_multiply(hash ^ hash >> 29, 0x5899_65CC_7537_4CC3);
        let at = self.shingles as usize % self.pending.len();
        self.pending[at] = hash;
        self.shingles = self.shingles.wrapping_add(1);
        if at == self.pending.len() - 1 {
            self.add_pending();
        }
    }

    /// Adds the eight pending hashes to the 64 counters.
    #[inline]
    fn add_pending(&mut self) {
        let [first, second, third, fourth, fifth, sixth, seventh, eighth] = self.pending;
        let [ones, twos, fours, higher @ ..] = &mut self.planes;
        let (sum, one) = full_adder(*ones, first, second);
        let (sum, two) = full_adder(sum, third, fourth);
        let (sum, three) = full_adder(sum, fifth, sixth);
        let (sum, four) = full_adder(sum, seventh, eighth);
        *ones = sum;
        let (sum, one) = full_adder(*twos, one, two);
        let (sum, two) = full_adder(sum, three, four);
        *twos = sum;
        let (sum, mut carry) = full_adder(*fours, one, two);
        *fours = sum;
        for plane in higher {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// Returns the bits that are set in more than half of the shingle hashes. 0 if there are too few shingles.
    fn majority(&mut self) -> u64 {
        let shingles = self.shingles;
        if shingles < MIN_SHINGLES {
            return 0;
        }
        let left = shingles as usize % self.pending.len();
        if left > 0 {
            self.pending[left..].fill(0);
            self.add_pending();
        }
        // Compares all 64 counters at once with half the number of shingles, from the highest plane to the lowest.
        let half = u64::from(shingles / 2);
        let (mut more, mut equal) = (0, u64::MAX);
        for (power, plane) in self.planes.iter().enumerate().rev() {
            let bit = 0_u64.wrapping_sub(half >> power & 1);
            more |= equal & plane & !bit;
            equal &= !(plane ^ bit);
        }
        // The result must not be 0, because 0 means that there is no sketch.
        more.max(1)
    }
}

/// A full adder for each bit. Returns the sums and the carries.
#[inline]
fn full_adder(one: u64, two: u64, three: u64) -> (u64, u64) {
    let half = one ^ two;
    (half ^ three, one & two | half & three)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(text: &str) -> u64 {
        words_and_sketch(text).1
    }

    /// A text of random syllables, different for each seed.
    fn random_text(seed: u32, words: usize) -> String {
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

    /// Reference implementation with 64 plain counters.
    fn reference_sketch(text: &str) -> u64 {
        let hash = |word: &str| match word.len() {
            0..8 => hash_short(pack(word.as_bytes())),
            8..16 => hash_medium(pack(&word.as_bytes()[..8]), pack(&word.as_bytes()[8..])),
            _ => xxh3_64(word.as_bytes()),
        };
        let mut words: Vec<u64> = text.split([' ', '\n']).map(hash).collect();
        words.dedup();
        let mut counters = [0_i64; 64];
        words.splice(..0, [0, 0]);
        for shingle in words.windows(3) {
            let mut votes = BitCounters {
                previous: [shingle[0], shingle[1]],
                ..BitCounters::default()
            };
            votes.add_word(shingle[2]);
            for (bit, counter) in counters.iter_mut().enumerate() {
                *counter += if votes.pending[0] >> bit & 1 == 1 {
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
    fn sketch_equals_reference_implementation() {
        for length in [10, 11, 17, 18, 19, 100, 257, 5000] {
            let text = random_text(length as u32, length);
            assert_eq!(sketch(&text), reference_sketch(&text), "{length} words");
        }
    }

    #[test]
    fn words_are_counted() {
        for (text, words) in [("", 0), ("a", 1), ("a b\nc", 3), ("1 2 3 4", 4)] {
            assert_eq!(words_and_sketch(text), (words, 0), "{text}");
        }
        let (words, sketch) = words_and_sketch(&"漢字仮名交じり文".repeat(4));
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
    fn small_changes_move_the_sketch_little() {
        for seed in 0..50 {
            let text = random_text(seed, 1000);
            // Line breaks and numbers have no effect.
            let reflowed = text.replacen(' ', "\n", 20);
            assert_ne!(text, reflowed);
            assert_eq!(sketch_distance(sketch(&text), sketch(&reflowed)), 0);
            let dated = format!("{text} 2026-11-15 17:48 visits 12345");
            let later = format!("{text} 2027-01-02 09:01 visits 999");
            assert_eq!(sketch_distance(sketch(&dated), sketch(&later)), 0);
            // Two different words at the start have a small effect.
            let one = format!("Welcome Maria Silva {text}");
            let other = format!("Welcome John Smith {text}");
            assert!(is_near_duplicate(sketch(&one), sketch(&other)), "{seed}");
        }
    }

    #[test]
    fn different_texts_have_distant_sketches() {
        let sketches: Vec<u64> = (0..300)
            .map(|seed| sketch(&random_text(seed, 200)))
            .collect();
        for (index, one) in sketches.iter().enumerate() {
            for other in &sketches[..index] {
                assert!(sketch_distance(*one, *other) > 8, "{one:x} {other:x}");
            }
        }
    }
}
