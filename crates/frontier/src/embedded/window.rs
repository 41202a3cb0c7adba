//! The window: the pages of a site in the hands of a visit, or waiting for the next one (`held`).
//!
//! A visit takes pages from the front and adds others at the end, so the window is a chain of blocks from the newest back
//! (`sites.window`, then `held.previous`), appended to the end of the table whatever the site, as keys are. What is in the
//! window are the last `sites.held` pages of the chain, oldest block first: nothing is written about pages that left, and
//! blocks of nothing else are not read. When pages come to a chain that has grown long, or that holds far more pages that
//! left than others, all of it is written anew as one block.

use rusqlite::params;

use super::page_block::{put_page, read_page, skip_page};
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::Pending;
use crate::codec::{BlockBuffer, Reader};

/// Blocks of a chain at most; few in tests, so that they see it written anew.
const LONGEST: i64 = if cfg!(test) { 3 } else { 8 };
/// Pages that left, for each that did not, which a chain may hold when others come.
const LEFT: i64 = 2;

/// A block that the window reaches into.
struct Part {
    id: i64,
    /// How many of its first pages have left.
    left: usize,
    sealed: Vec<u8>,
}

impl Store {
    /// The pages of the window, in order.
    pub(super) fn window_read(&self, site: &SiteRow) -> Result<Vec<Pending>, StoreError> {
        let mut pages = Vec::new();
        for part in self.window_parts(site)? {
            self.open_part(&part, |text, fixed| {
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

    /// Only the last `left` pages are still in the window.
    pub(super) fn window_keep(&self, site: &mut SiteRow, left: usize) -> Result<(), StoreError> {
        let left = left as i64;
        if left > site.held {
            return Err(damaged(site));
        }
        site.held = left;
        if left == 0 {
            self.window_delete(site)?;
        }
        Ok(())
    }

    /// Put pages behind those in the window.
    pub(super) fn window_push(
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
        let gone = site.window_pages - site.held;
        if site.window_blocks >= LONGEST || gone > LEFT * after {
            self.window_copy(site, block)?;
            self.window_delete(site)?;
        }
        for page in pages {
            put_page(block, page);
        }
        let count = after - site.held;
        let sealed = self.packer.seal_lightly(block);
        site.window = self.insert(
            "INSERT INTO held (site, previous, count, pages) VALUES (?1, ?2, ?3, ?4)",
            params![site.key, site.window, count, sealed],
        )?;
        site.window_blocks += 1;
        site.window_pages += count;
        site.held = after;
        Ok(())
    }

    /// The bytes of the pages in the window, as they are.
    fn window_copy(&self, site: &SiteRow, block: &mut BlockBuffer) -> Result<(), StoreError> {
        for part in self.window_parts(site)? {
            self.open_part(&part, |text, fixed| {
                block.text.extend_from_slice(text.rest());
                block.fixed.extend_from_slice(fixed.rest());
                Some(())
            })?;
        }
        Ok(())
    }

    /// Show `read` the pages of a block that have not left.
    fn open_part(
        &self,
        part: &Part,
        read: impl FnOnce(&mut Reader<'_>, &mut Reader<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        let open = || {
            let (text, fixed) = self.packer.open(&part.sealed)?;
            let (mut text, mut fixed) = (Reader::new(&text), Reader::new(fixed));
            for _ in 0..part.left {
                skip_page(&mut text, &mut fixed)?;
            }
            read(&mut text, &mut fixed)
        };
        open().ok_or_else(|| StoreError::damaged("block of a window", part.id))
    }

    /// The blocks that the window reaches into, oldest first.
    fn window_parts(&self, site: &SiteRow) -> Result<Vec<Part>, StoreError> {
        let mut parts = Vec::new();
        let (mut id, mut wanted) = (site.window, site.held);
        while wanted > 0 {
            let (previous, count, sealed): (i64, i64, _) = self
                .first(
                    "SELECT previous, count, pages FROM held WHERE id = ?1",
                    [id],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )?
                .filter(|(previous, count, _)| *previous < id && *count > 0)
                .ok_or_else(|| damaged(site))?;
            let left = (count - wanted).max(0) as usize;
            parts.push(Part { id, left, sealed });
            wanted -= count;
            id = previous;
        }
        parts.reverse();
        Ok(parts)
    }

    /// Nothing is in the window. The last block of a chain has none before it: most chains are one block.
    fn window_delete(&self, site: &mut SiteRow) -> Result<(), StoreError> {
        while site.window != 0 {
            let id = site.window;
            site.window = match site.window_blocks {
                1 => 0,
                _ => self.window_previous(site)?,
            };
            if self.run("DELETE FROM held WHERE id = ?1", [id])? == 0 {
                return Err(damaged(site));
            }
            site.window_blocks -= 1;
        }
        (site.held, site.window_blocks, site.window_pages) = (0, 0, 0);
        Ok(())
    }

    /// The block before the newest.
    fn window_previous(&self, site: &SiteRow) -> Result<i64, StoreError> {
        let sql = "SELECT previous FROM held WHERE id = ?1";
        self.first(sql, [site.window], |row| row.get(0))?
            .filter(|previous| *previous < site.window)
            .ok_or_else(|| damaged(site))
    }
}

fn damaged(site: &SiteRow) -> StoreError {
    StoreError::damaged("window of site", site.key)
}
