//! The test laboratory: a generated web with HTTP and DNS servers, and a log of every request. It uses real sockets, on
//! loopback only.
//!
//! ```text
//! Plan ─► Web: host ─► site ─► resource ─► outline ─► html ─► Answer       pure functions
//!          │                        └──────────► truth: the pages that a crawl must find
//!          └─► Lab: server ─► request ─► wire ─► exchange ─► log           sockets
//!                   dns ─► packet ────────────────────────► log
//!                   secure (TLS), trespass (refused addresses), full_queue (no answer)
//!                   tally: totals of the log
//! ```
//!
//! Used by tests, by `bench/`, by `aranha demo` and by `aranha lab`. Invariants:
//! - **Pure.** The response of an honest site is computed from plan, port, host and path. No site is stored, so 100,000
//!   sites need no more memory than ten.
//! - **Loopback only.** Servers listen on 127.0.0.0/8 and `::1`. A server that listens on all interfaces closes
//!   connections from other machines.
//! - **The servers judge the crawler.** They log every exchange, including failed ones. If a time is inaccurate, this
//!   favours the crawler. So every reported violation is real.
//!
//! Read first: [`Plan`], then `web.rs`. Hostile sites are under `hazard/`.
//!
//! ```
//! use aranha_lab::{Crawler, Plan, Web};
//!
//! let web = Web::new(Plan::small(1), 8000);
//! let seed = &web.seeds()[0];
//! let host = seed.trim_start_matches("http://").split(':').next().unwrap_or_default();
//! assert_eq!(web.answer(host, "/").status, 200);
//! // The URLs that a crawl must find.
//! let truth = web.truth(&Crawler::default());
//! assert!(truth.values().filter(|expected| expected.html).count() > 50);
//! ```

mod answer;
mod certificate;
mod chance;
mod dns;
mod exchange;
mod full_queue;
mod hazard;
mod html;
mod language;
mod layout;
mod log;
mod outline;
mod packet;
mod plan;
mod request;
mod request_counters;
mod resource;
mod robots;
mod secure;
mod server;
mod site;
mod tally;
mod trespass;
mod truth;
mod web;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use aranha_url::{Canonicaliser, UrlRules};
use tokio::task::JoinSet;

pub use answer::Answer;
pub use chance::Chance;
pub use hazard::{Group, Hazard};
pub use log::{CourtesyScope, LoggedRequest, Question, Violation, violations};
pub use plan::{Latency, Plan, Sizes};
pub use tally::{Cost, CrawlTotals};
pub use trespass::{BLACK_LIST, Trespass};
pub use truth::{Crawler, Expected};
pub use web::Web;

/// A running lab: HTTP and DNS servers on loopback. Dropping it stops the servers.
#[derive(Debug)]
pub struct Lab {
    shared: Arc<server::ServerState>,
    resolver: SocketAddr,
    canonicaliser: Canonicaliser,
    _full_queues: Vec<full_queue::FullQueue>,
    /// The tasks of the servers. They are aborted when the lab is dropped.
    _servers: JoinSet<()>,
}

impl Lab {
    /// Starts the servers. The HTTP servers use the same port on all addresses of the plan. The DNS server uses one
    /// port of 127.0.0.1 for UDP and TCP. If the plan does not set a port, the system chooses it.
    pub async fn start(plan: Plan) -> io::Result<Lab> {
        let keep_log = plan.keep_log;
        let wanted_port = plan.port;
        let web = Web::new(plan, 0);
        let mut addresses = web.addresses();
        let hostile = !web.plan().hazards.is_empty();
        if hostile {
            addresses.extend(trespass::listening_addresses());
        }
        let mut listeners = server::bind(&addresses, wanted_port).await?;
        let port = listeners[0].local_addr()?.port();
        if hostile {
            // This fails on a machine without IPv6. The error is ignored, because a crawler on that machine cannot make
            // IPv6 connections either.
            listeners.extend(server::bind_ipv6(port).await.ok());
        }
        let mut full_queues = Vec::new();
        for (address, hazard) in web.hazards() {
            if hazard == Hazard::Void {
                full_queues.push(full_queue::FullQueue::open(address, port).await?);
            }
        }
        let (udp, tcp) = dns::bind(web.plan().dns_port).await?;
        let resolver = udp.local_addr()?;
        let shared = Arc::new(server::ServerState {
            web: Web::new(web.plan().clone(), port),
            log: log::Log::new(keep_log),
            counters: request_counters::RequestCounters::default(),
            certificates: certificate::Certificates::new(&web)?,
            hostile: web
                .hazards()
                .enumerate()
                .map(|(index, (address, hazard))| {
                    (address.into(), (hazard, web.hazard_host(index)))
                })
                .collect(),
            connections: AtomicU64::new(0),
        });
        let mut servers = JoinSet::new();
        for listener in listeners {
            servers.spawn(server::accept(listener, Arc::clone(&shared)));
        }
        servers.spawn(dns::datagrams(udp, Arc::clone(&shared)));
        servers.spawn(dns::connections(tcp, Arc::clone(&shared)));
        Ok(Lab {
            shared,
            resolver,
            canonicaliser: Canonicaliser::new(UrlRules::default()),
            _full_queues: full_queues,
            _servers: servers,
        })
    }

