//! Answers to people's questions: where the crawl stands, and what the frontier knows about one URL.

use aranha_url::SiteKey;
use serde::Serialize;

use crate::{Outcome, PageRecord, SiteFacts};

/// Sites by state: the paper's lists to crawl / being crawled / crawled (F1; V 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SiteTotals {
    /// All.
    pub known: u64,
    /// With something to fetch, now or at a known time.
    pub waiting: u64,
    /// Being visited.
    pub leased: u64,
    /// Nothing to fetch.
    pub idle: u64,
    /// Blocked, by the user or as traps.
    pub blocked: u64,
}

/// Pages by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PageTotals {
    /// Ever admitted. Links still in inboxes are not counted: they may prove known.
    pub known: u64,
    /// To be fetched, including the pages held by visits.
    pub queued: u64,
    /// Failed, and waiting for a retry.
    pub retry: u64,
    /// To be fetched, but their site is blocked.
    pub blocked: u64,
    /// Fetched or given up.
    pub done: u64,
    /// Pages among `done` that will be visited again.
    pub revisit: u64,
}

/// Where the crawl stands. Cheap: totals are kept beside the data, in the same transactions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FrontierStatus {
    /// Sites by state.
    pub sites: SiteTotals,
    /// Pages by state.
    pub pages: PageTotals,
    /// Entries in the histories of all pages.
    pub records: u64,
    /// Entries by outcome, in the order of their codes.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Bytes of all bodies fetched, decoded.
    pub bytes: u64,
    /// Links to other sites that visits found.
    pub links: u64,
    /// Of these, links that went to an inbox: not sent shortly before.
    pub links_sent: u64,
    /// Links gathered but not yet sorted into a run.
    pub links_gathered: u64,
    /// Runs on disk.
    pub runs: u64,
    /// Seeds given.
    pub seeds: u64,
    /// Earliest time at which a check-out could hand out something; at or before `now`: at once. `None`: only new
    /// seeds, or the check-ins of visits under way, can bring work.
    pub next_due: Option<i64>,
    /// When the next page that was answered is to be visited again, as far as its site has nothing else to do.
    pub next_revisit: Option<i64>,
    /// Bytes of the database and its log on disk.
    pub disk: u64,
}

/// In which state a site is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SiteState {
    /// Waits for a visit, not before its due time.
    Waiting,
    /// A visit holds it.
    Leased,
    /// Has nothing to fetch.
    Idle,
    /// Blocked, by the user or as a trap.
    Blocked,
}

/// What the frontier knows about a site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteEntry {
    /// Name.
    pub site: String,
    /// Key.
    pub key: SiteKey,
    /// Whether a seed lies here.
    pub seed: bool,
    /// State.
    pub state: SiteState,
    /// Not handed out before this time; `None` unless waiting.
    pub due: Option<i64>,
    /// Pages admitted.
    pub known: u64,
    /// Pages to be fetched.
    pub queued: u64,
    /// Pages to be tried again later.
    pub retry: u64,
    /// Pages answered, to be visited again.
    pub revisit: u64,
    /// Entries in the histories of its pages.
    pub records: u64,
    /// Whether links wait in its inbox that may prove known.
    pub inbox: bool,
}

/// A lease in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseEntry {
    /// Number.
    pub id: u64,
    /// Who holds it.
    pub node: String,
    /// Since when.
    pub since: i64,
    /// Until when.
    pub expires: i64,
}

/// Why a page waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// In the window of a visit, or of the next one.
    Window,
    /// Behind the window.
    Queue,
    /// To be tried again at this time.
    Retry(i64),
    /// Answered, and to be visited again at this time.
    Revisit(i64),
}

/// Everything the frontier can say about one URL (invariant 9; `aranha why`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The site, when it is known.
    pub site: Option<SiteEntry>,
    /// The site's facts.
    pub facts: Option<SiteFacts>,
    /// Who visits the site.
    pub lease: Option<LeaseEntry>,
    /// Whether the page was ever admitted.
    pub known: bool,
    /// Whether it waits for a fetch.
    pub waiting: Option<Waiting>,
    /// Whether a link to it lies in the site's inbox.
    pub inbox: bool,
    /// Whether it is a seed.
    pub seed: bool,
    /// Its history, oldest first.
    pub records: Vec<PageRecord>,
}
