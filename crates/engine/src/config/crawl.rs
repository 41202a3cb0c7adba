//! The sections of the engine: `[crawl]`, `[thresholds]`, `[proxy_cache]` and `[log]`.
//!
//! Durations are texts (`"2s"`, `"1h30m"`). Sizes are texts or numbers of bytes (`"10MiB"`, `4096`). Limits may be
//! `"none"`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use aranha_url::Reach;
use serde::{Deserialize, Serialize};

use super::busy_hours::{DayHours, UtcOffset};
use super::limit;

/// Scope, limits, courtesy and identity of the crawler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlOptions {
    /// How far from the seeds the crawl reaches (U12).
    pub scope: Reach,
    /// Top-level domains that are in scope even if they have no seed (`["pt", "br"]`).
    pub tlds: Vec<String>,
    /// Maximum link depth from a seed; 0 fetches only the seeds.
    #[serde(with = "limit::count")]
    pub depth: Option<u16>,
    /// Stop after this number of pages.
    #[serde(with = "limit::count")]
    pub pages: Option<u64>,
    /// Maximum number of different pages that are fetched from one site in all crawls together. When it is reached,
    /// fetched pages are still revisited.
    #[serde(with = "limit::count")]
    pub pages_per_site: Option<u64>,
    /// Stop after this time, counted from the start of each crawl.
    #[serde(with = "limit::time")]
    pub time: Option<Duration>,
    /// Stop when this number of bytes has been written to volumes.
    #[serde(with = "limit::size")]
    pub size: Option<u64>,
    /// A URL must match one of these filters (U10). Empty: all URLs are accepted.
    pub accept: Vec<String>,
    /// URLs that match one of these filters are out of scope.
    pub reject: Vec<String>,
    /// Only responses that match one of these filters are stored. The links of all pages are followed. Redirects are always
    /// stored. Empty: all responses are stored.
    pub keep: Vec<String>,
    /// URLs, domains and address ranges that are never requested (U11).
    pub blacklist: Vec<String>,
    /// Files with one black list entry per line. Relative paths are relative to the configuration file.
    pub blacklist_files: Vec<PathBuf>,

    /// Maximum number of sites that are visited at the same time.
    pub sites: usize,
    /// Maximum number of parallel requests to one site. Use more than 1 only with the consent of the site's owner.
    pub connections: usize,
    /// Maximum download rate of the whole crawl, in bytes per second.
    #[serde(with = "limit::size")]
    pub limit_rate: Option<u64>,
    /// Courtesy pause: time from the end of a response to the next request to the same site or address (F7, F8).
    #[serde(with = "aranha_units::duration")]
    pub pause: Duration,
    /// The pause is at least this factor times the duration of the last response (R3). 0 disables this rule.
    pub pause_factor: f64,
    /// Upper limit for pauses from `pause_factor` and from a Crawl-delay.
    #[serde(with = "aranha_units::duration")]
    pub max_pause: Duration,
    /// Hours of the day, in the local time of a site, in which the courtesy pause is at least `busy_pause` (R3).
    #[serde(with = "limit::day_hours")]
    pub busy_hours: Option<DayHours>,
    /// Minimum courtesy pause during `busy_hours`.
    #[serde(with = "aranha_units::duration")]
    pub busy_pause: Duration,
    /// Offset from UTC for the hosts of each domain. If several domains match a host, the longest is used. Hosts
    /// without an entry are in UTC.
    pub time_zones: BTreeMap<String, UtcOffset>,
    /// Time between check-ins of a visit. After a crash, the fetches since the last check-in are repeated. In the first
    /// seconds of a crawl check-ins are more frequent.
    #[serde(with = "aranha_units::duration")]
    pub check_in_interval: Duration,
    /// A visit ends after this time if other sites wait (F7).
    #[serde(with = "aranha_units::duration")]
    pub quantum: Duration,
    /// A visit without progress is ended after this time, and its site is visited again after all others (M2).
    #[serde(with = "aranha_units::duration")]
    pub no_progress_limit: Duration,
    /// If no page is due and none becomes due within this time, the crawl ends.
    #[serde(with = "aranha_units::duration")]
    pub idle_wait: Duration,

    /// Do not end when no page is due, but wait for the next revisit (`[revisit]`).
    pub continuous: bool,

    /// Product token for robots.txt, and first word of the User-Agent. Derived from `fetch.user_agent` if only that is set.
    pub product: String,
    /// Web page or mail address of the operator, sent with every request (N9). It becomes part of `fetch.user_agent`
    /// and `fetch.from` if these are not set.
    pub contact: String,
    /// Whether robots.txt and robots meta tags are obeyed on the hosts in `own_hosts`. On all other hosts they are
    /// always obeyed.
    pub robots: RobotsPolicy,
    /// Hosts that belong to the user; `.example.org` includes all subdomains.
    pub own_hosts: Vec<String>,
    /// Follow links marked `rel=nofollow`. A robots meta tag with nofollow is always obeyed.
    pub follow_nofollow: bool,
    /// What to do with pages that have the robots directive `noindex` (R2).
    pub noindex: NoIndex,
    /// Whether links are followed on a page whose text equals that of another page of its site (D2).
    pub duplicate_links: DuplicateLinks,
    /// Read the sitemaps that robots.txt names.
    pub sitemaps: bool,
    /// Refuse the addresses that a top-level domain returns for names that nobody has registered (D6; Viuva Negra 5.4).
    pub refuse_tld_wildcards: bool,
    /// Request one page of each site that cannot exist, to recognise "not found" pages with status 200 (T8).
    pub soft_404: bool,
}