    /// The web that the servers serve.
    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The plan of the web.
    pub fn plan(&self) -> &Plan {
        self.web().plan()
    }

    /// Address of the lab's DNS server.
    pub fn resolver(&self) -> SocketAddr {
        self.resolver
    }

    /// Root certificate of the lab in DER. `None` when the plan has no TLS.
    pub fn authority(&self) -> Option<&[u8]> {
        let certificates = self.shared.certificates.as_ref()?;
        Some(&certificates.authority)
    }

    /// URLs of the home pages of all hostile sites, in the order of the plan.
    pub fn hazard_seeds(&self) -> Vec<String> {
        self.web().hazard_seeds()
    }

    /// Port of all HTTP and HTTPS servers.
    pub fn port(&self) -> u16 {
        self.web().port()
    }

    /// Seed URLs, such as `http://www.site000.lab:PORT/`.
    pub fn seeds(&self) -> Vec<String> {
        self.web().seeds()
    }

    /// Every URL that the default [`Crawler`] can reach by links and may fetch according to robots.txt, in the form of
    /// [`Lab::fold`]. Redirects and missing pages (404) are included, but robots.txt files are not.
    pub fn pages(&self) -> BTreeSet<String> {
        self.truth(&Crawler::default()).into_keys().collect()
    }

    /// Every URL that this crawler can reach and may fetch, with the expected outcome.
    pub fn truth(&self, crawler: &Crawler) -> BTreeMap<String, Expected> {
        self.web().truth(crawler)
    }

    /// The form of a URL in [`Lab::truth`]: canonical by the default rules and without `www.`, such as
    /// `http://site000.lab:PORT/a`. Text that is not a URL is returned unchanged.
    pub fn fold(&self, url: &str) -> String {
        truth::fold(&self.canonicaliser, url)
    }

    /// All requests whose exchanges have ended, in the order in which they ended.
    pub fn log(&self) -> Vec<LoggedRequest> {
        self.shared.log.requests()
    }

    /// The requests that started at or after an instant.
    pub fn log_since(&self, instant: Instant) -> Vec<LoggedRequest> {
        self.shared.log.requests_since(instant)
    }

    /// All questions that the DNS server received.
    pub fn questions(&self) -> Vec<Question> {
        self.shared.log.questions()
    }

    /// Number of requests that were answered since the start or the last [`Lab::clear`].
    pub fn count(&self) -> u64 {
        self.shared.log.count()
    }

    /// Connections to refused addresses ([`BLACK_LIST`]) on which the lab listens. A correct crawler makes none.
    pub fn trespasses(&self) -> Vec<Trespass> {
        self.shared.log.trespasses()
    }

    /// Deletes the log (requests, questions and trespasses), and sets the counters of hostile sites to 0.
    pub fn clear(&self) {
        self.shared.counters.clear();
        self.shared.log.clear();
    }

    /// Waits until `n` requests have been answered since the start or the last [`Lab::clear`]. Cancel-safe.
    pub async fn wait_for_requests(&self, n: u64) {
        self.shared.log.wait_for(n).await;
    }

    /// Pairs of requests to the same site or address with less than `pause` between the end of a response and the
    /// arrival of the next request.
    pub fn violations(&self, pause: Duration) -> Vec<Violation> {
        violations(&self.log(), pause)
    }
}
