//! The embedded engine: SQLite, one writer, for one machine.
//!
//! Data is grouped by site, not by URL. A check-in appends one block of page records and one block of keys for its
//! site. Links to other sites are gathered, sorted by site, and written as immutable link runs (files beside the
//! database). So the cost of a URL does not grow with the crawl. `docs/decisions/0002-frontier-layout.md` describes the
//! layout, and `docs/decisions/0007-runs.md` describes link runs and the journal, both with figures.
//!
//! Invariants:
//! - **Only one process writes** (`lock.rs`). It releases all leases when it opens the collection, because the process
//!   that held them is gone.
//! - **Every call is one transaction** (`transaction.rs`), except `make_all_due` and `bring_revisits_forward`, which
//!   take several. If a transaction fails, its changes are undone in the database and in memory.
//! - **A link run that is complete according to the database has a complete and synced file.** The file is removed only
//!   after no durable state of the database lists it. Merge threads (`merge.rs`) write only files that the database
//!   does not list yet. They read the last committed state of the database.
//! - **A check-in is on the disk when the call returns**: WAL mode with `synchronous=FULL`, one fsync per transaction.
//!   Check-outs and tidying are not synced. They become durable with the next check-in, because the write-ahead log is
//!   sequential. A crash before that check-in loses nothing that was checked in earlier.
//!
//! Read first: `schema.sql`, then `checkout.rs` and `checkin.rs`. A link to another site passes through `gather.rs`,
//! `journal.rs`, `inbox.rs`, `link_runs.rs`, `link_run_file.rs` and `merge.rs`. The operations on a site and its pages
//! are in `sites/`; `tables.rs` stores their rows and blocks.

mod checkin;
mod checkout;
mod connection;
mod inbox;
mod journal;
mod link_run_cursor;
mod link_run_file;
mod link_runs;
pub(crate) mod lock;
mod merge;
mod migrations;
mod repair;
mod site_filter;
mod sites_with_inbox;
mod tables;
mod transaction;
mod view;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use aranha_url::{CanonUrl, PathKey, SiteKey};

use crate::codec::Packer;
use crate::{
    CheckIn, CheckedIn, Claim, Claimed, Explanation, Frontier, FrontierError, FrontierStatus,
    Lease, LeaseLost, Options, Outside, PageRecord, ProblemSite, RecordBatch, RecordCursor,
    Rediscovered, Seed, Seeded, SiteFacts, SiteSettings, VisitOrder,
};
use inbox::Inbox;
use lock::Lock;
use tables::Sqlite;

use crate::sites::checkout::MIN_FLUSH_INTERVAL;
use crate::sites::core::Core;
use crate::sites::store::Store;
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
/// The tables of a collection.
type SqliteStore = Store<Sqlite>;

/// Name of the database in the folder of the collection.
const FILE: &str = "frontier.db";

/// The embedded engine: the only writer of its collection.
#[derive(Debug)]
pub struct Embedded {
    core: Core<Sqlite>,
    /// When a check-out last began to write gathered links, because no site was due.
    last_flush: Option<i64>,
    /// Whether the state in memory must be read from the database before the next transaction: after opening, and after
    /// a failed transaction.
    stale: bool,
    /// Whether due times of sites may have been computed with another horizon.
    horizon_changed: bool,
    /// Whether commits are synced: the last setting of `PRAGMA synchronous`; `None` before it is first set.
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
        let db = connection::open_writer(&path, &options).map_err(|error| error.at(&path))?;
        let inbox = Inbox::new(&options);
        let store = Store::new(Sqlite::new(db, path, options.node_name()), packer);
        let mut engine = Embedded {
            core: Core::new(store, inbox, options),
            last_flush: None,
            stale: true,
            horizon_changed: true,
            durable: None,
            _lock: lock,
        };
        let released = engine.transact(true, |engine| engine.release(0))?;
        tracing::info!(folder = %folder.display(), released, "frontier opened");
        Ok(engine)
    }

    /// Release all leases.
    fn release(&mut self, now: i64) -> Result<u64, StoreError> {
        let leases = self.core.store.tables.leases()?;
        for lease in &leases {
            self.core.reclaim(now, *lease)?;
        }
        Ok(leases.len() as u64)
    }

    /// Run `work`, and write the links that it has sent to the journal.
    fn journal<T>(
        &mut self,
        work: impl FnOnce(&mut Core<Sqlite>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let start = self.core.inbox.position();
        let result = work(&mut self.core)?;
        let core = &mut self.core;
        core.inbox.journal(&core.store, start, &mut core.block)?;
        Ok(result)
    }

    /// Adds the path of the database to an error.
    fn failed(&self, error: StoreError) -> FrontierError {
        error.at(&self.core.store.tables.path)
    }

    /// Write link runs until `budget` is spent, then start and complete merges. Returns true if work is left or a merge
    /// is running. With `Duration::MAX` it waits until running merges end.
    fn work(&mut self, now: i64, budget: Duration) -> Result<bool, StoreError> {
        /// Number of links that are written between two checks of the budget.
        const STEP: usize = if cfg!(test) { 2 } else { 2000 };
        let begun = Instant::now();
        let core = &mut self.core;
        while core.inbox.is_writing() {
            core.inbox.write(&core.store, &mut core.totals, now, STEP)?;
            if begun.elapsed() >= budget {
                return Ok(true);
            }
        }
        core.inbox.merge(&core.store, budget == Duration::MAX)?;
        Ok(core.inbox.is_merging())
    }
}

