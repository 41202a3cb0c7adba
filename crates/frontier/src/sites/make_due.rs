//! Makes sites and pages due at the request of the user.
//!
//! An order to visit every page is stored until it ends (table `totals`). If the crawl is interrupted and the user
//! gives the same order again, the first order continues. Pages that were visited since the beginning of the first
//! order are not visited twice.

use std::collections::{BTreeSet, HashSet};

use aranha_url::PathKey;

use super::core::Core;
use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::store_error::StoreError;
use crate::{Outcome, PageRecord, Past, Pending, Seed, VisitOrder};

/// Names of the rows of `totals` that hold the order. The first is missing if there is no order.
const ORDER_BEGAN: &str = "order_began";
const ORDER_UNCONDITIONAL: &str = "order_unconditional";

/// An order that has not ended.
#[derive(Clone, Copy, Debug)]
struct StoredOrder {
    began: i64,
    unconditional: bool,
}

impl<T: Tables> Core<T> {
    /// Make the sites of these seeds and their retries due. Courtesy pauses end at `free` at the latest.
    pub(crate) fn make_sites_due(
        &mut self,
        now: i64,
        seeds: &[Seed],
        free: i64,
    ) -> Result<(), StoreError> {
        // A site with several seeds is handled only once, because handling it reads all its retries.
        let sites: BTreeSet<i64> = seeds.iter().map(|seed| seed.site_key.0 as i64).collect();
        for key in sites {
            let Some(before) = self.store.tables.site(key)? else {
                continue;
            };
            let mut site = before.clone();
            site.free = site.free.min(free);
            self.store.later_make_due(&mut site, now, &mut self.block)?;
            site.schedule(now, self.store.horizon);
            self.save(&before, &site)?;
        }
        Ok(())
    }

    /// Begin the order, or continue an earlier one. Returns when it began.
    pub(crate) fn begin_order(&mut self, now: i64, order: &VisitOrder) -> Result<i64, StoreError> {
        let earlier = self.store.order()?;
        let is_same = |earlier: &StoredOrder| {
            earlier.unconditional == order.unconditional
                && earlier.began <= now
                && now.saturating_sub(earlier.began) <= order.max_age
        };
        if let Some(earlier) = earlier.filter(is_same) {
            return Ok(earlier.began);
        }
        self.store.set_order(Some(StoredOrder {
            began: now,
            unconditional: order.unconditional,
        }))?;
        Ok(now)
    }

    /// Take the next 500 sites in order of key, beginning after the key `after`, and make all their pages due, except
    /// those visited since `began`. Courtesy pauses end at `free` at the latest. Returns the key of the last site; `None`
    /// if no site has a key after `after`.
    pub(crate) fn make_next_sites_due(
        &mut self,
        now: i64,
        order: &VisitOrder,
        began: i64,
        free: i64,
        after: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        /// Sites per transaction.
        const SITES: usize = 500;
        let sites = self.store.tables.sites_after(after, SITES)?;
        for before in sites.iter().filter(|site| !site.blocked) {
            let mut site = before.clone();
            site.free = site.free.min(free);
            let visited = if began < now {
                self.store.visited_since(&site, began)?
            } else {
                HashSet::new()
            };
            self.queue_finished_pages(&mut site, order.source, &visited)?;
            // The window of a leased site belongs to the visit of another node.
            if order.unconditional && site.lease.is_none() {
                self.make_window_unconditional(&mut site)?;
            }
            self.store
                .later_make_all_due(&mut site, order, &visited, now, &mut self.block)?;
            site.schedule(now, self.store.horizon);
            self.save(before, &site)?;
        }
        Ok(sites.last().map(|site| site.key))
    }

