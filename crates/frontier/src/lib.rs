//! The Global Frontier: all sites and pages that a crawl knows, and the leases on sites (F1; Viuva Negra 5).
//!
//! It is the first and the last step of the flow. [`Frontier::check_out`] leases sites to visits.
//! [`Frontier::check_in`] stores the pages that they fetched and the links that they found. A lease contains the keys
//! of all known pages of its site, so the visit itself recognises links to pages that are known. Links to other sites
//! are appended to the inboxes of those sites without a look-up, and compared with the known keys when the site is next
//! checked out. So the cost of a link does not grow with the crawl (F4; Viuva Negra 5.3).
//!
//! Invariants:
//! - **A site is leased to one visit at a time.**
//! - **Everything checked in survives a crash at any instant.** A check-in, including its links to other sites, is one
//!   transaction.
//! - **A page is admitted once.** Its key is compared with the known keys of its site before it is queued.
//! - **Memory is bounded by [`Options`]**, plus the keys of the sites that are being checked out.
//! - **The caller gives the time**, in Unix milliseconds.
//!
//! [`embedded`] is the SQLite engine, for one machine. [`postgres`] is the PostgreSQL engine, for several nodes. [`memory`]
//! is an engine for simulations of several nodes. All pass the same tests (`suite/`). What happens to a site is the same
//! code for all (`sites/`), and so are the encoding of links (`links/`) and the rules by which nodes share a frontier
//! (`cluster/`). The tables are in `schema.sql` of the engines that store them.
//!
//! Read first: [`record`], then the trait [`Frontier`], then [`embedded`] and `docs/decisions/0002-frontier-layout.md`, or [`postgres`] and
//! `docs/decisions/0013-postgres.md`.
//!
//! ```
//! use aranha_frontier::{
//!     CheckIn, Embedded, Flags, Frontier, Options, Outcome, PageRecord, Seed, Then, WindowUpdate,
//! };
//! use aranha_url::{Canonicaliser, UrlRules};
//!
//! let folder = tempfile::tempdir()?;
//! let url = Canonicaliser::new(UrlRules::default()).canon("https://example.org/")?;
//! let mut frontier = Embedded::open(folder.path(), Options::default())?;
//! frontier.seed(0, &[Seed::of(&url)])?;
//!
//! // Check out: up to 10 sites for this node.
//! let leases = frontier.check_out(1000, 10)?;
//! let lease = &leases[0];
//! assert_eq!((lease.site.as_str(), lease.pending[0].path.as_str()), ("example.org", "/"));
//!
//! // Check in: the page was fetched, and is due again after a day.
//! let page = lease.pending[0].clone();
//! let record = PageRecord {
//!     path: page.path,
//!     key: page.key,
//!     depth: page.depth,
//!     site_depth: page.site_depth,
//!     time: 1500,
//!     outcome: Outcome::Answer(200),
//!     media_type: "text/html".into(),
//!     size: 5120,
//!     digest: None,
//!     text_digest: 0,
//!     language: None,
//!     location: None,
//!     revisit: false,
//!     duration_ms: 80,
//!     tries: 0,
//!     hop: page.hop,
//!     via: page.via,
//!     redirect: None,
//!     flags: Flags::default(),
//!     next: Some(86_400_000),
//!     past: Some(Box::default()),
//! };
//! let check_in = CheckIn {
//!     lease: lease.id,
//!     done: vec![record],
//!     window: WindowUpdate::default(),
//!     later: Vec::new(),
//!     claims: Vec::new(),
//!     overflow: Vec::new(),
//!     keys: Vec::new(),
//!     outside: Vec::new(),
//!     facts: None,
//!     then: Then::Release { due: 3000 },
//! };
//! assert!(frontier.check_in(2000, vec![check_in])?[0].is_ok());
//! assert_eq!(frontier.status(2000)?.next_due, Some(86_400_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod blocked;
mod cluster;
pub mod codec;
pub mod embedded;
pub mod error;
pub mod fence;
mod frontier_url;
#[doc(hidden)]
pub mod fuzzing;
pub mod gate;
pub mod hop;
mod kill_timer;
mod language;
mod links;
pub mod memory;
pub mod options;
pub mod outcome;
pub mod past;
pub mod postgres;
pub mod reader;
pub mod record;
pub mod retry;
pub mod seed_settings;
pub mod seen;
pub mod shared;
mod sites;
pub mod status;
mod store_error;
#[cfg(test)]
mod suite;

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aranha_url::{CanonUrl, PathKey, SiteKey};

