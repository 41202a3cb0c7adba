//! The judge: what the simulated servers saw, held against what they may expect (invariant 2; R3, F8).
//!
//! - Two requests to one site, or to one address, are never closer than the pause, counted from the end of the last answer.
//! - A site whose robots.txt asked for a longer delay is given it, up to the longest that the crawl obeys. Requests for
//!   robots.txt itself are held to the plain pause: it is where the delay is learnt.
//! - Who said Retry-After is left alone that long.
//! - No site is asked twice at once.
//!
//! An answer ends when its last byte is taken or the crawler is gone. A crawler that was killed may have forgotten what it
//! heard in the last moments, and nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::{Plan, Site};

/// What a killed crawler may not have written down: a check-in on its way to the disk.
const FORGOTTEN_MS: i64 = 10_000;
/// Violations kept word for word.
const KEPT: usize = 20;

/// What is expected of the crawler after an answer.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    is_robots: bool,
    /// What robots.txt asks for, if this is it.
    pub(crate) delay: Option<Duration>,
    pub(crate) patience: Option<Duration>,
}

impl Expected {
    pub(crate) fn of(is_robots: bool) -> Expected {
        Expected {
            is_robots,
            ..Expected::default()
        }
    }
}

/// Something that a server should not have seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Unix milliseconds.
    pub time: i64,
    /// The site's number.
    pub site: u32,
    /// Which rule: `site`, `delay`, `address`, `patience`, `parallel`, `connect`.
    pub rule: &'static str,
    /// Milliseconds too early.
    pub early: i64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            time,
            site,
            rule,
            early,
        } = self;
        write!(
            f,
            "{}: rule {rule}, {early} ms too early, at {time}",
            Site::host(*site)
        )
    }
}

/// What is known of one site.
#[derive(Clone, Copy, Debug)]
struct Known {
    ended: i64,
    /// Not before this, said at that time.
    patience: (i64, i64),
    delay_ms: u32,
    requests: u32,
    is_busy: bool,
}

/// Never.
const LONG_AGO: i64 = i64::MIN / 2;

const UNKNOWN: Known = Known {
    ended: LONG_AGO,
    patience: (LONG_AGO, LONG_AGO),
    delay_ms: 0,
    requests: 0,
    is_busy: false,
};

/// What all servers saw, added up.
#[derive(Clone, Debug)]
pub struct Ledger {
    plan: Plan,
    pause_ms: i64,
    longest_ms: i64,
    sites: Vec<Known>,
    /// The end of the last answer at each address.
    addresses: Vec<i64>,
    /// Requests.
    pub requests: u64,
    /// Attempts to connect.
    pub connections: u64,
    /// A hash over every request, its moment and its place in the order.
    pub course: u64,
    /// How often each rule was broken.
    pub broken: BTreeMap<&'static str, u64>,
    /// The first of these.
    pub violations: Vec<Violation>,
}

impl Ledger {
    pub(crate) fn new(plan: &Plan, pause: Duration, longest: Duration) -> Ledger {
        Ledger {
            pause_ms: pause.as_millis() as i64,
            longest_ms: longest.as_millis() as i64,
            sites: vec![UNKNOWN; plan.sites as usize],
            addresses: vec![LONG_AGO; Site::places(plan)],
            requests: 0,
            connections: 0,
            course: 0,
            broken: BTreeMap::new(),
            violations: Vec::new(),
            plan: plan.clone(),
        }
    }

    /// Sites that were asked for anything.
    pub fn visited(&self) -> u32 {
        let visited = self.sites.iter().filter(|site| site.requests > 0);
        visited.count() as u32
    }

    /// The process is gone: it hung up everywhere, and remembers what it wrote down.
    pub fn killed(&mut self, now: i64) {
        for site in &mut self.sites {
            site.is_busy = false;
            site.ended = site.ended.min(now);
            if site.patience.1 > now - FORGOTTEN_MS {
                site.patience = UNKNOWN.patience;
            }
        }
    }

    pub(crate) fn connected(&mut self, now: i64, address: IpAddr) {
        self.connections += 1;
        let place = Site::place(&self.plan, address);
        let early = self.addresses[place] + self.pause_ms - now;
        self.hold("connect", early, now, 0);
        // In the crawler's favour: the attempt ends where it began, if nothing comes of it.
        self.addresses[place] = self.addresses[place].max(now - self.pause_ms);
    }

