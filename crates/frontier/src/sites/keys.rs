//! Known keys: the keys of all admitted pages of a site (table `keys`; the URL-seen test of F4).
//!
//! A check-in appends one block of keys, 8 bytes each, unordered. The blocks of a site form a chain from the newest to
//! the oldest (`sites.keys`, then `keys.previous`). A new block goes to the end of the table, so that an insert never
//! has to read an old database page from the disk. Eight blocks of a level are merged into one block of the next level.
//! So a site with n check-ins has at most seven blocks per level and log8(n) levels.

use aranha_url::PathKey;

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;

use crate::store_error::StoreError;

/// Number of blocks of a level that are merged into one block of the next level.
const BLOCKS_PER_LEVEL: i64 = 8;
/// Blocks of this level (about a million keys at 30 per check-in) are not merged further, so that a merge stays short.
const MAX_LEVEL: u32 = 5;

impl<T: Tables> Store<T> {
    /// Append the keys of newly admitted pages.
    pub(crate) fn keys_append(
        &self,
        site: &mut SiteRow,
        keys: &[PathKey],
    ) -> Result<(), StoreError> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(keys.len() * 8);
        for key in keys {
            bytes.extend_from_slice(&key.0.to_le_bytes());
        }
        site.keys = self.tables.keys_insert(site.key, site.keys, bytes)?;
        site.known += keys.len() as i64;
        site.key_blocks += 1;
        // After every 8 blocks there is a merge at the first level, after every 64 blocks also one at the second level,
        // and so on.
        let mut blocks = site.key_blocks;
        for _ in 0..MAX_LEVEL {
            if blocks % BLOCKS_PER_LEVEL != 0 {
                break;
            }
            blocks /= BLOCKS_PER_LEVEL;
            self.keys_merge(site)?;
        }
        Ok(())
    }

    /// Merge the eight newest blocks into one.
    fn keys_merge(&self, site: &mut SiteRow) -> Result<(), StoreError> {
        let mut blocks = Vec::with_capacity(BLOCKS_PER_LEVEL as usize);
        let mut id = site.keys;
        for _ in 0..BLOCKS_PER_LEVEL {
            let (previous, bytes) = self.tables.keys_take(site.key, id)?;
            blocks.push(bytes);
            id = previous;
        }
        site.keys = self.tables.keys_insert(site.key, id, blocks.concat())?;
        Ok(())
    }

    /// All keys of the site.
    pub(crate) fn keys_read(&self, site: &SiteRow) -> Result<Vec<PathKey>, StoreError> {
        let mut keys = Vec::with_capacity(site.known as usize);
        self.tables.keys_walk(site, &mut |bytes| {
            let (words, rest) = bytes.as_chunks::<8>();
            keys.extend(words.iter().map(|word| PathKey(u64::from_le_bytes(*word))));
            rest.is_empty()
        })?;
        Ok(keys)
    }
}
