//! A web to test against: sites, DNS and a log of what the servers saw. Real sockets, loopback only.
//!
//! ```text
//! Plan ─► Web: host ─► site ─► resource ─► outline ─► html ─► Answer       pure
//!          │                        └──────────► truth: what must be found
//!          └─► Lab: server ─► request ─► wire ─► exchange ─► log           sockets
//!                   dns ─► packet ────────────────────────► log
//!                   secure (TLS), trespass (refused addresses), vacuum (no answer)
//!                   tally: what was seen, added up
//! ```
//!
//! Used by tests, by `bench/`, by `aranha demo` and by `aranha lab`. What always holds:
//! - **Pure.** An honest answer depends on plan, port, host and path only; nothing is stored, so a hundred thousand
//!   sites cost no memory until they are visited.
//! - **Loopback only.** Servers listen on 127.0.0.0/8 or drop who comes from elsewhere.
//! - **Judged by what servers saw.** Every exchange is logged, however it ends; times are taken in the
//!   crawler's favour, so that a violation is one.
//!
//! Read first: [`Plan`], then `web.rs`; hostile sites are under `hazard/`.

mod answer;
mod certificate;
mod chance;
mod dns;
mod exchange;
mod hazard;
mod html;
mod language;
mod layout;
mod log;
mod memory;
mod outline;
mod packet;
mod plan;
mod request;
mod resource;
mod robots;
mod secure;
mod server;
mod site;
mod tally;
mod trespass;
mod truth;
mod vacuum;
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
pub use log::{Question, Request, Shared, Violation, violations};
pub use plan::{Latency, Plan, Sizes};
pub use tally::{Cost, Tally};
pub use trespass::{BLACK_LIST, Trespass};
pub use truth::{Crawler, Expected};
pub use web::Web;

/// A running lab: HTTP and DNS servers on loopback. They stop when it is dropped.
#[derive(Debug)]
pub struct Lab {
    shared: Arc<server::Shared>,
    resolver: SocketAddr,
    canonicaliser: Canonicaliser,
    _vacuums: Vec<vacuum::Vacuum>,
    /// The servers' tasks, aborted on drop.
    _servers: JoinSet<()>,
}

impl Lab {
    /// Brings the web up. HTTP listens on one port of all addresses of the plan, DNS (UDP and TCP) on a port of
    /// 127.0.0.1; both are free ones unless the plan names them.
    pub async fn start(plan: Plan) -> io::Result<Lab> {
        let keep_log = plan.keep_log;
        let wanted_port = plan.port;
        let web = Web::new(plan, 0);
        let mut addresses = web.addresses();
        let hostile = !web.plan().hazards.is_empty();
        if hostile {
            addresses.extend(trespass::listened());
        }
        let mut listeners = server::bind(&addresses, wanted_port).await?;
        let port = listeners[0].local_addr()?.port();
        if hostile {
            // Nobody to count where the machine has no IPv6.
            listeners.extend(server::bind_six(port).await.ok());
        }
        let mut vacuums = Vec::new();
        for (address, hazard) in web.hazards() {
            if hazard == Hazard::Void {
                vacuums.push(vacuum::Vacuum::open(address, port).await?);
            }
        }
        let (udp, tcp) = dns::bind(web.plan().dns_port).await?;
        let resolver = udp.local_addr()?;
        let shared = Arc::new(server::Shared {
            web: Web::new(web.plan().clone(), port),
            log: log::Log::new(keep_log),
            memory: memory::Memory::default(),
            certificates: certificate::Certificates::new(&web)?,
            hostile: web
                .hazards()
                .enumerate()
                .map(|(place, (address, hazard))| {
                    (address.into(), (hazard, web.hazard_host(place)))
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
            _vacuums: vacuums,
            _servers: servers,
        })
    }

    /// The web that is served, without its sockets.
    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The plan it was started with.
    pub fn plan(&self) -> &Plan {
        self.web().plan()
    }

    /// The lab's DNS server.
    pub fn resolver(&self) -> SocketAddr {
        self.resolver
    }

    /// DER of the certificate that signs all that are not self-signed; `None` when nothing of the plan speaks TLS.
    pub fn authority(&self) -> Option<&[u8]> {
        let certificates = self.shared.certificates.as_ref()?;
        Some(&certificates.authority)
    }

    /// Home pages of all hostile sites, in the order of the plan.
    pub fn hazard_seeds(&self) -> Vec<String> {
        self.web().hazard_seeds()
    }

    /// Port of all HTTP servers, and of those that speak TLS.
    pub fn port(&self) -> u16 {
        self.web().port()
    }

    /// Where to start: `http://www.site000.lab:PORT/` and so on.
    pub fn seeds(&self) -> Vec<String> {
        self.web().seeds()
    }

    /// Every URL reachable by links and allowed by robots.txt for the default [`Crawler`]: redirects and 404s
    /// too, robots.txt itself not. In folded form, see [`Lab::fold`].
    pub fn pages(&self) -> BTreeSet<String> {
        self.truth(&Crawler::default()).into_keys().collect()
    }

    /// The truth for another crawler, with what is expected of each URL.
    pub fn truth(&self, crawler: &Crawler) -> BTreeMap<String, Expected> {
        self.web().truth(crawler)
    }

    /// A URL in the form the truth is told in: canonical by `Canonicaliser::default()`, `www.` folded:
    /// `http://site000.lab:PORT/a`. The text itself when it is no URL.
    pub fn fold(&self, url: &str) -> String {
        truth::fold(&self.canonicaliser, url)
    }

    /// All requests whose exchanges are over, in the order they ended.
    pub fn log(&self) -> Vec<Request> {
        self.shared.log.requests()
    }

    /// Those that started at or after an instant.
    pub fn log_since(&self, instant: Instant) -> Vec<Request> {
        self.shared.log.requests_since(instant)
    }

    /// DNS questions asked.
    pub fn questions(&self) -> Vec<Question> {
        self.shared.log.questions()
    }

    /// Requests answered since the start or the last [`Lab::clear`].
    pub fn count(&self) -> u64 {
        self.shared.log.count()
    }

    /// Connections to addresses of [`BLACK_LIST`] that the lab can listen on: there should be none.
    pub fn trespasses(&self) -> Vec<Trespass> {
        self.shared.log.trespasses()
    }

    /// Forgets all requests, questions and trespasses, and what hostile sites remember of them.
    pub fn clear(&self) {
        self.shared.memory.clear();
        self.shared.log.clear();
    }

    /// Returns when `n` requests have been answered since the start or the last [`Lab::clear`]. May be
    /// cancelled.
    pub async fn wait_for_requests(&self, n: u64) {
        self.shared.log.wait_for(n).await;
    }

    /// Pairs of requests to one site or one address closer than the pause, from the end of the answer to the
    /// arrival of the next request.
    pub fn violations(&self, pause: Duration) -> Vec<Violation> {
        violations(&self.log(), pause)
    }
}
