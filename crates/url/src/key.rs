//! Two-level keys (U8; Chakrabarti 2.3.5): the site's hash, then the path's, so that the pages of one site are
//! neighbours in every sorted file and one contiguous range in every index.
//!
//! Keys are stored: the hash function (xxh3-64, seed 0) and what is hashed must not change between versions.

use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// First half of a page's key: xxh3-64 of the site's name, as [`crate::CanonUrl::site`] spells it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SiteKey(pub u64);

/// Second half: xxh3-64 of the request target, path and query, without scheme and host.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PathKey(pub u64);

/// A page's whole key; orders by site first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PageKey {
    /// Which site.
    pub site: SiteKey,
    /// Which page of it.
    pub path: PathKey,
}

impl SiteKey {
    /// The key of a site known by name only, as a seed list or the frontier has it.
    pub fn of(site: &str) -> SiteKey {
        SiteKey(xxh3_64(site.as_bytes()))
    }
}

impl PathKey {
    /// The key of a canonical path and query, as the frontier stores it.
    pub fn of(path: &str) -> PathKey {
        PathKey(xxh3_64(path.as_bytes()))
    }
}

/// For maps and sets of keys, which are hashes already and are not hashed again.
pub type IdentityBuildHasher = BuildHasherDefault<IdentityHasher>;

/// Takes a key for its own hash; of several, mixes them.
#[derive(Debug, Default)]
pub struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = self.0.rotate_left(32) ^ key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_on_disk_never_change() {
        // Collections written by earlier versions hold these values (which python-xxhash gives too).
        assert_eq!(SiteKey::of("example.org"), SiteKey(0x4037_554f_7ebc_bf45));
        assert_eq!(PathKey::of("/"), PathKey(0x4742_9295_3285_562e));
    }
}
