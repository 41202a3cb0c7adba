//! The simulated network: names, connections and answers of the plan's web, and the judge beside them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aranha_fetch::{Failure, SimulatedResponse, Simulation};
use aranha_lab::Chance;

use crate::judge::{Expected, Ledger};
use crate::site::Fault;
use crate::{Plan, Site, page};

/// What the name servers take.
const LOOK_UP: Duration = Duration::from_millis(25);
/// Longer than anybody waits.
const NEVER: Duration = Duration::from_hours(24);
/// A site's moods change this often.
const MOOD_MS: i64 = 6 * 3_600_000;

/// A web made up from a plan, with a judge who sees what its servers see.
#[derive(Debug)]
pub struct Network {
    plan: Plan,
    ledger: Mutex<Ledger>,
}

impl Network {
    /// `pause` and `longest`: the courtesy pause that the crawl promises, and the longest Crawl-delay that it obeys.
    pub fn new(plan: Plan, pause: Duration, longest: Duration) -> Network {
        let ledger = Ledger::new(&plan, pause, longest);
        Network {
            ledger: Mutex::new(ledger),
            plan,
        }
    }

    /// What it is made from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the servers saw.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mood(&self, site: &Site, now: i64, path: &str) -> Mood {
        let place = |what: u64, when: i64| [3, u64::from(site.number), what, when as u64];
        let mut window = Chance::of(self.plan.seed, &place(0, now / MOOD_MS));
        if site.is_impatient && window.percent(10) {
            return Mood::Patience(60 + window.below(5400) as u64);
        }
        let hash = path.bytes().fold(0, |hash: u64, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut request = Chance::of(self.plan.seed, &place(hash | 1, now / 3_600_000));
        match request.below(200) {
            0 => Mood::Error,
            _ => Mood::Good,
        }
    }
}

enum Mood {
    Good,
    Error,
    /// Seconds.
    Patience(u64),
}

impl Simulation for Network {
    fn look_up(&self, _: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>) {
        let site = Site::number(&self.plan, name).map(|number| Site::of(&self.plan, number));
        let found = site.filter(|site| site.exists).map(|site| site.address);
        let found = found.ok_or(Failure::DnsNotFound);
        (LOOK_UP, found.map(|address| vec![address]))
    }

    fn connect(&self, now: i64, target: SocketAddr) -> (Duration, Result<(), Failure>) {
        self.ledger().connected(now, target.ip());
        let alone = Site::alone_at(&self.plan, target.ip());
        match alone.and_then(|site| site.fault(now)) {
            Some(Fault::Refused) => {
                let refused = Failure::ConnectFailed("connection refused".to_owned());
                (Duration::from_millis(30), Err(refused))
            }
            Some(Fault::Silent) => (NEVER, Err(Failure::ConnectTimeout)),
            _ => (Duration::from_millis(30), Ok(())),
        }
    }

    fn respond(&self, now: i64, target: SocketAddr, request: &[u8]) -> SimulatedResponse {
        let (path, host) = read(request);
        let number = Site::number(&self.plan, host);
        // A name of the plan is the only one that leads here.
        let site = Site::of(&self.plan, number.unwrap_or_default());
        let mut jitter = Chance::of(self.plan.seed, &[4, now as u64, u64::from(site.number)]);
        let mut after = u64::from(site.latency_ms) / 2;
        after += jitter.below(site.latency_ms as usize + 1) as u64;
        let mut expected = Expected::of(path == "/robots.txt");
        let bytes = match (site.fault(now), self.mood(&site, now, path)) {
            (Some(Fault::Mute), _) => bytes::Bytes::new(),
            (Some(_), _) | (None, Mood::Error) => {
                page::refusal(&site, "500 Internal Server Error", None)
            }
            (None, Mood::Patience(seconds)) => {
                expected.patience = Some(Duration::from_secs(seconds));
                let status = if seconds % 2 == 0 {
                    "503 Service Unavailable"
                } else {
                    "429 Too Many Requests"
                };
                page::refusal(&site, status, Some(seconds))
            }
            (None, Mood::Good) => {
                expected.delay = site.crawl_delay;
                page::answer(&self.plan, &site, path)
            }
        };
        let mut ledger = self.ledger();
        ledger.asked(now, site.number, target.ip(), path, &expected);
        SimulatedResponse {
            id: u64::from(site.number),
            delay: Duration::from_millis(after),
            bytes,
        }
    }

    fn exchange_ended(&self, now: i64, target: SocketAddr, id: u64) {
        self.ledger().ended(now, id as u32, target.ip());
    }
}

/// Path and host of a request.
fn read(request: &[u8]) -> (&str, &str) {
    let head = std::str::from_utf8(request).unwrap_or_default();
    let mut lines = head.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1));
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    (path.unwrap_or_default(), host.unwrap_or_default())
}
