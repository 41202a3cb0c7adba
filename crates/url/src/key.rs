//! Two-level keys (U8; Chakrabarti 2.3.5): the hash of the site, then the hash of the path. The pages of a site are
//! adjacent in every sorted file and form one contiguous range in every index.
//!
//! Keys are stored. The hash function (xxh3-64, seed 0) and its input must not change between versions.

use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// First half of a page's key: xxh3-64 of [`crate::CanonUrl::site`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SiteKey(pub u64);

/// Second half of a page's key: xxh3-64 of path and query.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PathKey(pub u64);

/// The key of a page, ordered by site first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PageKey {
    /// Key of the site.
    pub site: SiteKey,
    /// Key of the page within the site.
    pub path: PathKey,
}

impl SiteKey {
    /// The key of a site by its name.
    pub fn of(site: &str) -> SiteKey {
        SiteKey(xxh3_64(site.as_bytes()))
    }
}

impl PathKey {
    /// The key of a canonical path and query.
    pub fn of(path: &str) -> PathKey {
        PathKey(xxh3_64(path.as_bytes()))
    }
}

/// Hasher of maps and sets of keys. It does not hash keys again, because they are hashes already.
pub type IdentityBuildHasher = BuildHasherDefault<IdentityHasher>;

/// Identity hasher for one `u64`; several values are combined by rotation and XOR.
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
        // Existing collections contain these keys. The values were computed independently, with python-xxhash.
        assert_eq!(SiteKey::of("example.org"), SiteKey(0x4037_554f_7ebc_bf45));
        assert_eq!(PathKey::of("/"), PathKey(0x4742_9295_3285_562e));
    }
}
