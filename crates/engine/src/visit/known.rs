//! The URL-seen test of one site: the keys of every page it is known to have (F4).
//!
//! Eight bytes a page. The keys are hashes already, so the set does not hash them again.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use aranha_url::PathKey;

/// Keys of pages.
#[derive(Debug, Default)]
pub(super) struct Known(HashSet<u64, BuildHasherDefault<AsIs>>);

impl Known {
    pub(super) fn new(keys: &[PathKey]) -> Self {
        let mut known = Self::default();
        known.0.reserve(keys.len());
        known.0.extend(keys.iter().map(|key| key.0));
        known
    }

    /// True when the page was not known.
    pub(super) fn insert(&mut self, key: PathKey) -> bool {
        self.0.insert(key.0)
    }
}

/// Hands a key through as its own hash.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
