//! A web to test against: sites, DNS and a log of what the servers saw. Real sockets, loopback only.

mod hazard;
mod log;
mod plan;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use hazard::Hazard;
pub use log::{Question, Request, Shared, Violation, violations};
pub use plan::{Latency, Plan, Sizes};
pub use truth::{Crawler, Expected};

/// A running lab: HTTP and DNS servers on loopback. They stop when it is dropped.
#[derive(Debug)]
pub struct Lab {
    plan: Plan,
    log: Arc<log::Log>,
    resolver: SocketAddr,
    port: u16,
}

impl Lab {
    /// Brings the web up. HTTP listens on one free port of all addresses of the plan, DNS (UDP and TCP) on
    /// a free port of 127.0.0.1.
    #[expect(clippy::unused_async, reason = "the servers come next")]
    pub async fn start(plan: Plan) -> io::Result<Lab> {
        let _ = plan;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The plan it was started with, port filled in.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The lab's DNS server.
    pub fn resolver(&self) -> SocketAddr {
        self.resolver
    }

    /// Port of all HTTP servers.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where to start: `http://www.site000.lab:PORT/` and so on.
    pub fn seeds(&self) -> Vec<String> {
        Vec::new()
    }

    /// Every URL reachable by links and allowed by robots.txt for the default [`Crawler`]: redirects and 404s
    /// too, robots.txt itself not. In folded form, see [`Lab::fold`].
    pub fn pages(&self) -> BTreeSet<String> {
        self.truth(&Crawler::default()).into_keys().collect()
    }

    /// The truth for another crawler, with what is expected of each URL.
    pub fn truth(&self, crawler: &Crawler) -> BTreeMap<String, Expected> {
        let _ = crawler;
        BTreeMap::new()
    }

    /// A URL in the form the truth is told in: canonical by `Canonicaliser::default()`, `www.` folded:
    /// `http://site000.lab:PORT/a`. The text itself when it is no URL.
    pub fn fold(&self, url: &str) -> String {
        url.to_owned()
    }

    /// All requests whose answers have ended, in the order they ended.
    pub fn log(&self) -> Vec<Request> {
        self.log.requests()
    }

    /// Those that started at or after an instant.
    pub fn log_since(&self, instant: Instant) -> Vec<Request> {
        self.log.requests_since(instant)
    }

    /// DNS questions asked.
    pub fn questions(&self) -> Vec<Question> {
        self.log.questions()
    }

    /// Requests answered since the start or the last [`Lab::clear`].
    pub fn count(&self) -> u64 {
        self.log.count()
    }

    /// Forgets all requests and questions.
    pub fn clear(&self) {
        self.log.clear();
    }

    /// Returns when `n` requests have been answered since the start or the last [`Lab::clear`]. May be
    /// cancelled.
    pub async fn wait_for_requests(&self, n: u64) {
        self.log.wait_for(n).await;
    }

    /// Pairs of requests to one site or one address closer than the pause, from the end of the answer to the
    /// arrival of the next request.
    pub fn violations(&self, pause: Duration) -> Vec<Violation> {
        violations(&self.log.requests(), pause)
    }
}