pub use blocked::{Blocked, BlockedBy};
pub use embedded::Embedded;
pub use error::{ErrorClass, FrontierError, LeaseLost, Refusal};
pub use fence::{Fence, Pass, Term};
pub use frontier_url::FrontierUrl;
pub use gate::{GateClaim, LeaseGate};
pub use hop::{EmbedCount, Hop};
pub use memory::{MemoryFrontier, MemoryNode, NodeLink};
pub use options::{External, Options};
pub use outcome::Outcome;
pub use past::{Claim, Claimed, Past};
pub use postgres::{NodeSettings, Postgres, Unlocked};
pub use reader::{FrontierReader, PageEntry, PageFilter, QueuedPage, View};
pub use record::{
    Absent, Addresses, CheckIn, CheckedIn, Counters, Flags, Language, Lease, Location,
    NoveltyCounters, Outside, PageRecord, Pending, RecordBatch, RecordCursor, Rediscovered,
    RobotsFile, Seed, Seeded, SiteFacts, Then, VisitOrder, WindowUpdate,
};
pub use retry::Retry;
pub use seed_settings::{SeedSettings, SiteSettings};
pub use seen::Seen;
pub use shared::{FolderEntry, News, NodeEntry, NodeReport, NodeState, SharedCrawl, SharedText};
pub use status::{
    Explanation, FrontierStatus, LeaseEntry, PageTotals, ProblemSite, SiteEntry, SiteState,
    SiteTotals, Waiting,
};

/// The operations that every storage engine implements. The same tests (`suite/`) check every engine.
///
/// Calls block on the disk, so `crates/engine` makes them on a dedicated thread. A call that returns `Err` has changed
/// nothing, except [`Frontier::make_all_due`] and [`Frontier::bring_revisits_forward`], which work in several
/// transactions.
pub trait Frontier: Send {
    /// Whether calls can fail with [`ErrorClass::MayPass`]. If so, the caller must keep the data that it needs to make
    /// the same call again.
    fn may_be_away(&self) -> bool {
        false
    }

    /// What this node shares with the other nodes of its crawl; `None` for a frontier of one machine.
    fn shared(&mut self) -> Option<&mut dyn SharedCrawl> {
        None
    }

    /// The fence that limits how long this node may send requests. `None` for a frontier of one machine, which has no
    /// such limit.
    fn fence(&self) -> Option<Arc<Fence>> {
        None
    }

    /// Add seeds. Seed sites that were never visited are checked out before all others (F6). Known pages are not
    /// changed.
    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError>;

    /// Replace the settings of sites. Empty settings are removed. A crawl reads the settings when it starts.
    fn set_seed_settings(
        &mut self,
        now: i64,
        settings: &[SiteSettings],
    ) -> Result<(), FrontierError>;

    /// All sites with settings, in order of key.
    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError>;

    /// Make the sites of these seeds due now. Their pages that wait for a retry become due too, but pages that wait for
    /// a revisit keep their due time. Call this before visits begin, because it ignores the courtesy pause.
    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError>;

    /// Make every known page due now: pages that wait for a retry or a revisit, pages that have no next visit, and
    /// queued pages of sites that are not due yet. Blocked sites are not changed. Call this before visits begin,
    /// because it ignores the courtesy pause.
    ///
    /// Returns the time at which this order began. This is `now`, unless the call continues an earlier order that
    /// [`Frontier::end_order`] has not ended ([`VisitOrder::max_age`]). In that case, pages that were visited since the
    /// beginning of the earlier order are not changed.
    fn make_all_due(&mut self, now: i64, order: &VisitOrder) -> Result<i64, FrontierError>;

    /// End the order of [`Frontier::make_all_due`], because all its visits were made.
    fn end_order(&mut self) -> Result<(), FrontierError>;

