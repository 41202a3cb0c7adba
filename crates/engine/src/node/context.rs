//! The state that all visits of a node share. Each struct groups the parts that serve one purpose.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aranha_fetch::Fetcher;
use aranha_frontier::Hop;
use aranha_revisit::{Pace, Schedule};
use aranha_url::{CanonUrl, Canonicaliser, Filter, SiteKey};
use aranha_volume::{Archive, Exchange, Receipt, VolumeError};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::collect::ReaderThreads;
use crate::commit::Submissions;
use crate::config::Config;
use crate::courtesy::address_gate::AddressGates;
use crate::courtesy::request_fence::RequestFence;
use crate::limits::load::LoadManager;
use crate::limits::page_budget::PageBudget;
use crate::limits::size_limit::SizeLimit;
use crate::links::link_cache::LinkCache;
use crate::links::sitemap_grants::SitemapGrants;
use crate::node::stop::{CrawlLimit, Reason, Stop};
use crate::scope::SharedScope;
use crate::status::notice::Notices;
use crate::status::seed_failures::SeedFailures;
use crate::status::tally::LiveCounters;
use crate::traps::site_share::SiteShare;
use crate::traps::source_accounts::SourceAccounts;
use crate::traps::tld_wildcards::TldWildcards;
use crate::traps::wildcard_domains::WildcardDomains;

/// The shared state of all visits.
pub(crate) struct Context {
    pub(crate) policy: CrawlPolicy,
    pub(crate) scope: SharedScope,
    pub(crate) network: Network,
    pub(crate) readers: ReaderThreads,
    pub(crate) storage: Storage,
    pub(crate) watchers: Watchers,
    pub(crate) reports: Reports,
    pub(crate) control: Control,
}

/// The configuration and the objects that are built from it. They do not change during a crawl, except for the page
/// counts of the revisit policy `optimal`.
pub(crate) struct CrawlPolicy {
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    /// Canonicaliser that keeps index files, session identifiers and listing options in URLs. If a redirect leads to
    /// the canonical URL of its own page, this makes the URL that is requested as written.
    pub(crate) literal: Canonicaliser,
    /// Canonicaliser for files that pages load. It keeps tracking parameters.
    pub(crate) requisites: Canonicaliser,
    /// The revisit policy.
    pub(crate) schedule: Schedule,
    /// The intervals that the user has set for sites.
    pub(crate) paces: HashMap<SiteKey, Pace>,
    /// The filter for the responses that are stored; `None` if all responses are stored.
    pub(crate) keep: Option<Filter>,
}

impl CrawlPolicy {
    /// The intervals that the user has set for a site.
    pub(crate) fn pace(&self, site: SiteKey) -> Pace {
        self.paces.get(&site).copied().unwrap_or_default()
    }

    /// The canonicaliser for the target of a redirect. `hop` led to the page that redirects. With `page.assets`, if
    /// this page is a requisite or a seed, the target keeps its tracking parameters, because a browser that replays the
    /// redirect requests the URL with them. Otherwise the target loses them, because a site may redirect a thousand
    /// links to the same page with different parameters.
    pub(crate) fn redirect_canon(&self, hop: Hop) -> &Canonicaliser {
        if self.config.page.assets && (hop.embeds() > 0 || hop == Hop::Seed) {
            &self.requisites
        } else {
            &self.canon
        }
    }
}

/// Everything that a request passes through: limits, address gates and the fetcher.
pub(crate) struct Network {
    pub(crate) web: Fetcher,
    pub(crate) gates: AddressGates,
    /// `None` in a crawl on one machine.
    pub(crate) fence: Option<RequestFence>,
    pub(crate) load: Arc<LoadManager>,
}

/// The archive for the bytes of pages, and the committer for their records.
pub(crate) struct Storage {
    pub(crate) archive: Archive,
    pub(crate) submissions: Submissions,
    pub(super) committing: Arc<AtomicBool>,
    /// Whether other nodes have archives of their own, in other folders.
    pub(crate) is_node: bool,
}

impl Storage {
    /// Whether a commit is under way.
    pub(super) fn is_committing(&self) -> bool {
        self.committing.load(Relaxed)
    }
}

/// Observations that concern more than one site: wildcard domains, each site's share of the requests, the hosts to
/// which each site linked first, recently seen links, and the sites that sitemaps may list.
pub(crate) struct Watchers {
    pub(crate) wildcard_domains: WildcardDomains,
    pub(crate) tld_wildcards: TldWildcards,
    pub(crate) site_share: SiteShare,
    pub(crate) source_accounts: Arc<SourceAccounts>,
    pub(crate) link_cache: LinkCache,
    pub(crate) sitemap_grants: SitemapGrants,
}

/// Reports of a running crawl: counters, failed seeds and notices.
pub(crate) struct Reports {
    pub(crate) counters: Arc<LiveCounters>,
    pub(crate) seed_failures: Arc<SeedFailures>,
    pub(crate) notices: Notices,
}

/// The clock, the stop request and the limits of the crawl.
pub(crate) struct Control {
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    pub(crate) pages: PageBudget,
    pub(crate) size: SizeLimit,
    /// The start of this process if an earlier crawl worked on the collection, otherwise `None`. The last requests of
    /// the earlier crawl are assumed to have ended at this time.
    pub(crate) resumed: Option<Instant>,
    /// The start of this process.
    pub(crate) started: Instant,
    pub(super) others_wait: AtomicBool,
}

impl Context {
    pub(crate) fn config(&self) -> &Config {
        &self.policy.config
    }

    /// The current time in unix milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.control.clock.now()
    }

    pub(crate) fn counters(&self) -> &LiveCounters {
        &self.reports.counters
    }

    /// The black list entry that blocks the whole site with this origin.
    pub(crate) fn blocking_entry(&self, origin: &str) -> Option<String> {
        let url = self.policy.canon.rebuild(origin, "/").ok()?;
        self.scope.blocking_entry(&url)
    }

    /// Stores an exchange in the archive. If `crawl.size` is set, this waits until the records are written, and
    /// requests the stop when the limit is reached. So the archive exceeds the limit by at most one exchange per active
    /// request.
    pub(crate) async fn store(&self, exchange: Exchange) -> Result<Receipt, VolumeError> {
        let receipt = self.storage.archive.append(exchange).await?;
        if !self.control.size.is_set() {
            return Ok(receipt);
        }
        let (receipt, bytes) = Box::pin(receipt.written()).await;
        if self.control.size.count(bytes) {
            self.control.stop.ask(Reason::Limit(CrawlLimit::Size));
        }
        Ok(receipt)
    }

    /// The canonical URL of `path` on the site with this origin. `None` if the URL is invalid.
    pub(crate) fn url_of(&self, origin: &str, path: &str) -> Option<CanonUrl> {
        self.policy.canon.rebuild(origin, path).ok()
    }
}

impl Control {
    /// Whether due sites wait because `crawl.sites` visits are active or because this node is draining.
    pub(crate) fn others_wait(&self) -> bool {
        self.others_wait.load(Relaxed)
    }

    /// Counts a received page. Requests the stop when `crawl.pages` is reached.
    pub(crate) fn page_answered(&self) {
        if self.pages.answered() {
            self.stop.ask(Reason::Limit(CrawlLimit::Pages));
        }
    }

    /// Requests the stop because the archive failed.
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
