//! Check-out and check-in: chooses due sites, and reads what the sites of a group need with few statements.

use super::Postgres;
use super::tables::{COLUMNS, Chain, NEWEST, PostgresTables, WHOLE};
use crate::sites::checkout::{MAX_RECLAIMED, MIN_FLUSH_INTERVAL, examined};
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED, SiteRow};
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, FrontierError, Lease, LeaseGate, LeaseLost, Then};

/// Time between two searches for dead nodes, in milliseconds.
const CLEAN_INTERVAL: i64 = 1000;
/// Maximum number of sites that one transaction examines.
const SITES: usize = 256;
/// Number of check-ins of a transaction that are in memory as rows and blocks.
const CHECK_INS: usize = if cfg!(test) { 2 } else { 64 };
/// Size in bytes at which links become an entry of the journal.
const MAX_JOURNAL_ENTRY: usize = 4 << 20;

impl Postgres {
    /// Lease up to `room` due sites.
    pub(super) fn check_out_sites(
        &mut self,
        now: i64,
        room: usize,
    ) -> Result<Vec<Lease>, FrontierError> {
        self.clean(now)?;
        self.reclaim_expired(now)?;
        if self.horizon_changed {
            self.reschedule(now)?;
        }
        let mut leases = Vec::new();
        match self.fill(now, room, &mut leases) {
            // These leases are committed. If they were not returned, nobody would visit their sites until they expire.
            Err(error) if !leases.is_empty() => {
                tracing::warn!(%error, leases = leases.len(), "a check-out has ended early");
            }
            result => result?,
        }
        Ok(leases)
    }

