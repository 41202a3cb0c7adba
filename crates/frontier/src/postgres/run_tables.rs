//! Writes and reads the blocks of link runs (tables `run_SLOT`).

use super::connection::LinkBlockRow;
use super::sort_session::Sorter;
use super::tables::PostgresTables;
use crate::links::link_block::{LinkBlockReader, LinkBlockWriter};
use crate::links::run_link::RunLink;
use crate::store_error::StoreError;

/// Maximum number of blocks of a link run that are read or written by one statement.
const BLOCKS: i64 = if cfg!(test) { 2 } else { 128 };
/// Number of blocks that a reader reads first. Then it reads twice as many each time.
const FIRST_BLOCKS: i64 = if cfg!(test) { 1 } else { 8 };

/// Writes a link run.
#[derive(Debug)]
pub(super) struct RunWriter {
    slot: i32,
    block: LinkBlockWriter,
    rows: Vec<LinkBlockRow>,
    /// Number of the next block.
    pub(super) part: i64,
    pub(super) links: i64,
    pub(super) bytes: i64,
}

impl RunWriter {
    /// Writes to a table that has `part` blocks.
    pub(super) fn append(slot: i32, part: i64) -> RunWriter {
        RunWriter {
            slot,
            block: LinkBlockWriter::default(),
            rows: Vec::new(),
            part,
            links: 0,
            bytes: 0,
        }
    }

    /// Append a link: see [`LinkBlockWriter::push`].
    pub(super) fn push(
        &mut self,
        sorter: &Sorter,
        site: i64,
        link: &RunLink<'_>,
    ) -> Result<(), StoreError> {
        if self.block.is_full(site) {
            self.end_block(sorter);
            if self.rows.len() as i64 >= BLOCKS {
                self.write(sorter)?;
            }
        }
        self.block.push(site, link);
        self.links += 1;
        Ok(())
    }

    fn end_block(&mut self, sorter: &Sorter) {
        let mut sealed = Vec::new();
        if let Some(first) = self.block.end(&sorter.core.store.packer, &mut sealed) {
            self.bytes += sealed.len() as i64;
            self.rows.push((first, self.part, sealed));
            self.part += 1;
        }
    }

    fn write(&mut self, sorter: &Sorter) -> Result<(), StoreError> {
        let connection = &sorter.core.store.tables.connection;
        connection.copy_blocks(self.slot, &self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Write the last blocks.
    pub(super) fn finish(&mut self, sorter: &Sorter) -> Result<(), StoreError> {
        self.end_block(sorter);
        self.write(sorter)
    }
}

/// Reads a link run one site at a time.
#[derive(Debug)]
pub(super) struct RunReader {
    slot: i32,
    /// Number of the next block.
    next: i64,
    /// Number of blocks to read next.
    count: i64,
    /// If set, nothing was read yet. Reading then begins with the last block whose first site is not greater than this
    /// site.
    after: Option<i64>,
    rows: std::collections::VecDeque<Vec<u8>>,
    pub(super) block: LinkBlockReader,
}

impl RunReader {
    /// A reader that is positioned before the first site after `after`, or some sites earlier.
    pub(super) fn after(slot: i32, after: i64) -> RunReader {
        RunReader {
            slot,
            next: 0,
            count: FIRST_BLOCKS,
            after: Some(after),
            rows: <_>::default(),
            block: LinkBlockReader::default(),
        }
    }

    /// Move to the next site; there is none at the end.
    pub(super) fn advance(&mut self, sorter: &Sorter) -> Result<(), StoreError> {
        let store = &sorter.core.store;
        self.block.leave_site();
        if self.block.is_at_end() {
            if self.rows.is_empty() {
                self.read(&store.tables)?;
            }
            let Some(sealed) = self.rows.pop_front() else {
                return Ok(());
            };
            let opened = self.block.load(&store.packer, &sealed);
            opened.ok_or_else(|| self.damaged())?;
        }
        let read = self.block.read_site();
        read.ok_or_else(|| self.damaged())
    }

    fn damaged(&self) -> StoreError {
        StoreError::damaged("table of link run", self.slot.into())
    }

    fn read(&mut self, tables: &PostgresTables) -> Result<(), StoreError> {
        let slot = self.slot;
        if let Some(after) = self.after.take() {
            let sql = format!(
                "SELECT part FROM run_{slot} WHERE first <= $1 ORDER BY first DESC, part DESC LIMIT 1"
            );
            let row = tables.connection.first(&sql, &[&after])?;
            self.next = row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
        }
        let sql = format!(
            "SELECT part, links FROM run_{slot} WHERE part >= $1 AND part < $1 + $2 ORDER BY part"
        );
        for row in tables.connection.query(&sql, &[&self.next, &self.count])? {
            let part: i64 = row.try_get(0)?;
            self.next = part + 1;
            self.rows.push_back(row.try_get(1)?);
        }
        self.count = BLOCKS.min(self.count * 2);
        Ok(())
    }
}
