//! Check-out: builds the lease of a site (F2, F6, F7; Viuva Negra 5).
//!
//! The inbox of a site is merged only here. Links to known pages are dropped. The other links are appended to the
//! window or the queue. If the inbox had only links to known pages and the site has no other page to fetch now, the
//! site is not leased.

use aranha_url::SiteKey;

use super::admission::Admission;
use super::core::Core;
use super::site_row::SiteRow;
use super::tables::{Inbox as _, Tables};
use crate::store_error::StoreError;
use crate::{Lease, Pending};

/// One call of `check_out` examines at most `EXAMINED_PER_LEASE` sites per requested lease, plus `EXAMINED_EXTRA`. This
/// bounds the work if the inboxes of many due sites contain only known pages. When `EXAMINED_EXTRA` was 16 and a link run
/// made 100,000 such sites due, another site waited for 51 s, although the node had room for more visits.
const EXAMINED_PER_LEASE: usize = 4;
const EXAMINED_EXTRA: usize = 256;
/// Maximum number of expired leases that one call of `check_out` reclaims.
pub(crate) const MAX_RECLAIMED: usize = 1000;
/// Minimum time between two flushes by check-outs while sites are leased, in milliseconds.
pub(crate) const MIN_FLUSH_INTERVAL: i64 = 250;

/// The number of sites that a check-out of `room` leases examines.
pub(crate) fn examined(room: usize) -> usize {
    room.saturating_mul(EXAMINED_PER_LEASE)
        .saturating_add(EXAMINED_EXTRA)
}

/// A lease that is ended by the frontier, because it expired or its node is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AbandonedLease {
    pub(crate) id: i64,
    pub(crate) site: i64,
    /// Time of the check-out.
    pub(crate) since: i64,
}

impl<T: Tables> Core<T> {
    /// End a lease whose visit is gone. The site becomes due, with its window as of the last check-in. Its waiting time
    /// is counted from the check-out of this lease.
    pub(crate) fn reclaim(&mut self, now: i64, lease: AbandonedLease) -> Result<(), StoreError> {
        self.store.tables.lease_delete(lease.id)?;
        self.leased = self.leased.saturating_sub(1);
        if let Some(before) = self.store.tables.site(lease.site)? {
            if before.lease != Some(lease.id) {
                return Ok(());
            }
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(lease.since);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        Ok(())
    }

    /// Lease one site; `None` if it has nothing to fetch after its inbox is merged.
    pub(crate) fn lease_site(
        &mut self,
        now: i64,
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
        let mut sources = 0;
        if site.inbox {
            let (key, consumed) = (site.key, site.consumed);
            let mut admission =
                Admission::new(store, &mut site, &mut known, &mut window, limit, block);
            let newest = self
                .inbox
                .read(store, key, consumed, |link| admission.take(&link));
            sources = admission.end(newest)?;
            self.inbox.on_read(key);
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
        let id = self.store.tables.lease_insert(site.key, now, expires)?;
        site.lease = Some(id);
        site.schedule(now, self.store.horizon);
        let mut facts = self.store.facts_read(&site)?;
        facts.sources |= sources;
        self.save(before, &site)?;
        self.leased += 1;
        Ok(Some(Lease {
            id: id as u64,
            node: self.store.tables.node() as u64,
            site_key: SiteKey(site.key as u64),
            facts,
            seed: site.seed,
            due: before.due.unwrap_or(now),
            pending: window,
            has_more: has_more(&site, now, self.store.horizon),
            known,
            expires,
            gate: None,
            site: site.name,
        }))
    }

    /// The expiry of a lease that is given or renewed now.
    pub(crate) fn expiry(&self, now: i64) -> i64 {
        let lease = i64::try_from(self.options.lease.as_millis()).unwrap_or(i64::MAX);
        now.saturating_add(lease)
    }
}

/// Whether pages that are not in the window are due.
pub(super) fn has_more(site: &SiteRow, now: i64, horizon: i64) -> bool {
    let due = |time: Option<i64>, until: i64| time.is_some_and(|time| time <= until);
    site.queued > 0 || due(site.later_due, now) || due(site.again_due, now.min(horizon))
}
