//! A set of path keys. The keys are hashes already, so they are not hashed again.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys seen so far.
pub(super) type Seen = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// Takes a key for its own hash.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

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
