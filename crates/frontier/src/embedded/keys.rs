//! Known keys: which pages of a site were ever admitted (the URL-seen test of F4, second step).
//!
//! A check-in appends one block, eight bytes a key, in no order; the blocks of a site are a chain from the newest back
//! (`sites.keys`, then `keys.previous`). Appending goes to the end of the table whatever the site, so it never falls
//! into a cold page. Eight blocks of a level are folded into one of the next, as an odometer turns: a site with n
//! check-ins has at most seven blocks a level, log8(n) levels.

use aranha_url::PathKey;
use rusqlite::params;

use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;

/// Blocks of a level that make one of the next.
const FOLD: i64 = 8;
/// Blocks above this level (about a million keys at thirty a check-in) are left alone: a fold must stay short.
const LEVELS: u32 = 5;

impl Store {
    /// Append the keys of pages just admitted.
    pub(super) fn keys_append(
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
        site.keys = self.keys_insert(site.key, site.keys, &bytes)?;
        site.known += keys.len() as i64;
        site.key_blocks += 1;
        let mut turns = site.key_blocks;
        for _ in 0..LEVELS {
            if turns % FOLD != 0 {
                break;
            }
            turns /= FOLD;
            self.keys_fold(site)?;
        }
        Ok(())
    }

    fn keys_insert(&self, site: i64, previous: i64, bytes: &[u8]) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO keys (site, previous, keys) VALUES (?1, ?2, ?3)",
            params![site, previous, bytes],
        )
    }

    /// Make one block of the newest eight.
    fn keys_fold(&self, site: &mut SiteRow) -> Result<(), StoreError> {
        let mut blocks = Vec::with_capacity(FOLD as usize);
        let mut id = site.keys;
        for _ in 0..FOLD {
            let (previous, bytes) = self.keys_block(id)?;
            self.run("DELETE FROM keys WHERE id = ?1", [id])?;
            blocks.push(bytes);
            id = previous;
        }
        site.keys = self.keys_insert(site.key, id, &blocks.concat())?;
        Ok(())
    }

    fn keys_block(&self, id: i64) -> Result<(i64, Vec<u8>), StoreError> {
        self.first(
            "SELECT previous, keys FROM keys WHERE id = ?1",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .ok_or_else(|| StoreError::damaged("chain of keys at", id))
    }

    /// Every key of the site.
    pub(super) fn keys_read(&self, site: &SiteRow) -> Result<Vec<PathKey>, StoreError> {
        let mut keys = Vec::with_capacity(site.known as usize);
        let mut id = site.keys;
        let mut statement = self.statement("SELECT previous, keys FROM keys WHERE id = ?1")?;
        while id != 0 {
            let mut rows = statement.query([id])?;
            let row = rows
                .next()?
                .ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
            let previous: i64 = row.get(0)?;
            let (words, rest) = row
                .get_ref(1)?
                .as_blob()
                .unwrap_or_default()
                .as_chunks::<8>();
            if !rest.is_empty() || previous >= id {
                return Err(StoreError::damaged("block of keys", id));
            }
            keys.extend(words.iter().map(|word| PathKey(u64::from_le_bytes(*word))));
            id = previous;
        }
        Ok(keys)
    }
}
