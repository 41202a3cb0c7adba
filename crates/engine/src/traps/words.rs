//! The words of a text, as hashes, for trap detection ([`crate::traps::novelty`]).
//!
//! A word is a sequence of ASCII letters, ASCII digits and bytes above ASCII. The text is read in blocks of 64 bytes.
//! For each block, a bit mask says which bytes belong to words. Every x86-64 processor has SSE2, which computes the
//! mask for 16 bytes at a time. On other processors, 8 bytes are handled at a time.

/// An odd number with evenly distributed bits (from the golden ratio), for multiplicative hashing.
pub(crate) const HASH_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The same byte eight times.
const fn repeat(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// A mask of the high bits of all eight bytes.
#[cfg(any(test, not(target_arch = "x86_64")))]
const HIGH_BITS: u64 = repeat(0x80);
/// The bit by which ASCII capitals and small letters differ.
const CASE_BIT: u64 = repeat(0x20);

#[cfg(any(test, not(target_arch = "x86_64")))]
/// Sets the high bit of every byte in the ASCII range `first..=last`. The high bits of `bytes` must be clear.
fn in_range(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + repeat(0x80 - first)) & !(bytes + repeat(0x7f - last)) & HIGH_BITS
}

#[cfg(any(test, not(target_arch = "x86_64")))]
/// Returns two masks. In the first mask, the high bit of every byte that belongs to a word is set. In the second mask,
/// the high bit of every digit is set.
fn classify(bytes: u64) -> (u64, u64) {
    let low = bytes & !HIGH_BITS;
    let ascii = !bytes & HIGH_BITS;
    let digits = in_range(low, b'0', b'9') & ascii;
    let letters = in_range(low | CASE_BIT, b'a', b'z') & ascii;
    (letters | digits | (bytes & HIGH_BITS), digits)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
/// The high bits of eight bytes as the low eight bits of the result.
fn high_bits(highs: u64) -> u64 {
    (highs >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Bytes per block. Each byte has one bit in a `u64` mask.
const BLOCK: usize = 64;

/// Two bit masks of a block: the bytes that belong to words, and the digits.
#[inline]
fn classify_block(block: &[u8; BLOCK]) -> (u64, u64) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "every x86-64 processor has SSE2")]
    // SAFETY: the function only requires that the processor has SSE2.
    return unsafe { classify_by_16(block) };
    #[cfg(not(target_arch = "x86_64"))]
    classify_by_8(block)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn classify_by_8(block: &[u8; BLOCK]) -> (u64, u64) {
    let (mut inside, mut digits) = (0, 0);
    for (index, eight) in block.as_chunks().0.iter().enumerate() {
        let (of_words, of_digits) = classify(u64::from_le_bytes(*eight));
        inside |= high_bits(of_words) << (8 * index);
        digits |= high_bits(of_digits) << (8 * index);
    }
    (inside, digits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn classify_by_16(block: &[u8; BLOCK]) -> (u64, u64) {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8, _mm_sub_epi8,
    };
    let bits = |bytes| u64::from(_mm_movemask_epi8(bytes) as u16);
    // Selects the bytes from `first` to `first + count - 1`. When `first` is subtracted, the results for these bytes
    // are below `count`. Bytes smaller than `first` wrap around to values of `count` or more.
    let in_range = |bytes: __m128i, first: u8, count: u8| {
        let above = _mm_sub_epi8(bytes, _mm_set1_epi8(first as i8));
        _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(count as i8 - 1)), above)
    };
    let (mut inside, mut digits) = (0, 0);
    for (index, [low, high]) in block.as_chunks().0.as_chunks().0.iter().enumerate() {
        let bytes = _mm_set_epi64x(i64::from_le_bytes(*high), i64::from_le_bytes(*low));
        let numbers = in_range(bytes, b'0', 10);
        let letters = in_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), b'a', 26);
        inside |= (bits(letters) | bits(numbers) | bits(bytes)) << (16 * index);
        digits |= bits(numbers) << (16 * index);
    }
    (inside, digits)
}

/// Calls `visit` with the hash of each word of a text, until `visit` returns false. Words with digits, and words of
/// fewer than four bytes, are skipped.
pub(crate) fn each_word(text: &[u8], mut visit: impl FnMut(u32) -> bool) {
    let mut rest = text;
    while !rest.is_empty() {
        let (mut inside, digits) = classify_block(&first_bytes(rest));
        let mut next = BLOCK;
        while inside != 0 {
            let start = inside.trailing_zeros() as usize;
            let length = (!(inside >> start)).trailing_zeros() as usize;
            if start + length == BLOCK {
                next = if start > 0 {
                    start
                } else {
                    let length = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
                    let with_digit = rest[..length].iter().any(u8::is_ascii_digit);
                    if !with_digit && !visit(hash(rest, length)) {
                        return;
                    }
                    length
                };
                break;
            }
            let bits = (1 << length) - 1;
            let counts = length > 3 && digits >> start & bits == 0;
            if counts && !visit(hash(&rest[start..], length)) {
                return;
            }
            inside &= !(bits << start);
        }
        rest = rest.get(next..).unwrap_or_default();
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Hash of the first `length` bytes of a text, ignoring case. The hash is never stored, so the function can be changed
/// between releases.
fn hash(text: &[u8], length: usize) -> u32 {
    let mut hash = HASH_MULTIPLIER ^ length as u64;
    let mut start = 0;
    loop {
        let bytes = u64::from_le_bytes(first_bytes(&text[start..])) | CASE_BIT;
        let left = length - start;
        if left <= 8 {
            hash = (hash ^ (bytes << (64 - 8 * left))).wrapping_mul(HASH_MULTIPLIER);
            return (hash ^ (hash >> 32)) as u32;
        }
        hash = (hash ^ bytes).wrapping_mul(HASH_MULTIPLIER).rotate_left(29);
        start += 8;
    }
}

/// The first `COUNT` bytes, padded with zeros if there are fewer. A zero byte is never part of a word.
fn first_bytes<const COUNT: usize>(bytes: &[u8]) -> [u8; COUNT] {
    if let Some(whole) = bytes.first_chunk() {
        return *whole;
    }
    let mut padded = [0; COUNT];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

        #[test]
        fn words_are_found_like_by_splitting_the_text(pieces in proptest::collection::vec("[a-cA-C]{1,12}|[0-9]{1,3}|[a-zé文]{1,90}|[ ,.;]{1,3}|.", 0..60)) {
            let text = pieces.concat();
            let mut found = Vec::new();
            each_word(text.as_bytes(), |hash| {
                found.push(hash);
                true
            });
            let is_end = |letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric();
            let words = text.split(is_end).filter(|word| word.len() > 3);
            let words = words.filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()));
            let expected: Vec<u32> = words
                .map(|word| hash(word.to_ascii_lowercase().as_bytes(), word.len()))
                .collect();
            proptest::prop_assert_eq!(found, expected);
        }

        #[test]
        fn both_implementations_agree(bytes in proptest::array::uniform32(proptest::num::u8::ANY)) {
            let mut block = [0; BLOCK];
            block[..32].copy_from_slice(&bytes);
            block[32..].copy_from_slice(&bytes.map(|byte| byte & 0x7f));
            proptest::prop_assert_eq!(classify_block(&block), classify_by_8(&block));
        }
    }
}
