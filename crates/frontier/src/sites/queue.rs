//! The queue of a site (table `pending`): pages behind the window (`window.rs`).
//!
//! The queue is first in, first out, so that a site is crawled breadth first (F3; Viuva Negra 5.1). If only some pages
//! of a block are taken, the block is rewritten in place with the other pages.

use std::collections::HashSet;

use aranha_url::PathKey;

use super::page_block::{put_page, read_page};
use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::Pending;
use crate::codec::{BlockBuffer, Reader};
use crate::store_error::StoreError;

/// Maximum number of pages in a block. It is the default size of a window, so that mostly whole blocks are taken.
const BLOCK: usize = 256;

fn read_pages(text: &[u8], fixed: &[u8]) -> Option<Vec<Pending>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut pages = Vec::with_capacity(fixed.rest().len() / 8);
    while !text.is_empty() {
        pages.push(read_page(&mut text, &mut fixed)?);
    }
    fixed.is_empty().then_some(pages)
}

impl<T: Tables> Store<T> {
    fn seal_pages(&self, pages: &[Pending], block: &mut BlockBuffer) -> Vec<u8> {
        block.clear();
        for page in pages {
            put_page(block, page);
        }
        self.packer.seal_fast(block)
    }

    fn open_pages(&self, sealed: &[u8]) -> Option<Vec<Pending>> {
        let (text, fixed) = self.packer.open(sealed)?;
        read_pages(&text, fixed)
    }

    /// Append pages to the queue.
    pub(crate) fn queue_append(
        &self,
        site: &mut SiteRow,
        pages: &[Pending],
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        for part in pages.chunks(BLOCK) {
            let sealed = self.seal_pages(part, block);
            self.tables.queue_insert(site.key, sealed)?;
        }
        site.queued += pages.len() as i64;
        Ok(())
    }

    /// Take up to `count` pages from the front of the queue.
    pub(crate) fn queue_take(
        &self,
        site: &mut SiteRow,
        count: usize,
        out: &mut Vec<Pending>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let mut count = count.min(site.queued as usize);
        site.queued -= count as i64;
        while count > 0 {
            let (id, mut pages) = self.queue_front(site.key)?;
            if pages.len() <= count {
                self.tables.queue_delete(site.key, id)?;
            } else {
                let rest = pages.split_off(count);
                let sealed = self.seal_pages(&rest, block);
                self.tables.queue_update(site.key, id, sealed)?;
            }
            count -= pages.len();
            out.append(&mut pages);
        }
        Ok(())
    }

    fn queue_front(&self, site: i64) -> Result<(i64, Vec<Pending>), StoreError> {
        let (id, sealed) = self
            .tables
            .queue_front(site)?
            .ok_or_else(|| StoreError::damaged("queue of site", site))?;
        let pages = self
            .open_pages(&sealed)
            .filter(|pages| !pages.is_empty())
            .ok_or_else(|| StoreError::damaged("block of pending pages", id))?;
        Ok((id, pages))
    }

    /// The keys of all pages in the queue.
    pub(crate) fn queue_keys(&self, site: &SiteRow) -> Result<HashSet<PathKey>, StoreError> {
        let mut keys = HashSet::new();
        self.queue_walk(site, |pages| {
            keys.extend(pages.iter().map(|page| page.key));
            true
        })?;
        Ok(keys)
    }

    /// Call `visit` for each block of the queue until it returns false.
    pub(crate) fn queue_walk(
        &self,
        site: &SiteRow,
        mut visit: impl FnMut(&[Pending]) -> bool,
    ) -> Result<(), StoreError> {
        self.tables.queue_walk(site.key, &mut |id, sealed| {
            let pages = self
                .open_pages(sealed)
                .ok_or_else(|| StoreError::damaged("block of pending pages", id))?;
            Ok(visit(&pages))
        })
    }
}
