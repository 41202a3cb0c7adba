//! Check-out: which sites are handed out, and what a lease brings (F2, F6, F7; V 5).
//!
//! A site's inbox is merged here and only here: links whose keys are known are dropped, the others are admitted behind
//! what waits already. A site that was due for links that all proved known is passed over and goes idle.

use aranha_url::SiteKey;

use super::Embedded;
use super::admission::Admission;
use super::leases::Gone;
use super::sites::SiteRow;
use super::store_error::StoreError;
use crate::{Lease, Pending};

/// Sites looked at in one call, for each one asked for, and besides: bounds the work when many prove to have nothing new.
/// When everything is known and a run has made a hundred thousand sites due, all must be looked at before the last one
/// that has something to do: with sixteen besides, it waited for 51 seconds beside free slots.
const LOOKS: usize = 4;
const LOOKS_BESIDES: usize = 256;
/// Expired leases taken back in one call.
const RECLAIMED: usize = 1000;
/// Links gathered are sorted into runs at most this often (milliseconds) while visits are under way.
pub(super) const FLUSH_GAP: i64 = 250;
/// Gathered links made visible at a time when a check-out runs dry, and how often in one call.
const FLUSH_LINKS: usize = if cfg!(test) { 2 } else { 2000 };
const FLUSH_STEPS: usize = 10;

impl Embedded {
    pub(super) fn hand_out(
        &mut self,
        now: i64,
        node: &str,
        room: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        for gone in self.store.leases_expired(now, RECLAIMED)? {
            self.take_back(now, gone)?;
        }
        if std::mem::take(&mut self.other_horizon) {
            self.store.sites_reschedule(now)?;
        }
        let mut leases = Vec::new();
        let mut looks = room.saturating_mul(LOOKS).saturating_add(LOOKS_BESIDES);
        let mut steps = FLUSH_STEPS;
        while leases.len() < room && looks > 0 {
            let count = (room - leases.len()).min(looks).min(512);
            let sites = self.store.sites_due(now, count)?;
            if sites.is_empty() {
                if steps == 0 || !self.wants_flush(now, leases.is_empty()) {
                    break;
                }
                steps -= 1;
                self.flush_step(now)?;
            }
            looks -= sites.len();
            for site in sites {
                leases.extend(self.lease(now, node, &site)?);
            }
        }
        Ok(leases)
    }

    /// Make some of the gathered links visible.
    fn flush_step(&mut self, now: i64) -> Result<(), StoreError> {
        if !self.inbox.is_writing() {
            self.inbox.freeze(&self.store)?;
            self.last_flush = Some(now);
        }
        self.inbox
            .write(&self.store, &mut self.totals, now, FLUSH_LINKS)
    }

    /// Whether links in memory should become visible now: room is left, and a run is being written anyway, or it is not
    /// only a moment since the last one was begun, or nothing else can go on.
    fn wants_flush(&self, now: i64, nothing_found: bool) -> bool {
        let lately = self
            .last_flush
            .is_some_and(|last| now.saturating_sub(last).abs() < FLUSH_GAP);
        self.inbox.is_writing()
            || self.inbox.gathered() > 0 && (!lately || (nothing_found && self.leased == 0))
    }

    /// End a lease whose visit is gone: the site is due again with the window last checked in. It waits since it was
    /// handed out, not since it was free for that visit.
    pub(super) fn take_back(&mut self, now: i64, gone: Gone) -> Result<(), StoreError> {
        self.store.lease_delete(gone.id)?;
        self.leased = self.leased.saturating_sub(1);
        if let Some(before) = self.store.site(gone.site)? {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(gone.since);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        Ok(())
    }

    /// Lease one site, unless it has nothing to fetch after all.
    fn lease(
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
            let (runs, written) = (&self.inbox.runs, self.inbox.written());
            let mut admission =
                Admission::new(store, &mut site, &mut known, &mut window, limit, block);
            let newest =
                store.inbox_walk(runs, written, key, consumed, |link| admission.take(&link));
            admission.end(newest)?;
            self.inbox.waiting.remove(key);
        }
        self.store
            .window_push(&mut site, &window[held..], &mut self.block)?;
        if window.is_empty() {
            site.due = None;
            site.schedule(now, self.store.horizon);
            // Also when all but its class stays: it must not be found again at once.
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

/// Whether the site has pages on disk that a visit could take now.
pub(super) fn has_more(site: &SiteRow, now: i64, horizon: i64) -> bool {
    let due = |time: Option<i64>, until: i64| time.is_some_and(|time| time <= until);
    site.queued > 0 || due(site.later_due, now) || due(site.again_due, now.min(horizon))
}
