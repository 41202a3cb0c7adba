//! The embedded engine: SQLite with *blocks and runs*, one writer, made for one machine.
//!
//! The layout thinks in sites, not in URLs: a check-in appends one block of page records and one of keys for its site, and
//! links to other sites are gathered, sorted and written as immutable runs (files beside the database), so that the cost of a URL stays flat however
//! large the crawl grows. `docs/decisions/0002-frontier-layout.md` draws every table and blob, and
//! 0007-runs.md what became of runs and journal, with the figures.
//!
//! What always holds:
//! - **Only one process writes** (`lock.rs`); it releases all leases when it opens, for they were its predecessor's.
//! - **Every call is one transaction**; one that fails is rolled back, memory included.
//! - **A file that the database names is whole and synced**; it is removed when no durable state names it. Threads that merge
//!   (`merge.rs`) write only files that it does not name yet, and read the database as it was last committed.
//! - **A check-in is on the disk when the call returns**: `synchronous=FULL` in WAL mode, one fsync a group commit.
//!   Check-outs and tidying are not synced: the log is a sequence, so they become durable with the next check-in, and to
//!   lose them loses nothing that was checked in.
//!
//! Read first: `schema.rs`, then `checkout.rs` and `checkin.rs`, then `gather.rs`, `inbox.rs`, `link_runs.rs`, `link_run_file.rs`,
//! `merge.rs`.

mod admission;
mod checkin;
mod checkout;
mod claims;
mod explain;
mod facts;
mod gather;
mod inbox;
mod keys;
mod later;
mod leases;
mod link_run_cursor;
mod link_run_file;
mod link_runs;
mod lock;
mod merge;
mod page_block;
mod pages;
mod queue;
mod schema;
mod seeds;
mod site_filter;
mod sites;
mod store;
mod store_error;
mod totals;
mod unique;
mod view;
mod window;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use aranha_url::{CanonUrl, SiteKey};

pub use view::{PageEntry, PageFilter, View};

use crate::codec::{BlockBuffer, Packer};
use crate::{
    CheckIn, CheckedIn, Claim, Claimed, Explanation, Frontier, FrontierError, FrontierStatus,
    Lease, LeaseLost, Options, Outside, Seed, Seeded, SiteFacts,
};
use inbox::Inbox;
use lock::Lock;
use sites::SiteRow;
use store::Store;
use store_error::StoreError;
use totals::{Count, Totals};

/// The database's name in the collection's folder.
const FILE: &str = "frontier.db";

/// A transaction that takes longer is logged as a warning.
const SLOW_TRANSACTION: Duration = Duration::from_secs(1);

/// The embedded engine; the only writer of its collection.
#[derive(Debug)]
pub struct Embedded {
    /// Before the store, and so dropped first: while a merge has the database open, to close it does not empty its log.
    inbox: Inbox,
    store: Store,
    options: Options,
    totals: Totals,
    /// Leases in force.
    leased: u64,
    /// When the gathered links were last made visible because a check-out ran dry.
    last_flush: Option<i64>,
    /// Memory lent to whoever writes a block.
    block: BlockBuffer,
    /// A failed transaction left memory behind the disk.
    stale: bool,
    /// When sites are due may have been set by another horizon than this one.
    other_horizon: bool,
    /// Whether the next commit is to be synced, as last told to the database.
    durable: Option<bool>,
    _lock: Lock,
}

impl Embedded {
    /// Open or create the frontier of the collection in `folder`, take its lock and release all leases.
    pub fn open(folder: &Path, options: Options) -> Result<Embedded, FrontierError> {
        let lock = Lock::take(folder)?;
        let path = folder.join(FILE);
        let packer = Packer::new().map_err(|source| FrontierError::File {
            path: path.clone(),
            source,
        })?;
        let db = schema::open_writer(&path, &options).map_err(|fault| fault.at(&path))?;
        let inbox = Inbox::new(&options);
        let mut engine = Embedded {
            store: Store::new(db, packer, path),
            options,
            totals: Totals::default(),
            inbox,
            leased: 0,
            last_flush: None,
            block: BlockBuffer::default(),
            stale: true,
            other_horizon: true,
            durable: None,
            _lock: lock,
        };
        let released = engine.transact(true, |engine| engine.release(0, None))?;
        tracing::info!(folder = %folder.display(), released, "frontier opened");
        Ok(engine)
    }

