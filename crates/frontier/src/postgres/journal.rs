//! The journal: links to other sites that are in no link run yet, written in the same transaction as the pages on which
//! they were found.
//!
//! Two tables take turns. The sorter (`sorter.rs`) directs new links to the other table. It then locks the full table,
//! which waits for the transactions that write to it, and truncates it when its links are in a link run. A transaction
//! that chose the full table before the switch can still write to it afterwards. Those links are sorted the next time.

use tokio_postgres::Row;

use super::tables::PostgresTables;
use crate::codec::BlockBuffer;
use crate::links::gather::Gather;
use crate::sites::store::Store;
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;

/// The numbers of the journal tables.
pub(super) const JOURNALS: [i64; 2] = [0, 1];
/// Name of the value with the number of the table that takes new links.
pub(super) const CURRENT: &str = "journal";

impl PostgresTables {
    /// The table that takes new links.
    pub(super) fn current_journal(&self) -> Result<i64, StoreError> {
        let journal = self.value(CURRENT)?;
        journal.ok_or_else(|| StoreError::Damaged("table named_values".to_owned()))
    }
}

impl Store<PostgresTables> {
    /// Append all gathered links as one entry, and remove them from memory.
    pub(super) fn journal_append(
        &self,
        gather: &mut Gather,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let count = gather.links.len() as i64;
        let start = Gather::default().position();
        if gather.encode_since(start, block) {
            let journal = self.tables.current_journal()?;
            let sealed = self.packer.seal_fast(block);
            let sql = format!("INSERT INTO journal_{journal} VALUES ($1, $2)");
            self.tables.connection.run(&sql, &[&sealed, &count])?;
            self.tables.unit.borrow_mut().journals[journal as usize & 1] += count;
        }
        gather.clear();
        Ok(())
    }

    /// The links of a journal.
    pub(super) fn journal_read(&self, journal: i64) -> Result<Gather, StoreError> {
        let mut gather = Gather::default();
        let sql = format!("SELECT links FROM journal_{journal}");
        let rows = self.tables.connection.query(&sql, &[])?;
        self.extend(&mut gather, journal, &rows)?;
        Ok(gather)
    }

    /// Begin to read a journal in parts. The transaction ends the reading.
    pub(super) fn journal_open(&self, journal: i64) -> Result<(), StoreError> {
        let sql =
            format!("DECLARE journal NO SCROLL CURSOR FOR SELECT links FROM journal_{journal}");
        self.tables.connection.batch(&sql)
    }

    /// About `count` further links of the opened journal; none at its end.
    pub(super) fn journal_next(&self, journal: i64, count: usize) -> Result<Gather, StoreError> {
        let mut gather = Gather::default();
        while !gather.is_full(count) {
            let rows = self.tables.connection.query("FETCH 16 FROM journal", &[])?;
            if rows.is_empty() {
                break;
            }
            self.extend(&mut gather, journal, &rows)?;
        }
        Ok(gather)
    }

    fn extend(&self, gather: &mut Gather, journal: i64, rows: &[Row]) -> Result<(), StoreError> {
        for row in rows {
            self.packer
                .open(row.try_get(0)?)
                .and_then(|(text, keys)| gather.extend(&text, keys))
                .ok_or_else(|| StoreError::damaged("journal", journal))?;
        }
        Ok(())
    }
}
