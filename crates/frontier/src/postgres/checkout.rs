//! Check-out and check-in: chooses due sites, and reads what the sites of a group need with few statements.

use super::Postgres;
use super::tables::{COLUMNS, Chain, PostgresTables};
use crate::sites::checkout::{MAX_RECLAIMED, MIN_FLUSH_INTERVAL, examined};
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED, SiteRow};
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{CheckIn, FrontierError, Lease, LeaseGate, Then};

/// Time between two searches for dead nodes, in milliseconds.
const CLEAN_INTERVAL: i64 = 1000;
/// Maximum number of sites that one transaction examines.
const SITES: usize = 256;

impl Postgres {
    /// Lease up to `room` due sites.
    pub(super) fn check_out_sites(
        &mut self,
        now: i64,
        room: usize,
    ) -> Result<Vec<Lease>, FrontierError> {
        self.clean(now)?;
        let mut leases = Vec::new();
        let mut budget = examined(room);
        let mut has_sorted = false;
        while leases.len() < room && budget > 0 {
            let count = (room - leases.len()).min(budget).min(SITES);
            let (examined, new) =
                self.transact(now, |engine, now| engine.lease_due_sites(now, count))?;
            if examined == 0 {
                if has_sorted || !self.should_flush(now, leases.is_empty())? {
                    break;
                }
                has_sorted = true;
                self.last_flush = Some(now + self.shift.get());
                // If another node sorts, its links make sites due soon.
                self.sort_links(now, true, false)?;
            }
            budget -= examined.min(budget);
            leases.extend(new);
        }
        Ok(leases)
    }

    /// Give back the sites of dead nodes, and let sites wait no longer for gates without an owner.
    fn clean(&mut self, now: i64) -> Result<(), FrontierError> {
        let recent = self
            .last_clean
            .is_some_and(|last| (now - last).abs() < CLEAN_INTERVAL);
        if recent {
            return Ok(());
        }
        self.last_clean = Some(now);
        self.transact(now, Postgres::promote)?;
        if self.heartbeat.may_judge(self.settings.ttl) {
            while self.transact(now, Postgres::clean_one)? {}
        }
        Ok(())
    }

    /// Lease up to `count` due sites. Returns the number of sites that were examined too.
    fn lease_due_sites(
        &mut self,
        now: i64,
        count: usize,
    ) -> Result<(usize, Vec<Lease>), StoreError> {
        // This lock comes before those of sites, as in the sorter.
        self.core.store.tables.share_runs()?;
        let expired = self.core.store.tables.leases_expired(now, MAX_RECLAIMED);
        let sites: Vec<i64> = expired.iter().map(|lease| lease.site).collect();
        self.core.store.tables.lock_sites(&sites)?;
        for lease in expired {
            self.core.reclaim(now, lease)?;
        }
        let horizon = self.core.store.horizon;
        if self.horizon_changed {
            self.core.store.tables.write()?;
            self.core.store.tables.unit.take();
            self.core.store.tables.unit.borrow_mut().is_writing = true;
            self.core.store.tables.reschedule(now, horizon)?;
            self.horizon_changed = false;
        }
        // Sites that were just reclaimed must be found by the query.
        self.write()?;
        let mut sites = self.sites_in_line(now, horizon, count)?;
        let tables = &self.core.store.tables;
        sites.append(&mut tables.sites_due(now, horizon, count - sites.len())?);
        let examined = sites.len();
        let (sites, gates) = self.claim_for(now, sites)?;
        self.core.store.tables.read_for_check_out(&sites)?;
        let mut leases = Vec::new();
        for site in &sites {
            let Some(mut lease) = self.core.lease_site(now, site)? else {
                continue;
            };
            let gate = self.core.store.tables.gate(site.key);
            lease.gate = gate.and_then(|address| {
                let closed = *gates.get(&address)?;
                Some(LeaseGate { address, closed })
            });
            leases.push(lease);
        }
        Ok((examined, leases))
    }

    /// Whether to sort links now: if there are some, and the last time was long enough ago or no site is leased or due.
    fn should_flush(&self, now: i64, no_leases: bool) -> Result<bool, FrontierError> {
        let now = now + self.shift.get();
        let recent = self
            .last_flush
            .is_some_and(|last| now.saturating_sub(last).abs() < MIN_FLUSH_INTERVAL);
        if recent && !(no_leases && self.core.leased == 0) {
            return Ok(false);
        }
        let work = self.read(|store| store.tables.sort_work())?;
        Ok(!work.is_announced || work.journals.iter().sum::<i64>() > 0)
    }