    /// Bring forward the revisits of the next 500 sites in order of key, beginning after the key `after`. Returns the
    /// key of the last of these sites; `None` if there were no more sites.
    pub(crate) fn bring_next_sites_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
        after: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        /// Sites per transaction.
        const SITES: usize = 500;
        let sites = self.store.tables.sites_with_revisits(until, after, SITES)?;
        for before in &sites {
            let mut site = before.clone();
            let block = &mut self.block;
            self.store
                .later_bring_forward(&mut site, now, until, visited_by, block)?;
            site.schedule(now, self.store.horizon);
            self.save(before, &site)?;
        }
        Ok(sites.last().map(|site| site.key))
    }

    /// Append to the queue all pages that have a record but no next visit: failures that are not temporary, and all
    /// pages fetched under the policy `never`. Pages in `visited` are not appended.
    fn queue_finished_pages(
        &mut self,
        site: &mut SiteRow,
        source: u8,
        visited: &HashSet<PathKey>,
    ) -> Result<(), StoreError> {
        if site.known <= site.held + site.queued + site.later + site.again {
            return Ok(());
        }
        let (store, block) = (&self.store, &mut self.block);
        // A page that is already in the window or the queue, or that was postponed, may have such a record too, and must
        // not be queued twice.
        let mut seen: HashSet<PathKey> = store.queue_keys(site)?;
        store.later_keys(site, &mut seen)?;
        seen.extend(visited);
        seen.extend(store.window_read(site)?.iter().map(|page| page.key));
        let mut appended = Ok(());
        store.pages_walk(&site.clone(), |records| {
            // The newest record of a page counts.
            let newest = records
                .into_iter()
                .rev()
                .filter(|record| seen.insert(record.key));
            let finished = newest.filter(|record| record.next.is_none());
            let pages: Vec<_> = finished
                .map(|record| finished_page(record, source))
                .collect();
            appended = store.queue_append(site, &pages, block);
            appended.is_ok()
        })?;
        appended
    }

    /// Forget the entity tags and dates of change of the pages in the window.
    fn make_window_unconditional(&mut self, site: &mut SiteRow) -> Result<(), StoreError> {
        let mut pages = self.store.window_read(site)?;
        let changed = pages.iter_mut().filter_map(|page| page.past.as_mut());
        let changed = changed.filter_map(|past| past.forget_validators().then_some(()));
        if changed.count() > 0 {
            self.store.window_keep(site, 0)?;
            self.store.window_push(site, &pages, &mut self.block)?;
        }
        Ok(())
    }
}

impl<T: Tables> Store<T> {
    fn order(&self) -> Result<Option<StoredOrder>, StoreError> {
        let unconditional = self.tables.value(ORDER_UNCONDITIONAL)? == Some(1);
        let began = self.tables.value(ORDER_BEGAN)?;
        Ok(began.map(|began| StoredOrder {
            began,
            unconditional,
        }))
    }

    fn set_order(&self, order: Option<StoredOrder>) -> Result<(), StoreError> {
        let unconditional = order.map(|order| i64::from(order.unconditional));
        self.tables
            .set_value(ORDER_BEGAN, order.map(|order| order.began))?;
        self.tables.set_value(ORDER_UNCONDITIONAL, unconditional)
    }

    /// End the order, if there is one.
    pub(crate) fn end_order(&self) -> Result<(), StoreError> {
        self.set_order(None)
    }

    /// The keys of the pages that have a record since `began`.
    fn visited_since(&self, site: &SiteRow, began: i64) -> Result<HashSet<PathKey>, StoreError> {
        let mut visited = HashSet::new();
        self.pages_walk(site, |records| {
            let recent = records.iter().filter(|record| record.time >= began);
            let recent: Vec<_> = recent.map(|record| record.key).collect();
            visited.extend(&recent);
            // Each block has the records of one check-in, so older blocks have only older records.
            !recent.is_empty()
        })?;
        Ok(visited)
    }
}

/// Turns the last record of a page into a page to fetch. If the record has a text digest, the page gets a past with it,
/// so that the visit can detect a change of the text.
fn finished_page(record: PageRecord, source: u8) -> Pending {
    let has_text = record.outcome == Outcome::Answer(200) && record.text_digest != 0;
    let past = has_text.then(|| {
        Box::new(Past {
            time: record.time,
            visited: record.time,
            digest: record.digest.unwrap_or_default(),
            fingerprint: record.text_digest,
            text: true,
            location: record.location,
            media_type: record.media_type,
            language: record.language,
            size: record.size,
            claim: source,
            ..Past::default()
        })
    });
    Pending {
        path: record.path,
        key: record.key,
        depth: record.depth,
        site_depth: record.site_depth,
        tries: 0,
        hop: record.hop,
        via: record.via,
        past,
    }
}
