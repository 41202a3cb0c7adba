//! SIMD within a register (SWAR): examines eight bytes at once, one in each lane of a `u64`. The first byte is in the
//! lowest lane.
//!
//! Most names, values and words of a page have only a few bytes. To find their end, calling a vectorised search
//! function would take longer than the search itself. These functions do it without a call or a loop. Longer searches
//! use memchr.

/// 1 in every lane.
pub(crate) const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of every lane.
pub(crate) const HIGHS: u64 = 0x80 * ONES;

/// The same byte in every lane.
#[inline]
pub(crate) const fn all(byte: u8) -> u64 {
    byte as u64 * ONES
}

/// Returns the high bit of every lane that equals `byte`. Only the lowest set bit is reliable, because above the first
/// match, bits of other lanes may be set too.
#[inline]
pub(crate) fn equal(lanes: u64, byte: u8) -> u64 {
    let lanes = lanes ^ all(byte);
    lanes.wrapping_sub(ONES) & !lanes & HIGHS
}

/// Returns the high bit of every lane that is less than `bound`, which is at most 0x80. All bits are reliable.
#[inline]
pub(crate) fn below(lanes: u64, bound: u8) -> u64 {
    !(((lanes & !HIGHS) + all(0x80 - bound)) | lanes) & HIGHS
}

/// The index of the lowest lane that has a bit set in `mask`. 8 if the mask is 0.
#[inline]
pub(crate) fn first(mask: u64) -> usize {
    (mask.trailing_zeros() / 8) as usize
}

/// The first eight bytes. `None` if there are fewer.
#[inline]
pub(crate) fn load(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// Keeps the first `length` lanes and clears the others. `length` must be at most 7.
#[inline]
pub(crate) fn keep(lanes: u64, length: usize) -> u64 {
    lanes & ((1 << (8 * length)) - 1)
}

/// Packs up to eight bytes into lanes. Two overlapping reads replace a loop.
#[inline]
pub(crate) fn pack(bytes: &[u8]) -> u64 {
    match *bytes {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b, c, d, ..] => {
            let start = u32::from_le_bytes([a, b, c, d]);
            let rest = bytes.len() - 4;
            let end = bytes
                .last_chunk()
                .map_or(0, |chunk| u32::from_le_bytes(*chunk));
            u64::from(start) | u64::from(end) << (8 * rest)
        }
    }
}

/// Converts ASCII letters to lower case.
#[inline]
pub(crate) fn lower(lanes: u64) -> u64 {
    let capital = below(lanes, b'Z' + 1) & !below(lanes, b'A');
    lanes | capital >> 2
}

/// Whether `matches` returns a non-zero mask for any group of eight bytes of the input. An input of fewer than eight
/// bytes is padded with the letter `x`.
#[inline]
pub(crate) fn any(bytes: &[u8], matches: impl Fn(u64) -> u64) -> bool {
    if bytes.len() < 8 {
        let padding = all(b'x') << (8 * bytes.len());
        return matches(pack(bytes) | padding) != 0;
    }
    let last = bytes
        .last_chunk()
        .map_or(0, |chunk| u64::from_le_bytes(*chunk));
    let whole = bytes.chunks_exact(8).filter_map(load);
    whole.fold(matches(last), |found, lanes| found | matches(lanes)) != 0
}

/// Position of the first byte that equals `one` or `other`. Fast if it is among the first 16 bytes.
#[inline]
pub(crate) fn find2(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    if let Some(lanes) = load(bytes) {
        let found = equal(lanes, one) | equal(lanes, other);
        if found != 0 {
            return Some(first(found));
        }
        if let Some(lanes) = load(&bytes[8..]) {
            let found = equal(lanes, one) | equal(lanes, other);
            if found != 0 {
                return Some(8 + first(found));
            }
            return memchr::memchr2(one, other, &bytes[16..]).map(|at| at + 16);
        }
    }
    bytes.iter().position(|byte| *byte == one || *byte == other)
}

/// Position of the first `byte`. Fast if it is among the first eight bytes.
#[inline]
pub(crate) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    if let Some(lanes) = load(bytes) {
        let found = equal(lanes, byte);
        if found != 0 {
            return Some(first(found));
        }
        return memchr::memchr(byte, &bytes[8..]).map(|at| at + 8);
    }
    bytes.iter().position(|found| *found == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_for_every_byte_in_every_lane() {
        for byte in 0..=u8::MAX {
            for lane in 0..8 {
                let lanes = all(b'm') & !(0xFF << (8 * lane)) | u64::from(byte) << (8 * lane);
                let expected = if byte == b'x' { 0x80 << (8 * lane) } else { 0 };
                assert_eq!(equal(lanes, b'x'), expected);
                let expected = if byte < 0x21 { 0x80 << (8 * lane) } else { 0 };
                assert_eq!(below(lanes, 0x21), expected);
                let lower_case = u64::from(byte.to_ascii_lowercase()) << (8 * lane);
                assert_eq!(lower(lanes) & (0xFF << (8 * lane)), lower_case, "{byte}");
            }
        }
    }

    #[test]
    fn searches_at_every_position() {
        let mut text = [b'a'; 40];
        for length in 0..=40 {
            assert_eq!(find(&text[..length], b'<'), None);
            assert!(!any(&text[..length], |lanes| equal(lanes, b'<')));
            for position in 0..length {
                text[position] = b'<';
                assert_eq!(find(&text[..length], b'<'), Some(position));
                assert_eq!(find2(&text[..length], b'&', b'<'), Some(position));
                assert!(any(&text[..length], |lanes| equal(lanes, b'<')));
                text[position] = b'a';
            }
        }
        for length in 0..8 {
            let text = &b"abcdefgh"[..length];
            assert_eq!(pack(text), keep(u64::from_le_bytes(*b"abcdefgh"), length));
        }
    }
}
