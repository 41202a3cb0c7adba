//! Totals of the crawl, and everything that the frontier knows about one URL.

use std::sync::Arc;

use aranha_url::SiteKey;
use serde::Serialize;

use crate::{Hop, Outcome, PageRecord, SeedSettings, SiteFacts};

/// Sites by state. The states extend the lists of Viuva Negra 5: to crawl, being crawled, crawled (F1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SiteTotals {
    /// All sites.
    pub known: u64,
    /// Sites with pages to fetch, now or at a known time.
    pub waiting: u64,
    /// Sites that are leased to a visit.
    pub leased: u64,
    /// Sites without pages to fetch.
    pub idle: u64,
    /// Sites that are blocked, by the user or as a trap.
    pub blocked: u64,
    /// Sites whose last visit was ended by a fault of the crawler. They are also counted by their state.
    pub problems: u64,
}

/// Pages by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PageTotals {
    /// Admitted pages. Links in inboxes are not counted, because they may be duplicates.
    pub known: u64,
    /// Pages to be fetched, including those in the windows of visits, except on blocked sites.
    pub queued: u64,
    /// Pages that wait for a retry after a failure, except on blocked sites.
    pub retry: u64,
    /// Pages of blocked sites that are to be fetched or retried.
    pub blocked: u64,
    /// Pages that were fetched, or that failed and are not retried.
    pub done: u64,
    /// Pages among `done` that wait for a revisit, except on blocked sites.
    pub revisit: u64,
}

/// Totals of the crawl. They are updated in the same transactions as the data, so reading them is cheap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FrontierStatus {
    /// Sites by state.
    pub sites: SiteTotals,
    /// Pages by state.
    pub pages: PageTotals,
    /// Number of page records.
    pub records: u64,
    /// Page records by outcome, ordered by code.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Total length of all fetched bodies after decoding, in bytes.
    pub bytes: u64,
    /// Links to other sites found by visits.
    pub links: u64,
    /// Links among `links` that were sent to an inbox. The others were dropped, because the same link had been sent
    /// shortly before.
    pub links_sent: u64,
    /// Gathered links that are not in a link run yet.
    pub links_gathered: u64,
    /// Link runs on disk.
    pub runs: u64,
    /// Seeds.
    pub seeds: u64,
    /// Earliest time at which a check-out can return a lease; may be in the past. `None` if only new seeds or the
    /// check-ins of visits can add work.
    pub next_due: Option<i64>,
    /// Earliest due time among the sites that have only revisits to do.
    pub next_revisit: Option<i64>,
    /// Total size of the database, its write-ahead log and the link runs, in bytes.
    pub disk: u64,
}

/// State of a site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SiteState {
    /// The site waits for a visit. It can be leased from its due time on.
    Waiting,
    /// The site is leased to a visit.
    Leased,
    /// The site has no pages to fetch.
    Idle,
    /// The site is blocked, by the user or as a trap.
    Blocked,
}

/// A site in a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteEntry {
    /// Name of the site.
    pub site: String,
    /// Key of `site`.
    pub key: SiteKey,
    /// Whether a seed is on this site.
    pub seed: bool,
    /// State.
    pub state: SiteState,
    /// Time from which the site can be leased; `None` unless the state is [`SiteState::Waiting`]. Also `None` for a
    /// waiting site whose lease is left over from a process that was killed.
    pub due: Option<i64>,
    /// Admitted pages.
    pub known: u64,
    /// Pages to be fetched, in the window and in the queue.
    pub queued: u64,
    /// Pages that wait for a retry.
    pub retry: u64,
    /// Pages that wait for a revisit.
    pub revisit: u64,
    /// Number of page records.
    pub records: u64,
    /// Whether the inbox of the site has links. All of them may lead to known pages.
    pub inbox: bool,
}

/// A site whose last visit was ended by a fault of the crawler, such as a panic (Viuva Negra 5.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProblemSite {
    /// Name of the site.
    pub site: String,
    /// Key of `site`.
    pub key: SiteKey,
    /// Number of visits in a row that were ended by a fault.
    pub faults: u32,
    /// Time of the last fault.
    pub time: i64,
    /// The last fault, as a sentence.
    pub problem: String,
}

/// A lease in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseEntry {
    /// Number of the lease.
    pub id: u64,
    /// Node that holds the lease.
    pub node: String,
    /// Time of the check-out.
    pub since: i64,
    /// Expiry.
    pub expires: i64,
}

/// Where a page waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// The page is in the window of the current or the next visit.
    Window,
    /// The page is in the queue behind the window.
    Queue,
    /// The page waits for a retry at this time.
    Retry(i64),
    /// The page waits for a revisit at this time.
    Revisit(i64),
}

/// Everything that the frontier knows about one URL, for `aranha why`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The site, if it is known.
    pub site: Option<SiteEntry>,
    /// Facts of the site.
    pub facts: Option<Arc<SiteFacts>>,
    /// The lease on the site, if there is one.
    pub lease: Option<LeaseEntry>,
    /// Whether the page was admitted.
    pub known: bool,
    /// The list in which the page waits; `None` if it does not wait.
    pub waiting: Option<Waiting>,
    /// Whether a link to the page is in the site's inbox.
    pub inbox: bool,
    /// Depth and hop of the link that waits, in the queue or in the inbox.
    pub link: Option<(u16, Hop)>,
    /// Whether the page is a seed.
    pub seed: bool,
    /// What the user has set for the seeds of the site.
    pub settings: SeedSettings,
    /// History of the page, oldest record first.
    pub records: Vec<PageRecord>,
}
