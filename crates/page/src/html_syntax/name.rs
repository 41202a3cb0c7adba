//! Tag and attribute names as 128-bit integers, so that they are compared and looked up without touching memory.
//!
//! Every name that matters to a crawler has at most 16 bytes. Longer names get the key 0, so a name of ten megabytes costs
//! no more than a search for its end.

use crate::swar::{below, equal, first, keep, load, lower, pack};

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

/// A name where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HtmlName<'a> {
    pub(crate) written: &'a [u8],
    /// See [`key_of`].
    pub(crate) key: u128,
}

impl<'a> HtmlName<'a> {
    /// The name that `rest` begins with, up to what ends it. The first byte is always part of it. `None` when nothing
    /// ends it.
    #[inline]
    pub(crate) fn read(rest: &'a [u8], ends: impl Fn(u8) -> bool) -> Option<HtmlName<'a>> {
        if let Some(lanes) = load(rest) {
            // All that ends a name of any kind; what ends this one decides.
            let near =
                below(lanes, 0x21) | equal(lanes, b'/') | equal(lanes, b'=') | equal(lanes, b'>');
            let length = first(near & !0xFF);
            if length < 8 && ends(rest[length]) {
                return Some(HtmlName {
                    written: &rest[..length],
                    key: u128::from(lower(keep(lanes, length))),
                });
            }
        }
        let length = 1 + rest.get(1..)?.iter().position(|byte| ends(*byte))?;
        let written = &rest[..length];
        let key = key_of(written);
        Some(HtmlName { written, key })
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
            if length > 0 {
                for after in ["> and more", ">", "=>", "\0>"] {
                    let rest = [whole, after.as_bytes()].concat();
                    let expected = &rest[..rest.len() - after.len() + after.find('>').unwrap_or(0)];
                    let found = HtmlName::read(&rest, |byte| byte == b'>').expect("it ends");
                    assert_eq!((found.written, found.key), (expected, key_of(expected)));
                }
                assert_eq!(HtmlName::read(whole, |byte| byte == b'>'), None);
            }
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