    /// Lease due sites until there are `room` leases.
    fn fill(
        &mut self,
        now: i64,
        room: usize,
        leases: &mut Vec<Lease>,
    ) -> Result<(), FrontierError> {
        let mut budget = examined(room);
        let mut has_sorted = false;
        while leases.len() < room && budget > 0 {
            let count = (room - leases.len()).min(budget).min(SITES);
            let (examined, new) =
                self.transact(now, |engine, now| engine.lease_due_sites(now, count))?;
            leases.extend(new);
            if examined == 0 {
                if has_sorted || !self.should_flush(now, leases.is_empty())? {
                    break;
                }
                has_sorted = true;
                self.last_flush = Some(now + self.shift.get());
                if !self.sort_for_check_out(now)? {
                    break;
                }
            }
            budget -= examined.min(budget);
        }
        Ok(())
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

    /// End the leases of this node that have expired. This is done at the beginning of the check-out, because visits
    /// cannot renew their leases while it runs.
    fn reclaim_expired(&mut self, now: i64) -> Result<(), FrontierError> {
        let tables = &self.core.store.tables;
        if tables.leases_expired(now + self.shift.get(), 1).is_empty() {
            return Ok(());
        }
        self.transact(now, |engine, now| {
            let tables = &engine.core.store.tables;
            let expired = tables.leases_expired(now, MAX_RECLAIMED);
            let sites: Vec<i64> = expired.iter().map(|lease| lease.site).collect();
            tables.lock_sites(&sites)?;
            for lease in expired {
                engine.core.reclaim(now, lease)?;
            }
            Ok(())
        })
    }

    /// Lease up to `count` due sites. Returns the number of sites that were examined too.
    fn lease_due_sites(
        &mut self,
        now: i64,
        count: usize,
    ) -> Result<(usize, Vec<Lease>), StoreError> {
        // This lock comes before those of sites, as in the sorter.
        self.core.store.tables.share_runs()?;
        let horizon = self.core.store.horizon;
        let mut sites = self.sites_in_line(now, horizon, count)?;
        let tables = &self.core.store.tables;
        sites.append(&mut tables.sites_due(now, horizon, count - sites.len())?);
        let examined = sites.len();
        let (sites, gates) = self.claim_for(now, sites)?;
        self.core.store.tables.read_for_check_out(&sites)?;
        self.core.store.tables.read_later(&sites, now, horizon)?;
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

    /// Store check-ins in one transaction.
    pub(super) fn store_check_ins(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let tables = &self.core.store.tables;
        let mut sites = Vec::with_capacity(batch.len());
        for entry in &batch {
            sites.push(tables.lease_site(entry.lease as i64)?);
        }
        tables.lock_sites(&sites.iter().flatten().copied().collect::<Vec<_>>())?;
        if self.was_stored_before()? {
            return self.end_leases_of(now, &batch);
        }
        let mut replies = Vec::with_capacity(batch.len());
        let mut batch = batch.into_iter();
        for sites in sites.chunks(CHECK_INS) {
            let part: Vec<CheckIn> = batch.by_ref().take(sites.len()).collect();
            self.read_for_check_ins(now, sites, &part)?;
            for entry in part {
                replies.push(self.store_check_in(now, entry)?);
            }
            self.write()?;
        }
        Ok(replies)
    }

    fn store_check_in(
        &mut self,
        now: i64,
        mut entry: CheckIn,
    ) -> Result<Result<CheckedIn, LeaseLost>, StoreError> {
        let (lease, shift) = (entry.lease, self.shift.get());
        shift_times(&mut entry, shift);
        let reply = self.core.store_check_in(now, entry)?;
        if self.core.inbox.outbox.gather.bytes() >= MAX_JOURNAL_ENTRY {
            let core = &mut self.core;
            let gather = &mut core.inbox.outbox.gather;
            core.store.journal_append(gather, &mut core.block)?;
        }
        let reply = reply.map(|reply| CheckedIn {
            expires: reply.expires - shift,
            ..reply
        });
        Ok(reply.ok_or(LeaseLost { lease }))
    }

    /// Read what a part of a group of check-ins needs.
    fn read_for_check_ins(
        &self,
        now: i64,
        sites: &[Option<i64>],
        part: &[CheckIn],
    ) -> Result<(), StoreError> {
        let tables = &self.core.store.tables;
        let (mut queues, mut keys, mut windows) = (Vec::new(), Vec::new(), Vec::new());
        let mut waiting = Vec::new();
        for (site, entry) in sites.iter().zip(part) {
            let Some(site) = site else {
                continue;
            };
            let Some(row) = tables.site(*site)? else {
                continue;
            };
            let wants_more = matches!(entry.then, Then::Keep { want } if want > 0);
            if row.queued > 0 && wants_more {
                queues.push(row.key);
            }
            if !entry.keys.is_empty() && (row.key_blocks + 1) % 8 == 0 {
                keys.push(row.keys);
            }
            // The chain is read before it is rewritten or deleted.
            if row.window_blocks > 1 {
                windows.push(row.window);
            }
            if wants_more {
                waiting.push(row);
            }
        }
        tables.read_later(&waiting, now, self.core.store.horizon)?;
        tables.read_queues(&queues)?;
        tables.read_chains(Chain::Keys, &keys, NEWEST)?;
        tables.read_chains(Chain::Window, &windows, WHOLE)
    }
}

/// Move the due times of a check-in from the clock of the caller to that of the sites, which is `shift` ahead. Times at
/// which something happened stay as they are.
fn shift_times(entry: &mut CheckIn, shift: i64) {
    if let Then::Release { due } = &mut entry.then {
        *due += shift;
    }
    let retries = entry.later.iter_mut().map(|(due, _)| due);
    let next = entry.done.iter_mut().filter_map(|page| page.next.as_mut());
    for time in retries.chain(next) {
        *time = time.saturating_add(shift);
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

    /// Read what the check-out of these sites needs.
    fn read_for_check_out(&self, sites: &[SiteRow]) -> Result<(), StoreError> {
        if sites.is_empty() {
            return Ok(());
        }
        let keys: Vec<i64> = sites.iter().map(|site| site.keys).collect();
        self.read_chains(Chain::Keys, &keys, WHOLE)?;
        let windows: Vec<i64> = sites.iter().map(|site| site.window).collect();
        self.read_chains(Chain::Window, &windows, WHOLE)?;
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
