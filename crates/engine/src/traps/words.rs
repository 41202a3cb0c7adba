//! The words of a text, by their hashes: what the judgement of traps looks at ([`crate::traps::novelty`]).
//!
//! A word is a stretch of letters, digits, and whatever is not ASCII. Which of 64 bytes are of words is one number, a bit
//! for each, made sixteen bytes at a time where every processor can (SSE2 on x86-64), eight otherwise; words are read off it.

/// Spreads the bits of a number when it is multiplied.
pub(crate) const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The high bit of every byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
const HIGHS: u64 = eight(0x80);
/// The bit that tells small letters from capitals.
const CASE: u64 = eight(0x20);

#[cfg(any(test, not(target_arch = "x86_64")))]
/// The high bit of the bytes that lie between two, which are ASCII; the high bits of `bytes` are clear.
fn between(bytes: u64, first: u8, last: u8) -> u64 {
    (bytes + eight(0x80 - first)) & !(bytes + eight(0x7f - last)) & HIGHS
}

#[cfg(any(test, not(target_arch = "x86_64")))]
/// Which of eight bytes words are made of, by their high bits, and which of them are digits. Words are letters, digits, and
/// all that is not ASCII.
fn kinds(bytes: u64) -> (u64, u64) {
    let low = bytes & !HIGHS;
    let ascii = !bytes & HIGHS;
    let digits = between(low, b'0', b'9') & ascii;
    let letters = between(low | CASE, b'a', b'z') & ascii;
    (letters | digits | (bytes & HIGHS), digits)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
/// The high bits of eight bytes, side by side.
fn gather(highs: u64) -> u64 {
    (highs >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Bytes that are looked at together: a bit for each in a number.
const SPAN: usize = 64;

/// Which bytes of a span words are made of, and which are digits.
#[inline]
fn spans(span: &[u8; SPAN]) -> (u64, u64) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "every x86-64 processor has SSE2")]
    // SAFETY: the one demand is that the processor has these instructions.
    return unsafe { by_sixteen(span) };
    #[cfg(not(target_arch = "x86_64"))]
    by_eight(span)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_eight(span: &[u8; SPAN]) -> (u64, u64) {
    let (mut inside, mut digits) = (0, 0);
    for (place, eight) in span.as_chunks().0.iter().enumerate() {
        let (of_words, of_numbers) = kinds(u64::from_le_bytes(*eight));
        inside |= gather(of_words) << (8 * place);
        digits |= gather(of_numbers) << (8 * place);
    }
    (inside, digits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn by_sixteen(span: &[u8; SPAN]) -> (u64, u64) {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8, _mm_sub_epi8,
    };
    let bits = |bytes| u64::from(_mm_movemask_epi8(bytes) as u16);
    // So many bytes from this one on: what lies before it is more than any of them.
    let among = |bytes: __m128i, first: u8, count: u8| {
        let above = _mm_sub_epi8(bytes, _mm_set1_epi8(first as i8));
        _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(count as i8 - 1)), above)
    };
    let (mut inside, mut digits) = (0, 0);
    for (place, [low, high]) in span.as_chunks().0.as_chunks().0.iter().enumerate() {
        let bytes = _mm_set_epi64x(i64::from_le_bytes(*high), i64::from_le_bytes(*low));
        let numbers = among(bytes, b'0', 10);
        let letters = among(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), b'a', 26);
        inside |= (bits(letters) | bits(numbers) | bits(bytes)) << (16 * place);
        digits |= bits(numbers) << (16 * place);
    }
    (inside, digits)
}

/// Hands out the hashes of the words in a text, as long as they are wanted: of words from four bytes on, without digits.
pub(crate) fn each_word(text: &[u8], mut wants: impl FnMut(u32) -> bool) {
    let mut rest = text;
    while !rest.is_empty() {
        let (mut inside, digits) = spans(&first(rest));
        let mut next = SPAN;
        while inside != 0 {
            let start = inside.trailing_zeros() as usize;
            let length = (!(inside >> start)).trailing_zeros() as usize;
            if start + length == SPAN {
                next = if start > 0 {
                    start
                } else {
                    let length = rest.iter().take_while(|byte| is_of_words(**byte)).count();
                    let with_digit = rest[..length].iter().any(u8::is_ascii_digit);
                    if !with_digit && !wants(hash(rest, length)) {
                        return;
                    }
                    length
                };
                break;
            }
            let bits = (1 << length) - 1;
            let counts = length > 3 && digits >> start & bits == 0;
            if counts && !wants(hash(&rest[start..], length)) {
                return;
            }
            inside &= !(bits << start);
        }
        rest = rest.get(next..).unwrap_or_default();
    }
}

fn is_of_words(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Hash of the word of this length that the text begins with, without regard to case. Only for memory: it may change from
/// version to version.
fn hash(text: &[u8], length: usize) -> u32 {
    let mut hash = ODD ^ length as u64;
    let mut place = 0;
    loop {
        let bytes = u64::from_le_bytes(first(&text[place..])) | CASE;
        let left = length - place;
        if left <= 8 {
            hash = (hash ^ (bytes << (64 - 8 * left))).wrapping_mul(ODD);
            return (hash ^ (hash >> 32)) as u32;
        }
        hash = (hash ^ bytes).wrapping_mul(ODD).rotate_left(29);
        place += 8;
    }
}

/// The first bytes, zeros behind the end: they end a word.
fn first<const COUNT: usize>(bytes: &[u8]) -> [u8; COUNT] {
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
        fn words_are_those_between_what_is_no_letter(pieces in proptest::collection::vec("[a-cA-C]{1,12}|[0-9]{1,3}|[a-zé文]{1,90}|[ ,.;]{1,3}|.", 0..60)) {
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
        fn by_sixteen_as_by_eight(bytes in proptest::array::uniform32(proptest::num::u8::ANY)) {
            let mut span = [0; SPAN];
            span[..32].copy_from_slice(&bytes);
            span[32..].copy_from_slice(&bytes.map(|byte| byte & 0x7f));
            proptest::prop_assert_eq!(spans(&span), by_eight(&span));
        }
    }
}
