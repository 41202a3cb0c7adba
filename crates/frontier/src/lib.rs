//! The Global Frontier: every site and page that the crawl knows, and which visit holds which site (F1; V 5).
//!
//! In the flow it stands at both ends: [`Frontier::check_out`] hands sites to visits, [`Frontier::check_in`] takes
//! back what they fetched and found. A visit tells the links of its own site apart by itself (it knows every key of
//! the site); links to other sites are only appended here and de-duplicated when their site is next checked out, so
//! that the cost of a link does not grow with the crawl (F4; V 5.3).
//!
//! What always holds:
//! - **A site is leased to one visit at a time.**
//! - **What was checked in survives a crash at any instant**: a batch is one transaction, links to other sites and all.
//! - **A page is admitted once**: known keys are checked before a page becomes pending.
//! - **Memory is bounded by [`Options`]**, plus the keys of the sites being handed out.
//! - **Time is given by the caller**, in unix milliseconds.
//!
//! [`embedded`] is the SQLite engine; its tables are in `embedded/schema.rs`. A second engine goes beside it, in
//! `postgres/`, with the same file names, and must pass the same tests (`suite.rs`).
//!
//! Read first: [`record`], then the trait [`Frontier`], then [`embedded`] and `docs/decisions/0002-frontier-layout.md`.
//!
//! ```
//! use aranha_frontier::{Embedded, Frontier, Options, Seed};
//! use aranha_url::{Canonicaliser, UrlRules};
//!
//! let folder = tempfile::tempdir()?;
//! let url = Canonicaliser::new(UrlRules::default()).canon("https://example.org/")?;
//! let mut frontier = Embedded::open(folder.path(), Options::default())?;
//! frontier.seed(0, &[Seed::of(&url)])?;
//! let leases = frontier.check_out(1000, "node-1", 10)?;
//! assert_eq!(leases[0].site, "example.org");
//! assert_eq!(leases[0].pending[0].path, "/");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod blocked;
pub mod codec;
pub mod embedded;
pub mod error;
pub mod hop;
pub mod options;
pub mod outcome;
pub mod past;
pub mod record;
pub mod retry;
pub mod seen;
pub mod status;
#[cfg(test)]
mod suite;

use std::time::Duration;

use aranha_url::CanonUrl;

pub use blocked::{Blocked, BlockedBy};
pub use embedded::{Embedded, PageEntry, PageFilter, View};
pub use error::{FrontierError, LeaseLost};
pub use hop::Hop;
pub use options::{External, Options};
pub use outcome::Outcome;
pub use past::{Claim, Claimed, Past};
pub use record::{
    Absent, Addresses, CheckIn, CheckedIn, Counters, Flags, Lease, Location, Novelty, Outside,
    PageRecord, Pending, RobotsFile, Seed, Seeded, SiteFacts, Then, WindowUpdate,
};
pub use retry::Retry;
pub use seen::Seen;
pub use status::{
    Explanation, FrontierStatus, LeaseEntry, PageTotals, SiteEntry, SiteState, SiteTotals, Waiting,
};

/// What both engines do, and what one suite of tests holds every engine to.
///
/// Calls block on the disk: the engine runs them on a thread of their own. A call that returns `Err` changed nothing.
pub trait Frontier: Send {
    /// Add seeds: they come first (F6). Pages known already stay as they are.
    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError>;

    /// The user asks for these now: their sites are due at once, and so are pages there that wait for a later try; pages
    /// answered before keep their time. To be called before visits begin: it knows no courtesy.
    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError>;

    /// The user asks for everything again: every page that was answered is due now, and every page that waits for another
    /// try. What was answered tells that this `source` brought it forward, unless another did. To be called before visits begin.
    fn make_all_due(&mut self, now: i64, source: u8) -> Result<(), FrontierError>;

    /// Somebody outside says that these pages have changed, or are new: those that wait to be visited again are visited
    /// sooner, those not known are admitted like links from other sites. `weigh` tells how far a source is believed
    /// about a site whose facts these are; the claims' own weights are not looked at. Who is believed entirely is
    /// obeyed: the page is due now, also when it waits for another try, and also beyond [`Frontier::revisit_until`].
    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError>;

    /// Visit again only pages that are due by then: a crawl that is to end must not run after its own revisits. Without
    /// this call all count as soon as they are due.
    fn revisit_until(&mut self, horizon: i64);

    /// The seeds, in the order in which they were given.
    fn seeds(&self) -> Result<Vec<String>, FrontierError>;

    /// Lease up to `room` due sites to `node`: seeds never visited first, then the longest wait (KLWF, F7). The inbox of each
    /// is merged; sites where nothing new came of it are passed over. The work of one call is bounded, so fewer than
    /// `room` does not mean that none is left: [`FrontierStatus::next_due`] tells.
    fn check_out(&mut self, now: i64, node: &str, room: usize)
    -> Result<Vec<Lease>, FrontierError>;

    /// Store a group of check-ins durably, all in one transaction. The answers are in the order of the batch; an entry
    /// whose lease is lost is refused alone.
    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError>;

    /// As [`Frontier::check_in`], for a caller that does not want to hold the whole batch: an engine that can takes the
    /// entries one by one.
    fn check_in_each(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.check_in(now, batch.collect())
    }

    /// Keep leases alive without a check-in; answers with those that are lost.
    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError>;

    /// Give back every lease of a node that is known to be gone; answers how many there were. Their sites are due at
    /// once, with the windows that were last checked in.
    fn release_all(&mut self, now: i64, node: &str) -> Result<u64, FrontierError>;

    /// Where the crawl stands. Cheap: may be called every second.
    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError>;

    /// Everything known about one URL.
    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError>;

    /// Hand the site out no more. A visit under way is told so at its next check-in. True when it was not blocked before.
    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError>;

    /// Undo [`Frontier::block`] and [`Then::Block`]; what made the site a trap is forgotten. True when it was blocked.
    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError>;

    /// Background work (writing runs, taking what was merged) for about `budget`, in short transactions; to be called between
    /// commits. True: there is more to do, if only to come again when a merge is done. With `Duration::MAX` that is waited for.
    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError>;

    /// Sort the gathered links into inboxes now: at an orderly stop, and by `check_out` itself when it runs dry.
    fn flush(&mut self, now: i64) -> Result<(), FrontierError>;
}
