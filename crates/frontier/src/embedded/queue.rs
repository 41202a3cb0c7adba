//! The queue of a site (table `pending`): pages behind the window (`window.rs`).
//!
//! The queue is first in, first out, so that a site is crawled breadth first (F3; Viuva Negra 5.1). If only some pages
//! of a block are taken, the block is rewritten in place with the other pages.

use std::collections::HashSet;

use aranha_url::PathKey;
use rusqlite::params;

use super::page_block::{put_page, read_page};
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::Pending;
use crate::codec::{BlockBuffer, Reader};

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

impl Store {
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
    pub(super) fn queue_append(
        &self,
        site: &mut SiteRow,
        pages: &[Pending],
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        for part in pages.chunks(BLOCK) {
            let sealed = self.seal_pages(part, block);
            self.insert(
                "INSERT INTO pending (site, pages) VALUES (?1, ?2)",
                params![site.key, sealed],
            )?;
        }
        site.queued += pages.len() as i64;
        Ok(())
    }

    /// Take up to `count` pages from the front of the queue.
    pub(super) fn queue_take(
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
                self.run("DELETE FROM pending WHERE id = ?1", [id])?;
            } else {
                let rest = pages.split_off(count);
                let sealed = self.seal_pages(&rest, block);
                self.run(
                    "UPDATE pending SET pages = ?2 WHERE id = ?1",
                    params![id, sealed],
                )?;
            }
            count -= pages.len();
            out.append(&mut pages);
        }
        Ok(())
    }

    fn queue_front(&self, site: i64) -> Result<(i64, Vec<Pending>), StoreError> {
        let (id, sealed): (i64, Vec<u8>) = self
            .first(
                "SELECT id, pages FROM pending WHERE site = ?1 ORDER BY id LIMIT 1",
                [site],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .ok_or_else(|| StoreError::damaged("queue of site", site))?;
        let pages = self
            .open_pages(&sealed)
            .filter(|pages| !pages.is_empty())
            .ok_or_else(|| StoreError::damaged("block of pending pages", id))?;
        Ok((id, pages))
    }

    /// The page in the queue with this key. Reads the queue.
    pub(super) fn queue_find(
        &self,
        site: &SiteRow,
        key: PathKey,
    ) -> Result<Option<Pending>, StoreError> {
        let mut found = None;
        self.queue_walk(site, |pages| {
            found = pages.iter().find(|page| page.key == key).cloned();
            found.is_none()
        })?;
        Ok(found)
    }

    /// The keys of all pages in the queue.
    pub(super) fn queue_keys(&self, site: &SiteRow) -> Result<HashSet<PathKey>, StoreError> {
        let mut keys = HashSet::new();
        self.queue_walk(site, |pages| {
            keys.extend(pages.iter().map(|page| page.key));
            true
        })?;
        Ok(keys)
    }

    /// Call `visit` for each block of the queue until it returns false.
    pub(super) fn queue_walk(
        &self,
        site: &SiteRow,
        mut visit: impl FnMut(&[Pending]) -> bool,
    ) -> Result<(), StoreError> {
        let mut statement = self.statement("SELECT id, pages FROM pending WHERE site = ?1")?;
        let mut rows = statement.query([site.key])?;
        while let Some(row) = rows.next()? {
            let pages = self
                .open_pages(row.get_ref(1)?.as_blob().unwrap_or_default())
                .ok_or_else(|| {
                    StoreError::damaged("block of pending pages", row.get(0).unwrap_or(0))
                })?;
            if !visit(&pages) {
                break;
            }
        }
        Ok(())
    }
}
