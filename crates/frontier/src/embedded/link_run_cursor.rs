//! Reads a link run from front to back, one site at a time, for merging.

use super::link_run_file::LinkRunFile;
use crate::codec::Packer;
use crate::links::link_block::LinkBlockReader;
use crate::links::run_link::RunLink;
use crate::store_error::StoreError;

/// A position in a link run.
#[derive(Debug)]
pub(super) struct LinkRunCursor {
    run: LinkRunFile,
    next_block: usize,
    sealed: Vec<u8>,
    block: LinkBlockReader,
}

impl LinkRunCursor {
    /// A cursor at the first site.
    pub(super) fn new(packer: &Packer, run: LinkRunFile) -> Result<LinkRunCursor, StoreError> {
        let mut cursor = LinkRunCursor {
            run,
            next_block: 0,
            sealed: Vec::new(),
            block: LinkBlockReader::default(),
        };
        cursor.advance(packer)?;
        Ok(cursor)
    }

    /// The current site; `None` at the end. If the links of a site continue in the next block, the site is returned
    /// again for that block.
    pub(super) fn site(&self) -> Option<i64> {
        self.block.site()
    }

    /// The links of the current site.
    pub(super) fn links(&self) -> impl ExactSizeIterator<Item = RunLink<'_>> {
        self.block.links()
    }

    /// Move to the next site.
    pub(super) fn advance(&mut self, packer: &Packer) -> Result<(), StoreError> {
        self.block.leave_site();
        if self.block.is_at_end() {
            if self.next_block >= self.run.blocks() {
                return Ok(());
            }
            self.run.read_block(self.next_block, &mut self.sealed)?;
            self.next_block += 1;
            let opened = self.block.load(packer, &self.sealed);
            opened.ok_or_else(|| self.run.damaged())?;
        }
        self.block.read_site().ok_or_else(|| self.run.damaged())
    }
}