/// What to do with pages that ask not to be indexed. Their links are followed, unless the page also has `nofollow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoIndex {
    /// They are stored like other pages.
    Store,
    /// They are stored, and marked in the frontier and in the archive.
    Mark,
    /// They are not stored.
    Skip,
}

impl Default for CrawlOptions {
    fn default() -> Self {
        Self {
            scope: Reach::Host,
            tlds: Vec::new(),
            depth: None,
            pages: None,
            pages_per_site: None,
            time: None,
            size: None,
            accept: Vec::new(),
            reject: Vec::new(),
            keep: Vec::new(),
            blacklist: Vec::new(),
            blacklist_files: Vec::new(),
            sites: 1000,
            connections: 1,
            limit_rate: None,
            pause: Duration::from_secs(2),
            pause_factor: 1.0,
            max_pause: Duration::from_mins(1),
            busy_hours: None,
            busy_pause: Duration::from_secs(10),
            time_zones: BTreeMap::new(),
            check_in_interval: Duration::from_secs(5),
            quantum: Duration::from_mins(5),
            no_progress_limit: Duration::from_mins(5),
            idle_wait: Duration::from_mins(2),
            continuous: false,
            product: "aranha".to_owned(),
            contact: String::new(),
            robots: RobotsPolicy::Obey,
            own_hosts: Vec::new(),
            follow_nofollow: false,
            noindex: NoIndex::Mark,
            duplicate_links: DuplicateLinks::default(),
            sitemaps: true,
            refuse_tld_wildcards: false,
            soft_404: true,
        }
    }
}

impl CrawlOptions {
    /// The user's own hosts, if robots.txt is ignored there.
    pub(crate) fn robots_ignored_on(&self) -> Vec<String> {
        match self.robots {
            RobotsPolicy::Obey => Vec::new(),
            RobotsPolicy::Ignore => self.own_hosts.clone(),
        }
    }

    /// Whether robots.txt and robots meta tags are ignored on this host.
    pub fn ignores_robots(&self, host: &str) -> bool {
        // A host with and without `www.` is one site.
        let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
        let is_own = |entry: &String| host_matches(&bare(entry), &bare(host));
        self.robots == RobotsPolicy::Ignore && self.own_hosts.iter().any(is_own)
    }
}

/// Whether robots.txt and robots meta tags are obeyed on the user's own hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotsPolicy {
    /// They are obeyed.
    Obey,
    /// They are ignored: Disallow, Crawl-delay and the directive nofollow of a page have no effect.
    Ignore,
}

/// Which links are followed on a page whose text equals that of another page of its site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateLinks {
    /// All links.
    Follow,
    /// All links except those that the other page also has. Links are compared relative to their pages (Chakrabarti
    /// 2.3.7).
    #[default]
    SkipCopies,
    /// No links, unless the text is shorter than a few sentences (Castillo A.5.2).
    SkipAll,
}

