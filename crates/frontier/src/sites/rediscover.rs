//! Reads the page records of all sites, and admits the pages that the engine finds in the stored pages again after its
//! rules have changed.

use std::collections::HashSet;

use aranha_url::{PathKey, SiteKey};

use super::core::Core;
use super::site_row::SiteRow;
use super::store::Store;
use super::tables::{Inbox as _, Tables};
use crate::store_error::StoreError;
use crate::{Outside, Pending, RecordBatch, RecordCursor, Rediscovered};

impl<T: Tables> Store<T> {
    /// The next block of page records, and the position after it.
    pub(crate) fn records_after(
        &self,
        cursor: &mut RecordCursor,
    ) -> Result<Option<RecordBatch>, StoreError> {
        let (site, block) = match cursor.site {
            Some(key) if cursor.block != 0 => (self.tables.site(key)?, cursor.block),
            after => {
                let site = self.tables.site_with_records(after)?;
                let block = site.as_ref().map_or(0, |site| site.pages);
                (site, block)
            }
        };
        let Some(site) = site else {
            return Ok(None);
        };
        let (previous, mut records) = self.pages_block(block)?;
        records.reverse();
        *cursor = RecordCursor {
            site: Some(site.key),
            block: previous,
        };
        Ok(Some(RecordBatch {
            site: SiteKey(site.key as u64),
            origin: site.origin,
            blocked: site.blocked,
            records,
        }))
    }
}

impl<T: Tables> Core<T> {
    pub(crate) fn admit_rediscovered(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, StoreError> {
        let before = self.store.tables.site(site.0 as i64)?;
        let Some(before) = before.filter(|site| !site.blocked) else {
            return Ok(0);
        };
        let mut site = before.clone();
        let mut pages = self.unknown_pages(&site, &found.linked)?;
        if let Some(max) = found.max_known {
            let room = max.saturating_sub(site.known as u64);
            pages.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        let mut sent = 0;
        if site.lease.is_some() {
            // A visit is under way. It has its own list of known pages, and can find the same pages.
            sent = pages.len() as u64;
            for page in pages.drain(..) {
                self.inbox.send_unfiltered(&link_to(&site, page));
            }
        }
        let keys: Vec<PathKey> = pages.iter().map(|page| page.key).collect();
        self.store.keys_append(&mut site, &keys)?;
        pages.extend(self.unqueued_pages(&site, &found.wanted_again)?);
        let queued = pages.len() as u64 + sent;
        self.queue_pages(&mut site, pages)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        self.inbox.send(&found.outside, &mut self.totals);
        Ok(queued)
    }

    /// The pages of `pages` that the site does not know, each once.
    fn unknown_pages(&self, site: &SiteRow, pages: &[Pending]) -> Result<Vec<Pending>, StoreError> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let mut known: HashSet<_> = self.store.keys_read(site)?.into_iter().collect();
        let unknown = pages.iter().filter(|page| known.insert(page.key));
        Ok(unknown.cloned().collect())
    }

    /// The pages of `pages` that do not wait for a fetch, each once.
    fn unqueued_pages(
        &self,
        site: &SiteRow,
        pages: &[Pending],
    ) -> Result<Vec<Pending>, StoreError> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let mut queued = self.store.queue_keys(site)?;
        self.store.later_keys(site, &mut queued)?;
        queued.extend(self.store.window_read(site)?.iter().map(|page| page.key));
        let unqueued = pages.iter().filter(|page| queued.insert(page.key));
        Ok(unqueued.cloned().collect())
    }
}

/// A link to a page of the site.
fn link_to(site: &SiteRow, page: Pending) -> Outside {
    Outside {
        site: site.name.clone(),
        origin: site.origin.clone(),
        path: page.path,
        site_key: SiteKey(site.key as u64),
        path_key: page.key,
        depth: page.depth,
        hop: page.hop,
        via: page.via,
    }
}
