//! Check-out and check-in: chooses due sites, and reads what the sites of a group need with few statements.

use super::Postgres;
use super::tables::{Chain, NEWEST, WHOLE};
use crate::cluster::tables::ClusterTables as _;
use crate::sites::checkout::{MIN_FLUSH_INTERVAL, examined};
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, FrontierError, Lease, LeaseLost, Then};

/// Time between two searches for dead nodes, in milliseconds.
const CLEAN_INTERVAL: i64 = 1000;
/// Maximum number of sites that one transaction examines.
const SITES: usize = 256;
/// A transaction holds the rows and blocks of this many check-ins in memory at a time.
const CHECK_INS: usize = if cfg!(test) { 2 } else { 64 };
/// When gathered links have this size in bytes, they are written as an entry of the journal.
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
            // These leases are committed. If they were not returned, nobody would visit their sites until the leases
            // expire.
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
                // If another node is the sorter, the links that it sorts make sites due soon.
                self.sort_links(now, true, false)?;
            }
            budget -= examined.min(budget);
        }
        Ok(())
    }

    /// Release the sites of dead nodes, and return sites to the queue that wait for gates without an owner.
    fn clean(&mut self, now: i64) -> Result<(), FrontierError> {
        let recent = self
            .last_clean
            .is_some_and(|last| (now - last).abs() < CLEAN_INTERVAL);
        if recent {
            return Ok(());
        }
        self.last_clean = Some(now);
        self.transact(now, |engine, now| engine.core.promote(now))?;
        if self.heartbeat.contact().may_judge(self.settings.ttl) {
            while self.transact(now, Postgres::clean_one)? {}
        }
        Ok(())
    }

    /// End the leases of this node that have expired. This is done at the beginning of the check-out, because visits
    /// cannot renew their leases while it runs.
    fn reclaim_expired(&mut self, now: i64) -> Result<(), FrontierError> {
        let tables = &self.core.store.tables;
        let expired = tables.leases.borrow().expired(now + self.shift.get(), 1);
        if expired.is_empty() {
            return Ok(());
        }
        self.transact(now, |engine, now| engine.core.end_expired(now))
    }

    /// Lease up to `count` due sites. Also returns how many sites it examined.
    fn lease_due_sites(
        &mut self,
        now: i64,
        count: usize,
    ) -> Result<(usize, Vec<Lease>), StoreError> {
        // This lock is taken before the locks of sites, as in the sorter.
        self.core.store.tables.share_runs()?;
        let has_gates = self.has_gates();
        self.core.lease_due_sites(now, count, has_gates)
    }

    /// Whether to sort links now. There must be links to sort or to announce. Also, either the last sort was long
    /// enough ago, or no site is leased or due.
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
        if let Some(number) = self.group
            && !tables.take_number(number)?
        {
            let pause = self.settings.pause;
            return self.core.end_leases_of(now, &batch, pause);
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

/// Convert the due times of a check-in from the caller's clock to the frontier's clock ([`Postgres`]), which is `shift`
/// ahead. Times of past events are not converted.
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