    /// Read what the check-ins of a group need.
    pub(super) fn read_for_check_ins(&self, batch: &[CheckIn]) -> Result<(), StoreError> {
        let tables = &self.core.store.tables;
        let mut sites = Vec::with_capacity(batch.len());
        for entry in batch {
            sites.push(tables.lease_site(entry.lease as i64)?);
        }
        tables.lock_sites(&sites.iter().flatten().copied().collect::<Vec<_>>())?;
        let (mut queues, mut keys, mut windows) = (Vec::new(), Vec::new(), Vec::new());
        for (site, entry) in sites.iter().zip(batch) {
            let Some(site) = site else {
                continue;
            };
            let Some(row) = tables.site(*site)? else {
                continue;
            };
            if row.queued > 0 && matches!(entry.then, Then::Keep { want } if want > 0) {
                queues.push(row.key);
            }
            if !entry.keys.is_empty() && (row.key_blocks + 1) % 8 == 0 {
                keys.push(row.keys);
            }
            // The chain is read before it is rewritten or deleted.
            if row.window_blocks > 1 {
                windows.push(row.window);
            }
        }
        tables.read_queues(&queues)?;
        tables.read_chains(Chain::Keys, &keys)?;
        tables.read_chains(Chain::Window, &windows)
    }
}

impl PostgresTables {
    /// The next sites to lease, at most `count`, locked: seed sites that were never visited, or, if there are none, the
    /// sites that have waited longest. Sites that another transaction has locked are skipped.
    fn sites_due(&self, now: i64, horizon: i64, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let until = now.min(horizon);
        let part = |class: i64, until: &str| {
            format!(
                "(SELECT {COLUMNS} FROM sites WHERE class = {class} AND due <= {until} AND NOT in_line ORDER BY due LIMIT $2 \
                 FOR UPDATE SKIP LOCKED)"
            )
        };
        let count = count as i64;
        let rows = self
            .connection
            .query(&part(SEED_NEW, "$1"), &[&now, &count])?;
        let mut sites = self.keep_sites(&rows)?;
        if sites.is_empty() {
            for (class, until) in [
                (FOUND, now),
                (SEED_VISITED, now),
                (SEED_REVISIT, until),
                (FOUND_REVISIT, until),
            ] {
                let rows = self
                    .connection
                    .query(&part(class, "$1"), &[&until, &count])?;
                sites.append(&mut self.keep_sites(&rows)?);
            }
            sites.sort_by_key(|site| site.due);
            sites.truncate(count as usize);
        }
        Ok(sites)
    }

    /// Recompute `due` and `class` of all sites after the horizon changed: [`SiteRow`]'s `schedule` and `class` in SQL.
    pub(super) fn reschedule(&self, now: i64, horizon: i64) -> Result<(), StoreError> {
        let (seed_new, found, seed_visited) = (SEED_NEW, FOUND, SEED_VISITED);
        let (seed_revisit, found_revisit) = (SEED_REVISIT, FOUND_REVISIT);
        self.connection.run(
            &format!(
                "UPDATE sites SET due = greatest(free, CASE WHEN again_due <= $2 THEN least(again_due, later_due) \
                 ELSE later_due END) WHERE key IN (SELECT key FROM sites WHERE class IN ({seed_new}, {found}, {seed_visited}) \
                 AND due > $1 AND later_due IS NOT NULL AND again_due IS NOT NULL AND held + queued = 0 AND NOT inbox \
                 ORDER BY key FOR UPDATE)"
            ),
            &[&now, &horizon],
        )?;
        self.connection.run(
            &format!(
                "UPDATE sites SET class = CASE WHEN class = {seed_revisit} THEN {seed_visited} ELSE {found} END \
                 WHERE key IN (SELECT key FROM sites WHERE class IN ({seed_revisit}, {found_revisit}) AND due > $1 \
                 AND again_due <= $1 ORDER BY key FOR UPDATE)"
            ),
            &[&horizon],
        )?;
        Ok(())
    }

    /// Read what the check-out of these sites needs.
    fn read_for_check_out(&self, sites: &[SiteRow]) -> Result<(), StoreError> {
        if sites.is_empty() {
            return Ok(());
        }
        let keys: Vec<i64> = sites.iter().map(|site| site.keys).collect();
        self.read_chains(Chain::Keys, &keys)?;
        let windows: Vec<i64> = sites.iter().map(|site| site.window).collect();
        self.read_chains(Chain::Window, &windows)?;
        let all: Vec<i64> = sites.iter().map(|site| site.key).collect();
        self.read_facts(&all)?;
        let queued = sites.iter().filter(|site| site.queued > 0);
        self.read_queues(&queued.map(|site| site.key).collect::<Vec<_>>())?;
        let waiting = sites.iter().filter(|site| site.inbox);
        let waiting: Vec<_> = waiting.map(|site| (site.key, site.consumed)).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        self.read_links(&waiting)
    }
}