    /// Bring revisits forward: a revisit that is due by `until` becomes due now, if the page was last visited at
    /// `visited_by` or before. Call this before visits begin.
    fn bring_revisits_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
    ) -> Result<(), FrontierError>;

    /// Read the next batch of page records, and move `cursor` behind it. Sites are in order of key. The records of a
    /// site are read from the newest to the oldest. Returns `None` after the last batch.
    fn read_records(&self, cursor: &mut RecordCursor)
    -> Result<Option<RecordBatch>, FrontierError>;

    /// Admit pages that were found in stored pages of the site `site`. Returns the number of pages that were queued.
    /// An unknown or blocked site is not changed. Call this before visits begin, because a visit has its own list of
    /// known pages.
    fn rediscover(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, FrontierError>;

    /// Apply claims from outside that pages have changed or are new. Known pages that wait for a revisit are visited
    /// earlier. Unknown pages are admitted like links from other sites.
    ///
    /// `weigh` returns the weight of a claim, given the facts of its site and its source; [`Claim::weight`] is ignored.
    /// A weight of 1.0 makes the page due now, even if it waits for a retry and even after the horizon
    /// ([`Frontier::revisit_until`]).
    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError>;

    /// Set the horizon. Revisits that are due after the horizon are left to the next crawl, so that a crawl does not
    /// revisit pages that it fetched itself. The default is no horizon.
    fn revisit_until(&mut self, horizon: i64);

    /// All seeds, in the order in which they were added.
    fn seeds(&self) -> Result<Vec<String>, FrontierError>;

    /// Lease up to `room` due sites to this node: first seed sites that were never visited, then the sites that have
    /// waited longest (KLWF, F7). The inbox of each site is merged first. A site that then has no page to fetch is
    /// skipped. The work of one call is bounded, so a call may return fewer than `room` leases although more sites are
    /// due: see [`FrontierStatus::next_due`].
    fn check_out(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, FrontierError>;

    /// Claim the gate of an address for this node, before the first request to the address. The gate stays with this node
    /// until it is given back or the node gets another number. On one machine every gate belongs to its node.
    fn claim_gate(&mut self, _now: i64, _address: IpAddr) -> Result<GateClaim, FrontierError> {
        Ok(GateClaim::Owned {
            node: 0,
            closed: Duration::ZERO,
        })
    }

    /// Give gates back. Call this only when the courtesy pause after the last response from each address is over.
    fn give_gates_back(&mut self, _now: i64, _addresses: &[IpAddr]) -> Result<(), FrontierError> {
        Ok(())
    }

    /// Store check-ins durably, all in one transaction. Replies are in the order of the batch. A check-in whose lease
    /// is lost is refused; the others are stored.
    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError>;

    /// Like [`Frontier::check_in`], but takes the check-ins one by one, so that the batch need not be in memory.
    fn check_in_each(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.check_in(now, batch.collect())
    }

    /// Like [`Frontier::check_in_each`], for a caller that may have to repeat the call: after an error that may pass,
    /// or in a later process ([`Frontier::take_over`]). Each group of a node has a greater number than the group
    /// before. A group that was stored before is not stored again. The replies of the first call are no longer known,
    /// so the leases of the group's check-ins are ended, and each is reported as a lost lease.
    fn check_in_group(
        &mut self,
        now: i64,
        _number: u64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.check_in_each(now, batch)
    }

    /// Take over the leases of the node of an earlier process that has ended, so that this process can store the last
    /// check-ins of that node. A node that was declared dead has no leases. Returns the number of the node's newest
    /// stored group. Call [`Frontier::release_all`] when its check-ins are stored.
    fn take_over(&mut self, _now: i64, _node: u64) -> Result<u64, FrontierError> {
        Ok(0)
    }

    /// Renew leases without a check-in. Returns the leases that are lost.
    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError>;

    /// Release all leases of this node. Returns the number of released leases. The sites become due at once, and each
    /// site keeps its window as of the last check-in.
    fn release_all(&mut self, now: i64) -> Result<u64, FrontierError>;

    /// End the lease of a visit that was ended by a fault of the crawler, described by `problem`. The site keeps its
    /// window as of the last check-in and is not leased before `due`. The site counts as a problem site until a visit
    /// to it ends normally. Returns false if the lease is lost.
    fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, FrontierError>;

    /// All problem sites, the latest fault first.
    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError>;

    /// Make these problem sites due at `due`, if they are due later.
    fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), FrontierError>;

    /// The totals of the crawl. Cheap enough to be called every second.
    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError>;

    /// Everything known about one URL.
    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError>;

    /// Block a site: it is not leased again. A visit under way ends at its next check-in. Returns false if the site was
    /// already blocked.
    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError>;

    /// Undo [`Frontier::block`] and [`Then::Block`], and reset the counters by which the site was recognised as a trap.
    /// Returns false if the site was not blocked.
    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError>;

    /// Let pages of a site be fetched again, unconditionally and as soon as possible. Returns the number of pages found; 0
    /// if another node is visiting the site.
    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError>;

    /// Add the records of pages that the site does not know, and queue these pages, because their links are unknown
    /// too. The records must be in order of time, oldest first. `origin` (scheme, host and port) is used if the
    /// frontier does not know the site. Returns the number of pages; 0 if the site is being visited or is blocked.
    fn adopt(
        &mut self,
        now: i64,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, FrontierError>;

    /// Write gathered links to link runs, and start and complete merges of link runs, for about `budget`. Call it
    /// between check-ins. Returns true if work is left or a merge is running. With `Duration::MAX` it waits until
    /// running merges end.
    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError>;

    /// Write all gathered links to link runs, so that their sites become due. Call it when a crawl ends. During a
    /// crawl, `check_out` writes gathered links when no site is due.
    fn flush(&mut self, now: i64) -> Result<(), FrontierError>;
}