    pub(crate) fn asked(
        &mut self,
        now: i64,
        number: u32,
        address: IpAddr,
        path: &str,
        expected: &Expected,
    ) {
        let known = self.sites[number as usize];
        let delay = if expected.is_robots {
            0
        } else {
            i64::from(known.delay_ms).min(self.longest_ms)
        };
        self.hold("site", known.ended + self.pause_ms - now, now, number);
        if delay > self.pause_ms {
            self.hold("delay", known.ended + delay - now, now, number);
        }
        self.hold("patience", known.patience.0 - now, now, number);
        self.hold("parallel", i64::from(known.is_busy) * 1000, now, number);
        let place = Site::place(&self.plan, address);
        let early = self.addresses[place] + self.pause_ms - now;
        self.hold("address", early, now, number);
        let known = &mut self.sites[number as usize];
        known.is_busy = true;
        known.requests += 1;
        if let Some(delay) = expected.delay.filter(|_| expected.is_robots) {
            known.delay_ms = delay.as_millis() as u32;
        }
        if let Some(patience) = expected.patience {
            known.patience = (now + patience.as_millis() as i64, now);
        }
        self.requests += 1;
        let path = path.bytes().fold(0_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        for part in [now as u64, u64::from(number), path] {
            self.course = (self.course.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    pub(crate) fn ended(&mut self, now: i64, number: u32, address: IpAddr) {
        let known = &mut self.sites[number as usize];
        known.is_busy = false;
        known.ended = now;
        let place = Site::place(&self.plan, address);
        self.addresses[place] = now;
    }

    /// Times are in whole milliseconds, rounded down: one of them proves nothing.
    fn hold(&mut self, rule: &'static str, early: i64, time: i64, site: u32) {
        if early <= 1 {
            return;
        }
        *self.broken.entry(rule).or_default() += 1;
        if self.violations.len() < KEPT {
            self.violations.push(Violation {
                time,
                site,
                rule,
                early,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> (Ledger, IpAddr) {
        let plan = Plan::new(1, 100);
        let address = Site::of(&plan, 5).address;
        let ledger = Ledger::new(&plan, Duration::from_secs(2), Duration::from_mins(1));
        (ledger, address)
    }

    /// Asks and is answered 100 ms later.
    fn ask(ledger: &mut Ledger, address: IpAddr, now: i64, expected: &Expected) {
        ledger.asked(now, 5, address, "/", expected);
        ledger.ended(now + 100, 5, address);
    }

    #[test]
    fn each_rule_is_held() {
        let check = |first: &Expected, later: i64, expected: &[&str]| {
            let (mut ledger, address) = ledger();
            ask(&mut ledger, address, 0, first);
            ask(&mut ledger, address, later, &Expected::default());
            let broken: Vec<&str> = ledger.broken.keys().copied().collect();
            assert_eq!(broken, expected, "{first:?} {later}");
        };
        let plain = Expected::default();
        check(&plain, 2100, &[]);
        check(&plain, 2098, &["address", "site"]);
        let delay = Expected {
            is_robots: true,
            delay: Some(Duration::from_secs(10)),
            patience: None,
        };
        check(&delay, 10_100, &[]);
        check(&delay, 9000, &["delay"]);
        let patience = Expected {
            patience: Some(Duration::from_hours(1)),
            ..Expected::default()
        };
        check(&patience, 3_599_000, &["patience"]);
        check(&patience, 3_600_000, &[]);
    }

    #[test]
    fn neighbours_share_an_address_and_nobody_is_asked_twice_at_once() {
        let (mut ledger, address) = ledger();
        ask(&mut ledger, address, 0, &Expected::default());
        ledger.asked(1000, 6, address, "/", &Expected::default());
        assert_eq!(ledger.broken.keys().collect::<Vec<_>>(), [&"address"]);
        ledger.asked(9000, 6, address, "/", &Expected::default());
        assert!(ledger.broken.contains_key("parallel"));
        let (mut ledger, address) = self::ledger();
        ask(&mut ledger, address, 0, &Expected::default());
        ledger.connected(1500, address);
        assert_eq!(ledger.broken.keys().collect::<Vec<_>>(), [&"connect"]);
    }

    #[test]
    fn a_killed_crawler_forgets_the_last_moments_only() {
        for (killed, broken) in [(5000, 0), (20_000, 1)] {
            let (mut ledger, address) = ledger();
            let patience = Expected {
                patience: Some(Duration::from_hours(1)),
                ..Expected::default()
            };
            ask(&mut ledger, address, 0, &patience);
            ledger.killed(killed);
            ask(&mut ledger, address, killed + 3000, &Expected::default());
            assert_eq!(ledger.broken.len(), broken);
        }
    }
}