/// Limits beyond which a site is treated as a trap (D5; Viuva Negra 5.4). At `urls`, `duplicates` and `depth`, the
/// links of the site are no longer followed, but its queued pages are fetched, and its pages are revisited. By default
/// only `trap_pages` and `dead_hosts` are set, because many honest sites are large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Number of URLs of one site. Links to further URLs are not followed.
    #[serde(with = "limit::count")]
    pub urls: Option<u64>,
    /// Number of pages of one site that have the same text as another page of the site.
    #[serde(with = "limit::count")]
    pub duplicates: Option<u64>,
    /// Block a site when it has `urls` fetched pages or `duplicates` duplicates. The queued pages of a blocked site are
    /// not fetched, and its pages are not revisited.
    pub block: bool,
    /// Link depth from the page where the crawl entered the site.
    #[serde(with = "limit::count")]
    pub depth: Option<u16>,
    /// Approximate number of pages with new links but no new text after which a site is blocked (`traps/novelty.rs`).
    /// If only one other site links to the site, its next visit is already postponed after a fifth of this number
    /// (`traps/allowance.rs`). `"none"` also disables the check for links that never lead back.
    #[serde(with = "limit::count")]
    pub trap_pages: Option<u32>,
    /// Number of hosts that do not answer to which one site may link (`traps/source_accounts.rs`). For each host that
    /// answers, eight more are allowed. Further hosts are visited if another site links to them, or after a day. The
    /// site itself is not blocked.
    #[serde(with = "limit::count")]
    pub dead_hosts: Option<u32>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            urls: None,
            duplicates: None,
            block: false,
            depth: None,
            trap_pages: Some(50),
            dead_hosts: Some(100),
        }
    }
}

/// A caching proxy (I5; `CoBWeb` 2.6, 3). The proxy reports the pages that its users request, and the crawl fetches the
/// fresh copies from the proxy's cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyCacheOptions {
    /// Address of the proxy, such as `127.0.0.1:3128`. Empty: reported pages are requested from their own servers.
    pub proxy: String,
    /// Delay between the signal and the visit, so that the proxy can first receive the whole page.
    #[serde(with = "aranha_units::duration")]
    pub delay: Duration,
    /// Signals are ignored for a page that was fetched or reported less than this time ago.
    #[serde(with = "aranha_units::duration")]
    pub min_interval: Duration,
    /// Also accept URLs with a query string. They can contain what users typed into forms.
    pub queries: bool,
    /// Accepted hosts; `.example.org` includes all its subdomains. Empty: all hosts in scope.
    pub hosts: Vec<String>,
}

impl Default for ProxyCacheOptions {
    fn default() -> Self {
        Self {
            proxy: String::new(),
            delay: Duration::from_mins(1),
            min_interval: Duration::from_hours(24),
            queries: false,
            hosts: Vec::new(),
        }
    }
}

impl ProxyCacheOptions {
    /// Address of the proxy, if one is configured.
    pub fn address(&self) -> Option<SocketAddr> {
        self.proxy.parse().ok()
    }

    /// Whether `hosts` accepts this host.
    pub fn allows(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|entry| host_matches(entry, host))
    }
}

/// Whether an entry of a list of hosts names this host. `.example.org` names `example.org` and all its subdomains.
fn host_matches(entry: &str, host: &str) -> bool {
    let Some(domain) = entry.strip_prefix('.') else {
        return host.eq_ignore_ascii_case(entry);
    };
    let above = host.len().checked_sub(domain.len());
    above.is_some_and(|at| {
        host.is_char_boundary(at)
            && host[at..].eq_ignore_ascii_case(domain)
            && (at == 0 || host[..at].ends_with('.'))
    })
}

/// Logs of the crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogOptions {
    /// Write `logs/crawl.log`: one line per fetch, with the twelve fields of Heritrix.
    pub crawl: bool,
    /// Filter of the log messages on stderr: a level such as `warn`, or levels by crate such as
    /// `aranha_fetch=debug,info`.
    pub level: String,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            crawl: true,
            level: "error".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_are_ignored_on_own_hosts_only() {
        let crawl = CrawlOptions {
            robots: RobotsPolicy::Ignore,
            own_hosts: vec!["example.org".to_owned(), ".example.com".to_owned()],
            ..CrawlOptions::default()
        };
        for (host, ignored) in [
            ("example.org", true),
            ("www.example.org", true),
            ("a.example.org", false),
            ("a.example.com", true),
            ("example.net", false),
        ] {
            assert_eq!(crawl.ignores_robots(host), ignored, "{host}");
        }
        let obeyed = CrawlOptions {
            robots: RobotsPolicy::Obey,
            ..crawl
        };
        assert!(!obeyed.ignores_robots("example.org"));
    }

    #[test]
    fn hosts_and_their_subdomains_are_matched() {
        let proxy_cache = |hosts: &[&str]| ProxyCacheOptions {
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            ..ProxyCacheOptions::default()
        };
        assert!(proxy_cache(&[]).allows("example.org"));
        let listed = proxy_cache(&["example.org", ".example.com"]);
        for (host, allowed) in [
            ("example.org", true),
            ("EXAMPLE.org", true),
            ("www.example.org", false),
            ("example.com", true),
            ("a.b.example.com", true),
            ("badexample.com", false),
            ("com", false),
            ("éexample.com", false),
        ] {
            assert_eq!(listed.allows(host), allowed, "{host}");
        }
    }
}
