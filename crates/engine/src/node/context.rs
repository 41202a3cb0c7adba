//! The state that all visits of a node share, by purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aranha_fetch::Fetcher;
use aranha_revisit::Schedule;
use aranha_url::{CanonUrl, Canonicaliser};
use aranha_volume::{Archive, VolumeError};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::commit::Submissions;
use crate::config::Config;
use crate::courtesy::address_gate::AddressGates;
use crate::limits::load::LoadManager;
use crate::limits::page_budget::PageBudget;
use crate::limits::rate_limit::RateLimit;
use crate::links::link_cache::LinkCache;
use crate::node::stop::{Reason, Stop};
use crate::scope::SharedScope;
use crate::status::notice::Notices;
use crate::status::tally::LiveCounters;
use crate::traps::site_share::SiteShare;
use crate::traps::wildcard_domains::WildcardDomains;

/// The shared state of all visits.
pub(crate) struct Context {
    pub(crate) policy: CrawlPolicy,
    pub(crate) scope: SharedScope,
    pub(crate) network: Network,
    pub(crate) storage: Storage,
    pub(crate) watchers: Watchers,
    pub(crate) reports: Reports,
    pub(crate) control: Control,
}

/// The configuration, and what is derived from it. Constant during a crawl.
pub(crate) struct CrawlPolicy {
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    /// Keeps index files, session identifiers and listing options in URLs. Used for redirects that lead to the page
    /// itself.
    pub(crate) literal: Canonicaliser,
    /// The revisit policy.
    pub(crate) schedule: Schedule,
}

/// Everything that a request passes through: limits, address gates and the fetcher.
pub(crate) struct Network {
    pub(crate) web: Fetcher,
    pub(crate) gates: AddressGates,
    pub(crate) rate: RateLimit,
    pub(crate) load: Arc<LoadManager>,
}

/// The archive for the bytes of pages, and the committer for their records.
pub(crate) struct Storage {
    pub(crate) archive: Archive,
    pub(crate) submissions: Submissions,
}

/// Observations across all sites.
pub(crate) struct Watchers {
    pub(crate) wildcard_domains: WildcardDomains,
    pub(crate) site_share: SiteShare,
    pub(crate) link_cache: LinkCache,
}

/// Reports of a running crawl: counters and notices.
pub(crate) struct Reports {
    pub(crate) counters: Arc<LiveCounters>,
    pub(crate) notices: Notices,
}

/// Time, limits and the end of the crawl.
pub(crate) struct Control {
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) pages: PageBudget,
    /// When this process began, if an earlier one worked on the collection.
    pub(crate) resumed: Option<Instant>,
    pub(super) others_wait: AtomicBool,
}

impl Context {
    pub(crate) fn config(&self) -> &Config {
        &self.policy.config
    }

    /// Unix milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.control.clock.now()
    }

    pub(crate) fn counters(&self) -> &LiveCounters {
        &self.reports.counters
    }

    /// The entry of the black list that names the whole site.
    pub(crate) fn blocking_entry(&self, origin: &str) -> Option<String> {
        let url = self.policy.canon.rebuild(origin, "/").ok()?;
        self.scope.blocking_entry(&url)
    }

    /// A URL of a site, in canonical form.
    pub(crate) fn url_of(&self, origin: &str, path: &str) -> Option<CanonUrl> {
        self.policy.canon.rebuild(origin, path).ok()
    }
}

impl Control {
    /// Whether sites wait for a slot.
    pub(crate) fn others_wait(&self) -> bool {
        self.others_wait.load(Relaxed)
    }

    /// Counts a page towards the limit of the crawl.
    pub(crate) fn page_answered(&self) {
        if self.pages.answered() {
            self.stop.ask(Reason::Limit("pages"));
        }
    }

    /// Ends the crawl because the archive failed.
    pub(crate) fn archive_failed(&self, error: &VolumeError) {
        self.stop.ask(reason_of(error));
    }
}

pub(super) fn reason_of(error: &VolumeError) -> Reason {
    if matches!(error, VolumeError::DiskFull { .. }) {
        Reason::DiskFull(error.to_string())
    } else {
        Reason::Failed(error.to_string())
    }
}
