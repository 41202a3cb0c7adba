//! Repairs of a frontier. For `aranha check --repair`: restores page records from an archive, and schedules another
//! fetch of pages whose stored responses are lost. For `aranha clean`: adopts stored responses whose check-in was lost.

use std::collections::HashSet;

use aranha_url::{PathKey, SiteKey};

use super::core::Core;
use super::later::WaitKind;
use super::site_row::SiteRow;
use super::tables::Tables;
use crate::store_error::StoreError;
use crate::{PageRecord, Pending};

impl<T: Tables> Core<T> {
    /// Add page records, oldest first, to the history of a site. A site that is unknown is created. The pages get no next
    /// visit: see [`crate::Frontier::make_all_due`].
    pub(crate) fn restore_site(
        &mut self,
        name: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<(), StoreError> {
        let key = SiteKey::of(name).0 as i64;
        let before = self.store.tables.site(key)?;
        let mut site = before
            .clone()
            .unwrap_or_else(|| SiteRow::new(key, name, origin, 0));
        let mut known: HashSet<PathKey> = self.store.keys_read(&site)?.into_iter().collect();
        let keys = records.iter().map(|record| record.key);
        let new: Vec<PathKey> = keys.filter(|key| known.insert(*key)).collect();
        self.store
            .pages_append(&mut site, records, &mut self.block)?;
        self.store.keys_append(&mut site, &new)?;
        self.totals.records(records);
        if let Some(before) = &before {
            self.save(before, &site)?;
        } else {
            self.store.site_insert(&site)?;
            self.totals.site(None, &site);
        }
        Ok(())
    }

    /// Add the records of pages that the site does not know, and queue these pages, because their links are unknown
    /// too. The records must be in order of time, oldest first. Returns the number of pages; 0 if the site is being
    /// visited.
    pub(crate) fn adopt_pages(
        &mut self,
        now: i64,
        name: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, StoreError> {
        let before = self.store.tables.site(SiteKey::of(name).0 as i64)?;
        if before
            .as_ref()
            .is_some_and(|site| site.lease.is_some() || site.blocked)
        {
            return Ok(0);
        }
        let known: HashSet<PathKey> = match &before {
            Some(site) => self.store.keys_read(site)?.into_iter().collect(),
            None => HashSet::new(),
        };
        let unknown = records.iter().filter(|record| !known.contains(&record.key));
        let records: Vec<PageRecord> = unknown.cloned().collect();
        if records.is_empty() {
            return Ok(0);
        }
        self.restore_site(name, origin, &records)?;
        let Some(before) = self.store.tables.site(SiteKey::of(name).0 as i64)? else {
            return Ok(0);
        };
        let mut site = before.clone();
        let mut queued = HashSet::new();
        let newest = records.into_iter().rev();
        let pages: Vec<Pending> = newest
            .filter(|record| queued.insert(record.key))
            .map(unfetched)
            .collect();
        self.store
            .queue_append(&mut site, &pages, &mut self.block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(pages.len() as u64)
    }

    /// Let pages of a site be fetched again, unconditionally and as soon as possible. Returns the number of pages found; 0
    /// if another node is visiting the site.
    pub(crate) fn refetch_pages(
        &mut self,
        now: i64,
        name: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, StoreError> {
        let Some(before) = self.store.tables.site(SiteKey::of(name).0 as i64)? else {
            return Ok(0);
        };
        // The window of a leased site belongs to its visit.
        if before.lease.is_some() {
            return Ok(0);
        }
        let mut site = before.clone();
        let mut found = HashSet::new();
        self.forget_queued(&mut site, pages, &mut found)?;
        let (store, block) = (&self.store, &mut self.block);
        for kind in WaitKind::ALL {
            store.later_change(&mut site, kind, block, |due, page| {
                if !pages.contains(&page.key) {
                    return None;
                }
                found.insert(page.key);
                page.past = None;
                *due = now.min(*due);
                Some(WaitKind::Retry)
            })?;
        }
        let mut finished = Vec::new();
        store.pages_walk(&site, |records| {
            let newest = records.into_iter().rev();
            let lost = newest.filter(|record| pages.contains(&record.key));
            finished.extend(
                lost.filter(|record| found.insert(record.key))
                    .map(unfetched),
            );
            found.len() < pages.len()
        })?;
        store.queue_append(&mut site, &finished, block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(found.len() as u64)
    }

    /// Remove the past of pages that are in the window or in the queue.
    fn forget_queued(
        &mut self,
        site: &mut SiteRow,
        pages: &HashSet<PathKey>,
        found: &mut HashSet<PathKey>,
    ) -> Result<(), StoreError> {
        let (store, block) = (&self.store, &mut self.block);
        let mut forget = |queued: &mut Vec<Pending>| {
            for page in queued.iter_mut().filter(|page| pages.contains(&page.key)) {
                found.insert(page.key);
                page.past = None;
            }
        };
        let mut window = store.window_read(site)?;
        if window.iter().any(|page| pages.contains(&page.key)) {
            forget(&mut window);
            store.window_keep(site, 0)?;
            store.window_push(site, &window, block)?;
        }
        if store
            .queue_keys(site)?
            .iter()
            .any(|key| pages.contains(key))
        {
            let mut queued = Vec::new();
            store.queue_take(site, site.queued as usize, &mut queued, block)?;
            forget(&mut queued);
            store.queue_append(site, &queued, block)?;
        }
        Ok(())
    }
}

/// Turns the last record of a page into a page to fetch. The page is treated as if it had never been fetched.
fn unfetched(record: PageRecord) -> Pending {
    Pending {
        path: record.path,
        key: record.key,
        depth: record.depth,
        site_depth: record.site_depth,
        tries: 0,
        hop: record.hop,
        via: record.via,
        past: None,
    }
}
