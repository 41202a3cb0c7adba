//! Names of tags and attributes while they are being read: sixteen bytes in place, no allocation.
//!
//! Every name that means something to a crawler fits; a longer one is remembered only as too long, so that a tag name
//! of ten megabytes costs nothing. `html` fills these, `element` looks them up.

/// Longest name that is kept.
const ROOM: usize = 16;

/// A name of up to sixteen bytes, lower case.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Name {
    bytes: [u8; ROOM],
    length: usize,
}

impl Name {
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self = Name::default();
    }

    #[inline]
    pub(crate) fn push(&mut self, part: &[u8]) {
        let end = self.length.saturating_add(part.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(part);
        }
        self.length = end;
    }

    /// The name, or nothing when it was too long to be one we know.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The name as one number, 0 when it was too long: compared in one step.
    #[inline]
    pub(crate) fn key(&self) -> u128 {
        if self.length > ROOM {
            return 0;
        }
        u128::from_le_bytes(self.bytes)
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
    fn long_names_are_nobody() {
        let mut name = Name::default();
        name.push(b"block");
        name.push(b"quote");
        assert_eq!(
            (name.as_bytes(), name.key()),
            (&b"blockquote"[..], key(b"blockquote"))
        );
        name.push(b"sixteen");
        assert_eq!((name.as_bytes(), name.key()), (&b""[..], 0));
        name.push(b"x");
        assert_eq!(name.key(), 0);
    }
}
