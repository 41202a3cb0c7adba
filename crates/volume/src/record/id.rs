//! Record identifiers: `WARC-Record-ID`.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::record::header::HeaderValue;

/// Generates record identifiers: version 4 UUIDs made of a random salt per process and a counter.
#[derive(Debug)]
pub(crate) struct RecordIds {
    salt: [u64; 2],
    count: AtomicU64,
}

impl RecordIds {
    pub(crate) fn new() -> Self {
        // The keys of `RandomState` come from the random number generator of the operating system.
        let random = || RandomState::new().hash_one(std::process::id());
        Self {
            salt: [random(), random()],
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> RecordId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut bytes =
            xxh3_128_with_seed(&(self.salt[0] ^ count).to_le_bytes(), self.salt[1]).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        RecordId(bytes)
    }
}

/// The bytes of a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordId([u8; 16]);

/// The form `<urn:uuid:…>`, as in `WARC-Record-ID`.
impl HeaderValue for RecordId {
    fn put(&self, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 32];
        for (two, byte) in hex.as_chunks_mut().0.iter_mut().zip(self.0) {
            *two = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        }
        let mut text = *b"<urn:uuid:00000000-0000-4000-8000-000000000000>";
        text[10..18].copy_from_slice(&hex[..8]);
        text[19..23].copy_from_slice(&hex[8..12]);
        text[24..28].copy_from_slice(&hex[12..16]);
        text[29..33].copy_from_slice(&hex[16..20]);
        text[34..46].copy_from_slice(&hex[20..]);
        out.extend_from_slice(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_uuids_and_differ() {
        let ids = RecordIds::new();
        let text = |id: RecordId| {
            let mut out = Vec::new();
            id.put(&mut out);
            String::from_utf8(out).unwrap()
        };
        let mut seen: Vec<String> = (0..1000).map(|_| text(ids.next())).collect();
        assert_eq!(
            seen[0].len(),
            "<urn:uuid:00000000-0000-4000-8000-000000000000>".len()
        );
        assert!(
            seen.iter()
                .all(|id| &id[24..25] == "4" && "89ab".contains(&id[29..30]))
        );
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
        let known = *b"\x00\x12\x34\x56\x78\x9a\xbc\xde\xf0\x0f\x1e\x2d\x3c\x4b\x5a\xff";
        assert_eq!(
            text(RecordId(known)),
            "<urn:uuid:00123456-789a-bcde-f00f-1e2d3c4b5aff>"
        );
        assert_ne!(RecordIds::new().next(), RecordIds::new().next());
    }
}
