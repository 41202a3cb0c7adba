//! Names of tags and attributes as numbers of sixteen bytes.
//!
//! Every name that means something to a crawler fits; a longer one is nobody's, so that a tag name of ten megabytes
//! costs nothing. `html` and `tag` ask for these, `element` looks them up.

/// Longest name that is kept.
const ROOM: usize = 16;

/// A name as written, as one number: lower case, first byte lowest, so that it is looked up and compared without going
/// through memory. 0 when it is too long.
#[inline]
pub(crate) fn key_of(name: &[u8]) -> u128 {
    // A null at the end would read as none.
    if name.last() == Some(&0) || name.len() > ROOM {
        return 0;
    }
    match name.split_at_checked(8) {
        None => u128::from(lower(pack(name))),
        Some((low, high)) => u128::from(lower(pack(low))) | u128::from(lower(pack(high))) << 64,
    }
}

/// Eight letters of ASCII made small at once.
#[inline]
fn lower(lanes: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    let low = lanes & !HIGHS;
    // The sums reach the high bit from `A` on, and behind `Z`.
    let capital = (low + (0x80 - 0x41) * ONES) & !(low + (0x80 - 0x5B) * ONES) & !lanes & HIGHS;
    lanes | capital >> 2
}

/// Up to eight bytes as a number: two overlapping reads instead of a loop.
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

/// The key of a literal name.
pub(crate) const fn key(name: &[u8]) -> u128 {
    assert!(name.len() <= ROOM, "a name longer than the room for it");
    let mut bytes = [0; ROOM];
    let mut index = 0;
    while index < name.len() {
        bytes[index] = name[index];
        index += 1;
    }
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_key_however_it_is_written() {
        let name = b"abcdefghijkl-nop";
        for length in 0..=name.len() {
            let whole = &name[..length];
            assert_eq!(key_of(whole), key(whole));
            assert_eq!(key_of(&whole.to_ascii_uppercase()), key(whole), "{length}");
        }
        for byte in 1..=u8::MAX {
            assert_eq!(
                key_of(&[b'x', byte]),
                key(&[b'x', byte.to_ascii_lowercase()])
            );
        }
    }

    #[test]
    fn strange_names_are_nobody() {
        assert_eq!(key_of(b"abcdefghijklmnopq"), 0);
        assert_eq!(key_of(&[b'x'; 1000]), 0);
        assert_eq!(key_of(b"a\0"), 0);
        assert_ne!(key_of(b"a\0b"), key(b"ab"));
    }
}
