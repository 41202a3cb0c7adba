//! Check-out: chooses due sites and builds their leases (F2, F6, F7; Viuva Negra 5).
//!
//! The inbox of a site is merged only here. Links to known pages are dropped; the others are appended to the window or
//! the queue. If the inbox had only links to known pages and the site has no other page to fetch now, the site is not
//! leased.

use aranha_url::SiteKey;

use super::Embedded;
use super::admission::Admission;
use super::leases::AbandonedLease;
use super::sites::SiteRow;
use super::store_error::StoreError;
use crate::{Lease, Pending};

/// One call examines at most `EXAMINED_PER_LEASE` sites per requested lease, plus `EXAMINED_EXTRA`. This bounds the
/// work if the inboxes of many due sites contain only known pages. When `EXAMINED_EXTRA` was 16 and a link run made
/// 100,000 such sites due, another site waited for 51 s, although the node had room for more visits.
const EXAMINED_PER_LEASE: usize = 4;
const EXAMINED_EXTRA: usize = 256;
/// Maximum number of expired leases that one call reclaims.
const MAX_RECLAIMED: usize = 1000;
/// Minimum time between two flushes by check-outs while sites are leased, in milliseconds.
pub(super) const MIN_FLUSH_INTERVAL: i64 = 250;
/// One flush step writes `FLUSH_LINKS` gathered links, and one call makes at most `MAX_FLUSH_STEPS` steps.
const FLUSH_LINKS: usize = if cfg!(test) { 2 } else { 2000 };
const MAX_FLUSH_STEPS: usize = 10;

impl Embedded {
    pub(super) fn lease_due_sites(
        &mut self,
        now: i64,
        node: &str,
        room: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        for lease in self.store.leases_expired(now, MAX_RECLAIMED)? {
            self.reclaim(now, lease)?;
        }
        if std::mem::take(&mut self.horizon_changed) {
            self.store.sites_reschedule(now)?;
        }
        let mut leases = Vec::new();
        let mut budget = room
            .saturating_mul(EXAMINED_PER_LEASE)
            .saturating_add(EXAMINED_EXTRA);
        let mut flush_steps = MAX_FLUSH_STEPS;
        while leases.len() < room && budget > 0 {
            let count = (room - leases.len()).min(budget).min(512);
            let sites = self.store.sites_due(now, count)?;
            if sites.is_empty() {
                if flush_steps == 0 || !self.should_flush(now, leases.is_empty()) {
                    break;
                }
                flush_steps -= 1;
                self.flush_step(now)?;
            }
            budget -= sites.len();
            for site in sites {
                leases.extend(self.lease_site(now, node, &site)?);
            }
        }
        Ok(leases)
    }

    /// Write some of the gathered links to a link run, so that their sites become due.
    fn flush_step(&mut self, now: i64) -> Result<(), StoreError> {
        if !self.inbox.is_writing() {
            self.inbox.begin_run(&self.store)?;
            self.last_flush = Some(now);
        }
        self.inbox
            .write(&self.store, &mut self.totals, now, FLUSH_LINKS)
    }

    /// Whether to write gathered links now: if a link run is being written, if the last flush was long enough ago, or
    /// if no site is leased or due.
    fn should_flush(&self, now: i64, no_leases: bool) -> bool {
        let recent = self
            .last_flush
            .is_some_and(|last| now.saturating_sub(last).abs() < MIN_FLUSH_INTERVAL);
        self.inbox.is_writing()
            || self.inbox.gathered() > 0 && (!recent || (no_leases && self.leased == 0))
    }

    /// End a lease whose visit is gone. The site becomes due, with its window as of the last check-in. Its wait is
    /// counted from the check-out of this lease.
    pub(super) fn reclaim(&mut self, now: i64, lease: AbandonedLease) -> Result<(), StoreError> {
        self.store.lease_delete(lease.id)?;
        self.leased = self.leased.saturating_sub(1);
        if let Some(before) = self.store.site(lease.site)? {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(lease.since);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        Ok(())
    }

    /// Lease one site; `None` if it has nothing to fetch after its inbox is merged.
    fn lease_site(
        &mut self,
        now: i64,
        node: &str,
        before: &SiteRow,
    ) -> Result<Option<Lease>, StoreError> {
        let mut site = before.clone();
        let mut known = self.store.keys_read(&site)?;
        let mut window = self.store.window_read(&site)?;
        let held = window.len();
        let limit = self.options.window.max(1);
        let room = |window: &Vec<Pending>| limit.saturating_sub(window.len());
        let (store, block) = (&self.store, &mut self.block);
        store.later_take(&mut site, now, room(&window), &mut window, block)?;
        store.queue_take(&mut site, room(&window), &mut window, block)?;
        if site.inbox {
            let (key, consumed) = (site.key, site.consumed);
            let (runs, in_progress) = (&self.inbox.runs, self.inbox.links_in_progress());
            let mut admission =
                Admission::new(store, &mut site, &mut known, &mut window, limit, block);
            let newest = store.inbox_walk(runs, in_progress, key, consumed, |link| {
                admission.take(&link)
            });
            admission.end(newest)?;
            self.inbox.receiving_sites.remove(key);
        }
        self.store
            .window_push(&mut site, &window[held..], &mut self.block)?;
        if window.is_empty() {
            site.due = None;
            site.schedule(now, self.store.horizon);
            // The row is written even if it is unchanged, because the write updates the class. Otherwise the next query
            // for due sites could return this site again.
            self.store.site_update(&site)?;
            self.totals.site(Some(before), &site);
            return Ok(None);
        }
        let expires = self.expiry(now);
        let id = self.store.lease_insert(site.key, node, now, expires)?;
        site.lease = Some(id);
        site.schedule(now, self.store.horizon);
        let facts = self.store.facts_read(&site)?;
        self.save(before, &site)?;
        self.leased += 1;
        Ok(Some(Lease {
            id: id as u64,
            site_key: SiteKey(site.key as u64),
            facts,
            seed: site.seed,
            due: before.due.unwrap_or(now),
            pending: window,
            has_more: has_more(&site, now, self.store.horizon),
            known,
            expires,
            site: site.name,
        }))
    }

    pub(super) fn expiry(&self, now: i64) -> i64 {
        let lease = i64::try_from(self.options.lease.as_millis()).unwrap_or(i64::MAX);
        now.saturating_add(lease)
    }
}

/// Whether pages that are not in the window are due.
pub(super) fn has_more(site: &SiteRow, now: i64, horizon: i64) -> bool {
    let due = |time: Option<i64>, until: i64| time.is_some_and(|time| time <= until);
    site.queued > 0 || due(site.later_due, now) || due(site.again_due, now.min(horizon))
}
