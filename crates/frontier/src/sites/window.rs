//! The window of a site: the pages that the current or the next visit holds in memory (table `held`).
//!
//! A visit takes pages from the front and appends others. So the window is stored as a chain of blocks from the newest
//! to the oldest (`sites.window`, then `held.previous`), and consists of the last `sites.held` pages of the chain.
//! Taking pages only changes that number. Appending writes one block. If the chain has become long, or most of its
//! pages have left the window, it is rewritten as one block.

use super::page_block::{put_page, read_page, skip_page};
use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::Pending;
use crate::codec::{BlockBuffer, Reader};
use crate::store_error::StoreError;

/// Maximum number of blocks in a chain. It is small in tests, so that chains are rewritten.
const MAX_BLOCKS: i64 = if cfg!(test) { 3 } else { 8 };
/// The chain is rewritten if it holds more than this many pages that have left the window for each page that is in the
/// window.
const MAX_TAKEN_RATIO: i64 = 2;

/// A block that has pages in the window.
struct WindowBlock {
    id: i64,
    /// Number of pages at the front of the block that have left the window.
    taken: usize,
    sealed: Vec<u8>,
}

impl<T: Tables> Store<T> {
    /// The pages of the window, in order.
    pub(crate) fn window_read(&self, site: &SiteRow) -> Result<Vec<Pending>, StoreError> {
        let mut pages = Vec::new();
        for window_block in self.window_read_blocks(site)? {
            self.open_window_block(&window_block, |text, fixed| {
                while !text.is_empty() {
                    pages.push(read_page(text, fixed)?);
                }
                fixed.is_empty().then_some(())
            })?;
        }
        if pages.len() as i64 != site.held {
            return Err(damaged(site));
        }
        Ok(pages)
    }

    /// Remove all but the last `count` pages from the window.
    pub(crate) fn window_keep(&self, site: &mut SiteRow, count: usize) -> Result<(), StoreError> {
        let count = count as i64;
        if count > site.held {
            return Err(damaged(site));
        }
        site.held = count;
        if count == 0 {
            self.window_delete(site)?;
        }
        Ok(())
    }

    /// Append pages to the window.
    pub(crate) fn window_push(
        &self,
        site: &mut SiteRow,
        pages: &[Pending],
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        if pages.is_empty() {
            return Ok(());
        }
        block.clear();
        let after = site.held + pages.len() as i64;
        let taken = site.window_pages - site.held;
        if site.window_blocks >= MAX_BLOCKS || taken > MAX_TAKEN_RATIO * after {
            self.window_copy(site, block)?;
            self.window_delete(site)?;
        }
        for page in pages {
            put_page(block, page);
        }
        let count = after - site.held;
        let sealed = self.packer.seal_fast(block);
        site.window = self
            .tables
            .window_insert(site.key, site.window, count, sealed)?;
        site.window_blocks += 1;
        site.window_pages += count;
        site.held = after;
        Ok(())
    }

    /// Append the encoded pages of the window to `block`.
    fn window_copy(&self, site: &SiteRow, block: &mut BlockBuffer) -> Result<(), StoreError> {
        for window_block in self.window_read_blocks(site)? {
            self.open_window_block(&window_block, |text, fixed| {
                block.text.extend_from_slice(text.rest());
                block.fixed.extend_from_slice(fixed.rest());
                Some(())
            })?;
        }
        Ok(())
    }

    /// Call `read` with the pages of a block that are in the window.
    fn open_window_block(
        &self,
        window_block: &WindowBlock,
        read: impl FnOnce(&mut Reader<'_>, &mut Reader<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        let open = || {
            let (text, fixed) = self.packer.open(&window_block.sealed)?;
            let (mut text, mut fixed) = (Reader::new(&text), Reader::new(fixed));
            for _ in 0..window_block.taken {
                skip_page(&mut text, &mut fixed)?;
            }
            read(&mut text, &mut fixed)
        };
        open().ok_or_else(|| StoreError::damaged("block of a window", window_block.id))
    }

    /// The blocks with pages in the window, oldest first.
    fn window_read_blocks(&self, site: &SiteRow) -> Result<Vec<WindowBlock>, StoreError> {
        let mut blocks = Vec::new();
        let (mut id, mut wanted) = (site.window, site.held);
        while wanted > 0 {
            let (previous, count, sealed) = self
                .tables
                .window_block(site.key, id)?
                .filter(|(_, count, _)| *count > 0)
                .ok_or_else(|| damaged(site))?;
            let taken = (count - wanted).max(0) as usize;
            blocks.push(WindowBlock { id, taken, sealed });
            wanted -= count;
            id = previous;
        }
        blocks.reverse();
        Ok(blocks)
    }

    /// Delete the chain. Most chains have one block; then the look-up of the previous block is skipped.
    fn window_delete(&self, site: &mut SiteRow) -> Result<(), StoreError> {
        while site.window != 0 {
            let id = site.window;
            site.window = match site.window_blocks {
                1 => 0,
                _ => self.window_previous(site)?,
            };
            if !self.tables.window_delete(site.key, id)? {
                return Err(damaged(site));
            }
            site.window_blocks -= 1;
        }
        (site.held, site.window_blocks, site.window_pages) = (0, 0, 0);
        Ok(())
    }

    /// The id of the block before the newest.
    fn window_previous(&self, site: &SiteRow) -> Result<i64, StoreError> {
        self.tables
            .window_previous(site.key, site.window)?
            .ok_or_else(|| damaged(site))
    }
}

fn damaged(site: &SiteRow) -> StoreError {
    StoreError::damaged("window of site", site.key)
}