    /// Do `work` in one transaction; when it fails nothing has happened, in memory neither.
    fn transact<T>(
        &mut self,
        durable: bool,
        work: impl FnOnce(&mut Embedded) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        let begun = Instant::now();
        let result = self
            .begin(durable)
            .and_then(|()| work(self))
            .and_then(|value| self.commit().map(|()| value));
        let elapsed = begun.elapsed();
        if elapsed > SLOW_TRANSACTION {
            tracing::info!(ms = elapsed.as_millis() as u64, durable, "slow transaction");
        }
        result.map_err(|fault| {
            if !self.store.db.is_autocommit() {
                // The error that counts is the first one.
                let _ = self.store.db.execute_batch("ROLLBACK");
            }
            self.stale = true;
            fault.at(&self.store.path)
        })
    }

    fn begin(&mut self, durable: bool) -> Result<(), StoreError> {
        if self.durable != Some(durable) {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.store.db.pragma_update(None, "synchronous", level)?;
            self.durable = Some(durable);
        }
        if self.stale {
            self.reload()?;
        }
        self.store.run("BEGIN IMMEDIATE", [])?;
        Ok(())
    }

    fn reload(&mut self) -> Result<(), StoreError> {
        self.totals = self.store.totals_read()?;
        self.inbox.reload(&self.store)?;
        self.leased = self.store.leases_of(None)?.len() as u64;
        self.other_horizon = true;
        self.stale = false;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.totals
            .set(Count::Gathered, self.inbox.gathered() as i64);
        self.totals.set(Count::Runs, self.inbox.runs.len() as i64);
        self.store.totals_write(&mut self.totals)?;
        self.store.run("COMMIT", [])?;
        // A transaction that changed nothing was not synced, and what came before it neither. It has been made, whatever comes of
        // the sync: without one the files stay until the next.
        let doomed = self.durable == Some(true) && !self.inbox.doomed.is_empty();
        if doomed && self.store.sync().is_ok() {
            self.inbox.remove_doomed();
        }
        Ok(())
    }

    /// Write a site's row when it changed.
    fn save(&mut self, before: &SiteRow, after: &SiteRow) -> Result<(), StoreError> {
        if before != after {
            self.store.site_update(after)?;
            self.totals.site(Some(before), after);
        }
        Ok(())
    }

    /// Release the leases of a node, or all.
    fn release(&mut self, now: i64, node: Option<&str>) -> Result<u64, StoreError> {
        let leases = self.store.leases_of(node)?;
        for gone in &leases {
            self.take_back(now, *gone)?;
        }
        Ok(leases.len() as u64)
    }

    fn set_blocked(&mut self, now: i64, name: &str, blocked: bool) -> Result<bool, StoreError> {
        let key = SiteKey::of(name).0 as i64;
        let Some(before) = self.store.site(key)? else {
            if blocked {
                let mut row = SiteRow::new(key, name, &format!("https://{name}"), 0);
                row.blocked = true;
                self.store.site_insert(&row)?;
                self.totals.site(None, &row);
            }
            return Ok(blocked);
        };
        let mut row = before.clone();
        row.blocked = blocked;
        if !blocked {
            self.clear_blocked(&mut row)?;
        }
        row.schedule(now, self.store.horizon);
        self.save(&before, &row)?;
        Ok(before.blocked != blocked)
    }

    /// Clear the reason of a block, and the counters that led to it.
    fn clear_blocked(&mut self, row: &mut SiteRow) -> Result<(), StoreError> {
        let mut facts = self.store.facts_read(row)?;
        if facts.blocked.take().is_some() {
            facts.novelty = crate::Novelty::default();
            facts.counters.duplicates = 0;
            self.store.facts_write(row, &facts, &mut self.block)?;
        }
        Ok(())
    }

