//! The URL-seen test of one site: a set of path keys (F4). The keys are hashes already, so they are not hashed again.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys seen so far: eight bytes a page.
pub type Seen = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// Takes a key for its own hash.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
