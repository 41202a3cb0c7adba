//! The journal: gathered links on disk (table `journal`), written in the same transaction as the pages on which they
//! were found.
//!
//! Entries are deleted when their links are in a complete link run.

use super::SqliteStore;
use crate::codec::BlockBuffer;
use crate::links::gather::{Gather, GatherPosition};
use crate::store_error::StoreError;

impl SqliteStore {
    /// Append the gathered links from `start` on, as one entry.
    pub(super) fn journal_append(
        &self,
        gather: &mut Gather,
        start: GatherPosition,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        if !gather.encode_since(start, block) {
            return Ok(());
        }
        gather.journal = self.tables.insert(
            "INSERT INTO journal (links) VALUES (?1)",
            [self.packer.seal_fast(block)],
        )?;
        Ok(())
    }

    /// The links of the entries whose id is greater than `after` and at most `upto`.
    pub(super) fn journal_read(&self, after: i64, upto: i64) -> Result<Gather, StoreError> {
        let mut gather = Gather::default();
        let mut statement = self
            .tables
            .statement("SELECT id, links FROM journal WHERE id > ?1 AND id <= ?2 ORDER BY id")?;
        let mut rows = statement.query((after, upto))?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            self.packer
                .open(row.get_ref(1)?.as_blob().unwrap_or_default())
                .and_then(|(text, keys)| gather.extend(&text, keys))
                .ok_or_else(|| StoreError::damaged("journal entry", id))?;
            gather.journal = id;
        }
        Ok(gather)
    }

    pub(super) fn journal_delete(&self, upto: i64) -> Result<(), StoreError> {
        self.tables
            .run("DELETE FROM journal WHERE id <= ?1", [upto])?;
        Ok(())
    }
}