    /// Background work until `budget` is spent; true when there is more. Who has all the time there is waits for merges, too.
    fn work(&mut self, now: i64, budget: Duration) -> Result<bool, StoreError> {
        /// Links of a run under way that are written between two looks at the clock.
        const STEP: usize = if cfg!(test) { 2 } else { 2000 };
        let begun = Instant::now();
        while self.inbox.is_writing() {
            self.inbox.write(&self.store, &mut self.totals, now, STEP)?;
            if begun.elapsed() >= budget {
                return Ok(true);
            }
        }
        self.inbox.merge(&self.store, budget == Duration::MAX)?;
        Ok(self.inbox.is_merging())
    }
}

impl Frontier for Embedded {
    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.transact(true, |engine| engine.take_seeds(now, seeds))
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        self.transact(true, |engine| engine.bring_forward(now, seeds))
    }

    fn make_all_due(&mut self, now: i64, source: u8) -> Result<(), FrontierError> {
        let mut after = None;
        loop {
            after = self.transact(true, |engine| engine.bring_all_forward(now, source, after))?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError> {
        self.transact(true, |engine| engine.take_claims(now, claims, weigh))
    }

    fn revisit_until(&mut self, horizon: i64) {
        self.store.horizon = horizon;
        self.other_horizon = true;
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.store
            .seeds_read()
            .map_err(|fault| fault.at(&self.store.path))
    }

    fn check_out(
        &mut self,
        now: i64,
        node: &str,
        room: usize,
    ) -> Result<Vec<Lease>, FrontierError> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let begun = Instant::now();
        let leases = self.transact(false, |engine| engine.hand_out(now, node, room))?;
        let ms = begun.elapsed().as_millis() as u64;
        tracing::debug!(sites = leases.len(), room, ms, "check-out");
        Ok(leases)
    }

    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        self.check_in_each(now, &mut batch.into_iter())
    }

    fn check_in_each(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        let begun = Instant::now();
        let replies = self.transact(true, |engine| engine.take_in(now, batch))?;
        let ms = begun.elapsed().as_millis() as u64;
        tracing::debug!(groups = replies.len(), ms, "check-in");
        Ok(replies)
    }

    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError> {
        self.transact(false, |engine| {
            let expires = engine.expiry(now);
            let mut lost = Vec::new();
            for lease in leases {
                if !engine.store.lease_renew(*lease as i64, expires)? {
                    lost.push(LeaseLost { lease: *lease });
                }
            }
            Ok(lost)
        })
    }

    fn release_all(&mut self, now: i64, node: &str) -> Result<u64, FrontierError> {
        self.transact(true, |engine| engine.release(now, Some(node)))
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let mut status = self
            .store
            .status()
            .map_err(|fault| fault.at(&self.store.path))?;
        if status.links_gathered > 0 {
            let flush = match self.last_flush {
                Some(last) if self.leased > 0 => last.saturating_add(checkout::FLUSH_GAP),
                _ => now,
            };
            status.next_due = Some(status.next_due.map_or(flush, |due| due.min(flush)));
        }
        Ok(status)
    }

    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        self.store
            .explain(url)
            .map_err(|fault| fault.at(&self.store.path))
    }

    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(true, |engine| engine.set_blocked(now, site, true))
    }

    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(true, |engine| engine.set_blocked(now, site, false))
    }

    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        let merging = self.inbox.is_merging();
        let waits = merging && budget == Duration::MAX;
        if !(self.stale || self.inbox.is_writing() || self.inbox.wants_merge() || waits) {
            return Ok(merging);
        }
        self.transact(false, |engine| engine.work(now, budget))
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.transact(true, |engine| {
            engine.inbox.flush(&engine.store, &mut engine.totals, now)
        })
    }
}
