//! Tag and attribute names as 128-bit integers, so that two names are compared in a few instructions.
//!
//! Every name that matters to a crawler has at most 16 bytes. Longer names get the key 0. So even a name of ten
//! megabytes is only searched for its end.

use crate::swar::{below, equal, first, keep, load, lower, pack};

/// Maximum length of a name that gets a key. Longer names get 0.
const MAX_NAME: usize = 16;

/// Returns the key of a name: its bytes in lower case as one integer, with the first byte in the lowest bits. 0 if the
/// name is too long or ends with a NUL.
#[inline]
pub(crate) fn key_of(name: &[u8]) -> u128 {
    // A name with a NUL at its end would get the same key as the name without the NUL.
    if name.last() == Some(&0) || name.len() > MAX_NAME {
        return 0;
    }
    match name.split_at_checked(8) {
        None => u128::from(lower(pack(name))),
        Some((low, high)) => u128::from(lower(pack(low))) | u128::from(lower(pack(high))) << 64,
    }
}

/// A tag or attribute name in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HtmlName<'a> {
    pub(crate) written: &'a [u8],
    /// See [`key_of`].
    pub(crate) key: u128,
}

impl<'a> HtmlName<'a> {
    /// Reads the name that `rest` begins with, up to the first byte that `ends` accepts. The first byte is always part
    /// of the name. `None` if `rest` has no byte that ends the name.
    #[inline]
    pub(crate) fn read(rest: &'a [u8], ends: impl Fn(u8) -> bool) -> Option<HtmlName<'a>> {
        if let Some(lanes) = load(rest) {
            // Marks every byte that may end a name. `ends` then decides whether the first marked byte ends this name.
            let candidates =
                below(lanes, 0x21) | equal(lanes, b'/') | equal(lanes, b'=') | equal(lanes, b'>');
            let length = first(candidates & !0xFF);
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

/// The key of a lower-case name, at compile time.
pub(crate) const fn key(name: &[u8]) -> u128 {
    assert!(name.len() <= MAX_NAME, "name longer than 16 bytes");
    let mut bytes = [0; MAX_NAME];
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
    fn key_does_not_depend_on_case_or_context() {
        let name = b"abcdefghijkl-nop";
        for length in 0..=name.len() {
            let whole = &name[..length];
            assert_eq!(key_of(whole), key(whole));
            assert_eq!(key_of(&whole.to_ascii_uppercase()), key(whole), "{length}");
            if length > 0 {
                for after in ["> and more", ">", "=>", "\0>"] {
                    let rest = [whole, after.as_bytes()].concat();
                    let expected = &rest[..rest.len() - after.len() + after.find('>').unwrap_or(0)];
                    let found =
                        HtmlName::read(&rest, |byte| byte == b'>').expect("name with an end");
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
    fn long_names_and_trailing_nulls_have_no_key() {
        assert_eq!(key_of(b"abcdefghijklmnopq"), 0);
        assert_eq!(key_of(&[b'x'; 1000]), 0);
        assert_eq!(key_of(b"a\0"), 0);
        assert_ne!(key_of(b"a\0b"), key(b"ab"));
    }
}
