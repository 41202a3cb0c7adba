//! The sections that the engine itself acts on: `[crawl]`, `[thresholds]`, `[proxy_cache]`, `[log]`.
//!
//! Times are texts (`"2s"`, `"1h30m"`), sizes are texts or bytes (`"10MiB"`, `4096`), limits may be `"none"`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use aranha_url::Reach;
use serde::{Deserialize, Serialize};

use super::limit;

/// What is crawled, how fast, and in whose name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlOptions {
    /// How far from the seeds the crawl reaches (U12).
    pub scope: Reach,
    /// Top-level domains that are in scope whatever the seeds are (`["pt", "br"]`).
    pub tlds: Vec<String>,
    /// Links from a seed; 0 fetches the seeds only.
    #[serde(with = "limit::count")]
    pub depth: Option<u16>,
    /// Stop after this many pages.
    #[serde(with = "limit::count")]
    pub pages: Option<u64>,
    /// Stop after this long, counted anew at each start.
    #[serde(with = "limit::time")]
    pub time: Option<Duration>,
    /// Stop when this much has been written to volumes.
    #[serde(with = "limit::size")]
    pub size: Option<u64>,
    /// A URL must match one of these filters (U10); none given, all match.
    pub accept: Vec<String>,
    /// A URL that matches one of these filters is refused.
    pub reject: Vec<String>,
    /// URLs, domains and address ranges never visited (U11).
    pub blacklist: Vec<String>,
    /// Files with one such entry a line; a relative name is looked for beside the configuration file.
    pub blacklist_files: Vec<PathBuf>,

    /// Sites visited at once.
    pub sites: usize,
    /// Requests at once to one site. More than 1 only where the site's owner agrees.
    pub connections: usize,
    /// Bytes a second taken from the network, all sites together.
    #[serde(with = "limit::size")]
    pub limit_rate: Option<u64>,
    /// Courtesy pause: from the end of an answer to the next request to the same site or address (F7, F8).
    #[serde(with = "aranha_units::duration")]
    pub pause: Duration,
    /// The pause is at least this many times what the last answer took (R3); 0 switches that off.
    pub pause_factor: f64,
    /// Neither `pause_factor` nor a site's CrawlOptions-delay makes a pause longer than this.
    #[serde(with = "aranha_units::duration")]
    pub max_pause: Duration,
    /// A visit checks in this often: what a crash can repeat.
    #[serde(with = "aranha_units::duration")]
    pub check_in_interval: Duration,
    /// A visit gives up its slot after this long when other sites wait (F7).
    #[serde(with = "aranha_units::duration")]
    pub quantum: Duration,
    /// A crawl with nothing to do waits this long for a retry to come due before it ends.
    #[serde(with = "aranha_units::duration")]
    pub idle_wait: Duration,

    /// Do not end when nothing is due: wait for the next page to be visited again (`[revisit]`).
    pub continuous: bool,

    /// The name robots.txt files know us by, and the first word of the User-Agent.
    pub product: String,
    /// Who is responsible: a web page or a mail address, sent with every request (N9). It goes into
    /// `fetch.user_agent` and `fetch.from` where these are not set.
    pub contact: String,
    /// Follow links marked `rel=nofollow`. Pages whose robots meta tag says nofollow are obeyed always.
    pub follow_nofollow: bool,
    /// Follow the sitemaps that robots.txt names.
    pub sitemaps: bool,
    /// Ask each site once for a page that cannot exist, to know its "not found" when it comes with status 200 (T8).
    pub soft_404: bool,
}

impl Default for CrawlOptions {
    fn default() -> Self {
        Self {
            scope: Reach::Host,
            tlds: Vec::new(),
            depth: None,
            pages: None,
            time: None,
            size: None,
            accept: Vec::new(),
            reject: Vec::new(),
            blacklist: Vec::new(),
            blacklist_files: Vec::new(),
            sites: 1000,
            connections: 1,
            limit_rate: None,
            pause: Duration::from_secs(2),
            pause_factor: 1.0,
            max_pause: Duration::from_mins(1),
            check_in_interval: Duration::from_secs(5),
            quantum: Duration::from_mins(5),
            idle_wait: Duration::from_mins(2),
            continuous: false,
            product: "aranha".to_owned(),
            contact: String::new(),
            follow_nofollow: false,
            sitemaps: true,
            soft_404: true,
        }
    }
}

/// What a site may cost before it is taken for a trap: its links are then no longer followed, what was fetched is
/// kept (D5; V 5.4). What counts is what its pages bring, not how many there are: a large honest site is common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Pages fetched from one site.
    #[serde(with = "limit::count")]
    pub urls: Option<u64>,
    /// Pages of one site whose content another page of it had already.
    #[serde(with = "limit::count")]
    pub duplicates: Option<u64>,
    /// Links from where the site was entered.
    #[serde(with = "limit::count")]
    pub depth: Option<u16>,
    /// Pages, about, that bring new links but nothing new to read; see `novelty`. Without it links that never lead
    /// back are no sign either.
    #[serde(with = "limit::count")]
    pub trap_pages: Option<u32>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            urls: None,
            duplicates: None,
            depth: None,
            trap_pages: Some(50),
        }
    }
}

/// The cache parasite (I5; C 2.6, 3): a proxy tells which pages people ask for, and the crawl takes its fresh copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyCacheOptions {
    /// Where the proxy listens, such as `127.0.0.1:3128`. Empty: pages that it tells of are asked of their own servers.
    pub proxy: String,
    /// From the signal to the visit: the proxy must have got the page first.
    #[serde(with = "aranha_units::duration")]
    pub delay: Duration,
    /// A page that was fetched, or told of, less than this ago is left alone.
    #[serde(with = "aranha_units::duration")]
    pub min_interval: Duration,
    /// Take URLs with a query string too. What people type into forms stands there.
    pub queries: bool,
    /// Hosts that may be taken; `.example.org` is that host and all beneath it. None: every host in the crawl's scope.
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
    /// The proxy, if there is one. A configuration that was loaded holds an address or nothing.
    pub fn address(&self) -> Option<SocketAddr> {
        self.proxy.parse().ok()
    }

    /// Whether pages of this host may be taken, as far as `hosts` goes.
    pub fn allows(&self, host: &str) -> bool {
        self.hosts.is_empty()
            || self
                .hosts
                .iter()
                .any(|entry| match entry.strip_prefix('.') {
                    None => host.eq_ignore_ascii_case(entry),
                    Some(domain) => {
                        let above = host.len().checked_sub(domain.len());
                        above.is_some_and(|at| {
                            host.is_char_boundary(at)
                                && host[at..].eq_ignore_ascii_case(domain)
                                && (at == 0 || host[..at].ends_with('.'))
                        })
                    }
                })
    }
}

/// What is written about the crawl, beside the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogOptions {
    /// `logs/crawl.log`: one line a fetch, Heritrix's twelve fields.
    pub crawl: bool,
    /// What the program says of itself on stderr: `tracing` directives such as `warn` or `aranha_fetch=debug`.
    pub level: String,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            crawl: true,
            level: "warn".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_may_be_taken() {
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
