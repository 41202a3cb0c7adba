//! The simulated network: DNS, connections and responses of the generated web. The [`RequestAudit`] checks every
//! request.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aranha_fetch::{Failure, SimulatedResponse, Simulation};
use aranha_lab::Chance;

use crate::page;
use crate::request_audit::{RequestAudit, RequestedDelays};
use crate::site::{OutageKind, SimulatedSite};
use crate::web_plan::WebPlan;

const LOOK_UP_TIME: Duration = Duration::from_millis(25);
const CONNECT_TIME: Duration = Duration::from_millis(30);
/// Delay of a server that does not respond. It exceeds every time limit of the crawler.
const NO_RESPONSE: Duration = Duration::from_hours(24);
/// Time is divided into periods of this length. A site that uses Retry-After does so in about one period in ten, chosen
/// at random. In such a period, every response has Retry-After.
const RETRY_AFTER_PERIOD_MS: i64 = 6 * 3_600_000;

/// A web generated from a plan, with an audit of the requests that its servers receive.
#[derive(Debug)]
pub struct SimulatedWeb {
    plan: WebPlan,
    audit: Mutex<RequestAudit>,
}

impl SimulatedWeb {
    /// `pause` is the courtesy pause of the crawl. `max_pause` is the longest Crawl-delay that the crawl obeys.
    pub fn new(plan: WebPlan, pause: Duration, max_pause: Duration) -> SimulatedWeb {
        let audit = RequestAudit::new(&plan, pause, max_pause);
        SimulatedWeb {
            audit: Mutex::new(audit),
            plan,
        }
    }

    /// The parameters of the web.
    pub fn plan(&self) -> &WebPlan {
        &self.plan
    }

    /// The audit of the requests so far.
    pub fn audit(&self) -> MutexGuard<'_, RequestAudit> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply_kind(&self, site: &SimulatedSite, now: i64, path: &str) -> ReplyKind {
        let key = |what: u64, when: i64| [3, u64::from(site.number), what, when as u64];
        let mut period = Chance::of(self.plan.seed, &key(0, now / RETRY_AFTER_PERIOD_MS));
        if site.sends_retry_after && period.percent(10) {
            return ReplyKind::RetryAfter(60 + period.below(5400) as u64);
        }
        let hash = path.bytes().fold(0, |hash: u64, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut request = Chance::of(self.plan.seed, &key(hash | 1, now / 3_600_000));
        match request.below(200) {
            0 => ReplyKind::Error,
            _ => ReplyKind::Page,
        }
    }
}

/// The kind of response of a site while it has no outage.
enum ReplyKind {
    Page,
    Error,
    /// Refuses the request and asks for this delay, in seconds.
    RetryAfter(u64),
}

impl Simulation for SimulatedWeb {
    fn look_up(&self, _: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>) {
        self.audit().look_ups += 1;
        let number = SimulatedSite::number(&self.plan, name);
        let site = number.map(|number| SimulatedSite::of(&self.plan, number));
        let found = site.filter(|site| site.exists).map(|site| site.address);
        let found = found.ok_or(Failure::DnsNotFound);
        (LOOK_UP_TIME, found.map(|address| vec![address]))
    }

    fn connect(&self, now: i64, target: SocketAddr) -> (Duration, Result<(), Failure>) {
        self.audit().on_connect(now, target.ip());
        let only_site = SimulatedSite::only_site_at(&self.plan, target.ip());
        match only_site.and_then(|site| site.outage(now)) {
            Some(OutageKind::ConnectionRefused) => {
                let refused = Failure::ConnectFailed("connection refused".to_owned());
                (CONNECT_TIME, Err(refused))
            }
            Some(OutageKind::ConnectTimeout) => (NO_RESPONSE, Err(Failure::ConnectTimeout)),
            _ => (CONNECT_TIME, Ok(())),
        }
    }

    fn respond(&self, now: i64, target: SocketAddr, request: &[u8]) -> SimulatedResponse {
        let (path, host) = path_and_host(request);
        let number = SimulatedSite::number(&self.plan, host);
        // `number` is never `None`, because host names that are not in the plan have no address.
        let site = SimulatedSite::of(&self.plan, number.unwrap_or_default());
        let mut jitter = Chance::of(self.plan.seed, &[4, now as u64, u64::from(site.number)]);
        let mut delay_ms = u64::from(site.latency_ms) / 2;
        delay_ms += jitter.below(site.latency_ms as usize + 1) as u64;
        let mut delays = RequestedDelays::none(path == "/robots.txt");
        let bytes = match (site.outage(now), self.reply_kind(&site, now, path)) {
            (Some(OutageKind::EmptyResponse), _) => bytes::Bytes::new(),
            (Some(_), _) | (None, ReplyKind::Error) => {
                page::error(&site, "500 Internal Server Error", None)
            }
            (None, ReplyKind::RetryAfter(seconds)) => {
                delays.retry_after = Some(Duration::from_secs(seconds));
                let status = if seconds % 2 == 0 {
                    "503 Service Unavailable"
                } else {
                    "429 Too Many Requests"
                };
                page::error(&site, status, Some(seconds))
            }
            (None, ReplyKind::Page) => {
                delays.crawl_delay = site.crawl_delay;
                page::response(&self.plan, &site, path)
            }
        };
        self.audit()
            .on_request(now, site.number, target.ip(), path, &delays);
        SimulatedResponse {
            id: u64::from(site.number),
            delay: Duration::from_millis(delay_ms),
            bytes,
        }
    }

    fn exchange_ended(&self, now: i64, target: SocketAddr, id: u64) {
        self.audit().on_response_end(now, id as u32, target.ip());
    }
}

fn path_and_host(request: &[u8]) -> (&str, &str) {
    let head = std::str::from_utf8(request).unwrap_or_default();
    let mut lines = head.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1));
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    (path.unwrap_or_default(), host.unwrap_or_default())
}