impl Frontier for Embedded {
    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.transact(true, |engine| {
            engine.journal(|core| core.add_seeds(now, seeds))
        })
    }

    fn set_seed_settings(
        &mut self,
        _: i64,
        settings: &[SiteSettings],
    ) -> Result<(), FrontierError> {
        self.transact(true, |engine| engine.core.set_seed_settings(settings))
    }

    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        let settings = self.core.store.tables.seed_settings(None);
        settings.map_err(|error| self.failed(error))
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        self.transact(true, |engine| engine.core.make_sites_due(now, seeds, now))
    }

    fn make_all_due(&mut self, now: i64, order: &VisitOrder) -> Result<i64, FrontierError> {
        let began = self.transact(true, |engine| engine.core.begin_order(now, order))?;
        let mut after = None;
        loop {
            after = self.transact(true, |engine| {
                engine
                    .core
                    .make_next_sites_due(now, order, began, now, after)
            })?;
            if after.is_none() {
                return Ok(began);
            }
        }
    }

    fn end_order(&mut self) -> Result<(), FrontierError> {
        self.transact(true, |engine| engine.core.store.end_order())
    }

    fn bring_revisits_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
    ) -> Result<(), FrontierError> {
        let mut after = None;
        loop {
            after = self.transact(true, |engine| {
                engine
                    .core
                    .bring_next_sites_forward(now, until, visited_by, after)
            })?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn read_records(
        &self,
        cursor: &mut RecordCursor,
    ) -> Result<Option<RecordBatch>, FrontierError> {
        self.core
            .store
            .records_after(cursor)
            .map_err(|error| self.failed(error))
    }

    fn rediscover(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, FrontierError> {
        self.transact(true, |engine| {
            let (start, links) = (engine.core.inbox.position(), found.outside.len());
            let queued = engine.core.admit_rediscovered(now, site, found)?;
            engine.write_links(now, start, links)?;
            engine.core.inbox.merge(&engine.core.store, false)?;
            Ok(queued)
        })
    }

    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError> {
        self.transact(true, |engine| {
            engine.journal(|core| core.apply_claims(now, claims, weigh))
        })
    }

    fn revisit_until(&mut self, horizon: i64) {
        self.core.store.horizon = horizon;
        self.horizon_changed = true;
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        let seeds = self.core.store.tables.seeds();
        seeds.map_err(|error| self.failed(error))
    }

    fn check_out(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, FrontierError> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let begun = Instant::now();
        let leases = self.transact(false, |engine| engine.lease_due_sites(now, room))?;
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
        let replies = self.transact(true, |engine| engine.store_check_ins(now, batch))?;
        let ms = begun.elapsed().as_millis() as u64;
        tracing::debug!(entries = replies.len(), ms, "check-in");
        Ok(replies)
    }

    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError> {
        self.transact(false, |engine| {
            let expires = engine.core.expiry(now);
            let mut lost = Vec::new();
            for lease in leases {
                if !engine
                    .core
                    .store
                    .tables
                    .lease_renew(*lease as i64, expires)?
                {
                    lost.push(LeaseLost { lease: *lease });
                }
            }
            Ok(lost)
        })
    }

    fn release_all(&mut self, now: i64) -> Result<u64, FrontierError> {
        self.transact(true, |engine| engine.release(now))
    }

    fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, FrontierError> {
        self.transact(true, |engine| {
            engine.core.end_failed_visit(now, lease, problem, due)
        })
    }

    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        let problems = self.core.store.tables.problems();
        problems.map_err(|error| self.failed(error))
    }

    fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), FrontierError> {
        self.transact(true, |engine| {
            engine.core.bring_problem_sites_forward(now, sites, due)
        })
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let store = &self.core.store;
        let status = store.tables.status(store.horizon);
        let mut status = status.map_err(|error| self.failed(error))?;
        status.sites.problems = store.tables.problem_count();
        if status.links_gathered > 0 {
            let flush = match self.last_flush {
                Some(last) if self.core.leased > 0 => last.saturating_add(MIN_FLUSH_INTERVAL),
                _ => now,
            };
            status.next_due = Some(status.next_due.map_or(flush, |due| due.min(flush)));
        }
        Ok(status)
    }

    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        let found = self.core.store.explain(url);
        found.map_err(|error| self.failed(error))
    }

    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(true, |engine| engine.core.set_blocked(now, site, true))
    }

    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(true, |engine| engine.core.set_blocked(now, site, false))
    }

    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        self.transact(true, |engine| engine.core.refetch_pages(now, site, pages))
    }

    fn adopt(
        &mut self,
        now: i64,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, FrontierError> {
        self.transact(true, |engine| {
            engine.core.adopt_pages(now, site, origin, records)
        })
    }

    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        let inbox = &self.core.inbox;
        let merging = inbox.is_merging();
        let wait = merging && budget == Duration::MAX;
        if !(self.stale || inbox.is_writing() || inbox.has_merge_work() || wait) {
            return Ok(merging);
        }
        self.transact(false, |engine| engine.work(now, budget))
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.transact(true, |engine| {
            let core = &mut engine.core;
            core.inbox.flush(&core.store, &mut core.totals, now)
        })
    }
}
