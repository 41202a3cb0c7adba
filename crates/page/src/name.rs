//! Names of tags and attributes while they are being read: sixteen bytes in place, no allocation.
//!
//! Every name that means something to a crawler fits; a longer one is remembered only as too long, so that a tag name
//! of ten megabytes costs nothing. `html` fills these, `element` looks them up.

/// Longest name that is kept.
const ROOM: usize = 16;

/// A name of up to sixteen bytes, lower case. Kept as two numbers, first byte lowest, so that it is looked up and
/// compared without going through memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Name {
    low: u64,
    high: u64,
    length: usize,
}

impl Name {
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self = Name::default();
    }

    #[inline]
    pub(crate) fn push(&mut self, part: &[u8]) {
        // Names come in two parts: the tokenizer decides on the first byte.
        if self.length + part.len() <= 8 && self.length < 8 {
            self.low |= pack(part) << (8 * self.length);
            self.length += part.len();
        } else {
            self.push_slowly(part);
        }
    }

    #[inline(never)]
    fn push_slowly(&mut self, part: &[u8]) {
        for byte in part.iter().take(ROOM + 1) {
            match self.length {
                0..8 => self.low |= u64::from(*byte) << (8 * self.length),
                8..ROOM => self.high |= u64::from(*byte) << (8 * (self.length - 8)),
                _ => {}
            }
            self.length += 1;
        }
    }

    /// The name as one number, 0 when it was too long.
    #[inline]
    pub(crate) fn key(&self) -> u128 {
        if self.length > ROOM {
            return 0;
        }
        u128::from(self.low) | u128::from(self.high) << 64
    }
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

    fn pushed(parts: &[&[u8]]) -> u128 {
        let mut name = Name::default();
        for part in parts {
            name.push(part);
        }
        name.key()
    }

    #[test]
    fn a_name_has_one_key_however_it_comes() {
        let name = b"abcdefghijklmnop";
        for length in 0..=name.len() {
            let whole = &name[..length];
            assert_eq!(pushed(&[whole]), key(whole));
            let (one, two) = whole.split_at(length / 3);
            assert_eq!(pushed(&[one, two]), key(whole), "{length}");
        }
    }

    #[test]
    fn long_names_are_nobody() {
        assert_eq!(pushed(&[b"abcdefghijklmnopq"]), 0);
        assert_eq!(pushed(&[b"abcdefgh", b"ijklmnop", b"q"]), 0);
        assert_eq!(pushed(&[b"a", &[b'x'; 1000], b"b"]), 0);
    }
}
