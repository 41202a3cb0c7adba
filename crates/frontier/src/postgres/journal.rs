//! The journal: links to other sites that are in no link run yet, written in the same transaction as the pages on which
//! they were found.
//!
//! Two tables take turns. The sorter (`sorter.rs`) switches new links to the other table, reads the full one, and truncates
//! it when its links are in a link run. A transaction that had chosen the full table before the switch may write to it
//! afterwards. So at the end the sorter locks the table, which waits for such transactions, and moves their links to the
//! other table. It does not lock the table before, because check-ins would wait until the links are sorted.

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

/// The rows of a journal that were read.
#[derive(Debug, Default)]
pub(super) struct JournalRows {
    /// Where they are in the table.
    places: Vec<String>,
    links: i64,
}

impl PostgresTables {
    /// The table that takes new links.
    pub(super) fn current_journal(&self) -> Result<i64, StoreError> {
        let journal = self.value(CURRENT)?;
        journal.ok_or_else(|| StoreError::Damaged("table named_values".to_owned()))
    }

    /// Empty the journal that was opened, after its rows were read. Rows that were added meanwhile are moved to the other
    /// journal.
    pub(super) fn journal_empty(&self, journal: i64, read: &JournalRows) -> Result<(), StoreError> {
        let name = format!("journal_{journal}");
        let connection = &self.connection;
        connection.batch(&format!(
            "CLOSE journal; LOCK TABLE {name} IN EXCLUSIVE MODE"
        ))?;
        let mut late = 0;
        let rows = self.number(&format!("SELECT count(*) FROM {name}"), &[])?;
        if rows > read.places.len() as i64 {
            let sql = format!(
                "WITH late AS (INSERT INTO journal_{} SELECT links, count FROM {name} WHERE ctid = ANY(ARRAY( \
                 SELECT ctid FROM {name} EXCEPT SELECT place::tid FROM unnest($1::text[]) AS r (place))) RETURNING count) \
                 SELECT coalesce(sum(count), 0)::int8 FROM late",
                1 - journal
            );
            late = self.number(&sql, &[&read.places])?;
        }
        if !self.try_truncate(std::slice::from_ref(&name))? {
            connection.batch(&format!("DELETE FROM {name}"))?;
        }
        let mut unit = self.unit.borrow_mut();
        unit.journals[journal as usize & 1] -= read.links + late;
        unit.journals[(1 - journal) as usize & 1] += late;
        Ok(())
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
        let sql = format!(
            "DECLARE journal NO SCROLL CURSOR FOR SELECT links, count, ctid::text FROM journal_{journal}"
        );
        self.tables.connection.batch(&sql)
    }

    /// The next links of the journal that was opened, about `count`. The end is an empty part.
    pub(super) fn journal_next(
        &self,
        journal: i64,
        count: usize,
        read: &mut JournalRows,
    ) -> Result<Gather, StoreError> {
        let mut gather = Gather::default();
        while !gather.is_full(count) {
            let rows = self.tables.connection.query("FETCH 16 FROM journal", &[])?;
            if rows.is_empty() {
                break;
            }
            self.extend(&mut gather, journal, &rows)?;
            for row in &rows {
                read.links += row.try_get::<_, i64>(1)?;
                read.places.push(row.try_get(2)?);
            }
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
