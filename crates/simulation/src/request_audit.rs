//! Checks every request that the simulated servers receive against the courtesy rules (invariant 2; R3, F8).
//!
//! - Two requests to one site, or to one address, are at least a courtesy pause apart, counted from the end of the last
//!   response.
//! - A Crawl-delay is kept, up to `crawl.max_pause`. A request for robots.txt only has to keep the courtesy pause,
//!   because the crawler reads the Crawl-delay from this file.
//! - A site that sent Retry-After gets no request until the requested delay has passed.
//! - A site has at most one request in progress.
//!
//! A response ends when the crawler has read its last byte or has closed the connection. After a kill, the crawler may
//! have forgotten a Retry-After of the last ten seconds, but no other delay. With several nodes, a node that was killed or
//! declared dead while it could not reach the database has lost what it could not store.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::{SimulatedSite, WebPlan};

/// When a crawl is killed, check-ins of the last ten seconds may be lost.
const MAX_UNSAVED_MS: i64 = 10_000;
/// Maximum number of violations that are stored. Further violations are only counted.
const MAX_VIOLATIONS_KEPT: usize = 20;

/// The delays that a response asks of the crawler.
#[derive(Debug, Default)]
pub(crate) struct RequestedDelays {
    is_robots_txt: bool,
    /// The Crawl-delay, if the response is a robots.txt file.
    pub(crate) crawl_delay: Option<Duration>,
    pub(crate) retry_after: Option<Duration>,
}

impl RequestedDelays {
    pub(crate) fn none(is_robots_txt: bool) -> RequestedDelays {
        RequestedDelays {
            is_robots_txt,
            ..RequestedDelays::default()
        }
    }
}

/// A request that came too early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourtesyViolation {
    /// Unix milliseconds.
    pub time: i64,
    /// The site's number.
    pub site: u32,
    /// The violated rule: `site`, `crawl_delay`, `address`, `retry_after`, `parallel` or `connect`.
    pub rule: &'static str,
    /// How many milliseconds the request came too early.
    pub early_ms: i64,
}

impl fmt::Display for CourtesyViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CourtesyViolation {
            time,
            site,
            rule,
            early_ms,
        } = self;
        write!(
            f,
            "{}: rule {rule}, {early_ms} ms too early, at {time}",
            SimulatedSite::host(*site)
        )
    }
}

/// State of the audit for one site. Times are unix milliseconds.
#[derive(Clone, Copy, Debug)]
struct SiteRequests {
    /// End of the last response.
    response_end: i64,
    retry_after: RetryAfter,
    crawl_delay_ms: u32,
    requests: u32,
    /// The node process that sent the last request.
    sender: u32,
    has_request_in_progress: bool,
}

/// A Retry-After response. The site must get no request before `until`.
#[derive(Clone, Copy, Debug)]
struct RetryAfter {
    until: i64,
    received: i64,
    /// The node process that received it.
    receiver: u32,
}

/// Stands for the time of an event that has not happened yet. It is earlier than every real time.
const LONG_AGO: i64 = i64::MIN / 2;

const NO_RETRY_AFTER: RetryAfter = RetryAfter {
    until: LONG_AGO,
    received: LONG_AGO,
    receiver: 0,
};

const NO_REQUESTS: SiteRequests = SiteRequests {
    response_end: LONG_AGO,
    retry_after: NO_RETRY_AFTER,
    crawl_delay_ms: 0,
    requests: 0,
    sender: 0,
    has_request_in_progress: false,
};

/// Checks and counts all requests of a scenario.
#[derive(Clone, Debug)]
pub struct RequestAudit {
    plan: WebPlan,
    pause_ms: i64,
    max_pause_ms: i64,
    sites: Vec<SiteRequests>,
    /// End of the last response at each address.
    addresses: Vec<i64>,
    /// The periods in which node processes could store nothing.
    unsaved: HashMap<u32, Vec<(i64, i64)>>,
    /// Number of DNS questions.
    pub look_ups: u64,
    /// Number of requests for robots.txt.
    pub robots_requests: u64,
    /// Number of times that another node process than before sent a request to a site.
    pub changes_of_sender: u64,
    /// Number of times that another node process than before sent a request to an address of several sites.
    pub changes_at_address: u64,
    /// The node process that sent the last request to each address; `u32::MAX` before the first.
    address_senders: Vec<u32>,
    /// Number of requests.
    pub requests: u64,
    /// Number of connection attempts.
    pub connections: u64,
    /// Hash of the time, site and path of all requests, in the order of the requests.
    pub request_hash: u64,
    /// Number of violations of each rule.
    pub violation_counts: BTreeMap<&'static str, u64>,
    /// The first violations. Later violations are only counted.
    pub violations: Vec<CourtesyViolation>,
}

impl RequestAudit {
    pub(crate) fn new(plan: &WebPlan, pause: Duration, max_pause: Duration) -> RequestAudit {
        RequestAudit {
            pause_ms: pause.as_millis() as i64,
            max_pause_ms: max_pause.as_millis() as i64,
            sites: vec![NO_REQUESTS; plan.sites as usize],
            addresses: vec![LONG_AGO; SimulatedSite::address_count(plan)],
            unsaved: HashMap::new(),
            look_ups: 0,
            robots_requests: 0,
            changes_of_sender: 0,
            changes_at_address: 0,
            address_senders: vec![u32::MAX; SimulatedSite::address_count(plan)],
            requests: 0,
            connections: 0,
            request_hash: 0,
            violation_counts: BTreeMap::new(),
            violations: Vec::new(),
            plan: plan.clone(),
        }
    }

    /// Number of sites that received at least one request.
    pub fn requested_sites(&self) -> u32 {
        let requested = self.sites.iter().filter(|site| site.requests > 0);
        requested.count() as u32
    }

    /// Records that the crawler was killed. A kill closes all connections of the crawler, and its last check-ins may be
    /// lost.
    pub fn on_kill(&mut self, now: i64) {
        for site in &mut self.sites {
            site.has_request_in_progress = false;
            site.response_end = site.response_end.min(now);
            if site.retry_after.received > now - MAX_UNSAVED_MS {
                site.retry_after = NO_RETRY_AFTER;
            }
        }
    }

    /// Records that a node process can store nothing from now on.
    pub(crate) fn on_contact_lost(&mut self, now: i64, process: u32) {
        let unsaved = self.unsaved.entry(process).or_default();
        unsaved.push((now - MAX_UNSAVED_MS, i64::MAX));
    }

    /// Records that a node process can store again. `has_kept`: also what it received meanwhile.
    pub(crate) fn on_contact(&mut self, now: i64, process: u32, has_kept: bool) {
        let unsaved = self.unsaved.entry(process).or_default();
        if has_kept {
            unsaved.pop();
        } else if let Some((_, until)) = unsaved.last_mut() {
            *until = now;
        }
    }

    /// Whether a process that received a response at this time may have lost it.
    fn is_lost(&self, process: u32, received: i64) -> bool {
        let unsaved = self.unsaved.get(&process).into_iter().flatten();
        let mut periods = unsaved.filter(|(from, until)| (*from..*until).contains(&received));
        periods.next().is_some()
    }

    /// Records which node process sent the last request to a site.
    pub(crate) fn on_sender(&mut self, number: u32, process: u32) {
        let site = &mut self.sites[number as usize];
        if site.requests > 1 && site.sender != process {
            self.changes_of_sender += 1;
        }
        site.sender = process;
        let address = SimulatedSite::of(&self.plan, number).address;
        let index = SimulatedSite::address_index(&self.plan, address);
        let before = std::mem::replace(&mut self.address_senders[index], process);
        let is_shared = index >= self.plan.sites as usize;
        self.changes_at_address += u64::from(is_shared && before != u32::MAX && before != process);
        // This response may have asked for a delay.
        if site.retry_after.receiver == u32::MAX {
            site.retry_after.receiver = process;
        }
    }

    pub(crate) fn on_connect(&mut self, now: i64, address: IpAddr) {
        self.connections += 1;
        let index = SimulatedSite::address_index(&self.plan, address);
        let early_ms = self.addresses[index] + self.pause_ms - now;
        self.check("connect", early_ms, now, 0);
        // A failed attempt does not start a courtesy pause, so the next request may follow at once.
        self.addresses[index] = self.addresses[index].max(now - self.pause_ms);
    }

    pub(crate) fn on_request(
        &mut self,
        now: i64,
        number: u32,
        address: IpAddr,
        path: &str,
        delays: &RequestedDelays,
    ) {
        let site = self.sites[number as usize];
        let crawl_delay = if delays.is_robots_txt {
            0
        } else {
            i64::from(site.crawl_delay_ms).min(self.max_pause_ms)
        };
        let response_end = site.response_end;
        self.check("site", response_end + self.pause_ms - now, now, number);
        if crawl_delay > self.pause_ms {
            self.check("crawl_delay", response_end + crawl_delay - now, now, number);
        }
        let RetryAfter {
            until,
            received,
            receiver,
        } = site.retry_after;
        if !self.is_lost(receiver, received) {
            self.check("retry_after", until - now, now, number);
        }
        let parallel = i64::from(site.has_request_in_progress) * 1000;
        self.check("parallel", parallel, now, number);
        let index = SimulatedSite::address_index(&self.plan, address);
        let early_ms = self.addresses[index] + self.pause_ms - now;
        self.check("address", early_ms, now, number);
        let site = &mut self.sites[number as usize];
        site.has_request_in_progress = true;
        site.requests += 1;
        if let Some(delay) = delays.crawl_delay.filter(|_| delays.is_robots_txt) {
            site.crawl_delay_ms = delay.as_millis() as u32;
        }
        if let Some(delay) = delays.retry_after {
            site.retry_after = RetryAfter {
                until: now + delay.as_millis() as i64,
                received: now,
                receiver: u32::MAX,
            };
        }
        self.requests += 1;
        self.robots_requests += u64::from(delays.is_robots_txt);
        let path = path.bytes().fold(0_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        for part in [now as u64, u64::from(number), path] {
            let mixed = self.request_hash.rotate_left(5) ^ part;
            self.request_hash = mixed.wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    pub(crate) fn on_response_end(&mut self, now: i64, number: u32, address: IpAddr) {
        let site = &mut self.sites[number as usize];
        site.has_request_in_progress = false;
        site.response_end = now;
        let index = SimulatedSite::address_index(&self.plan, address);
        self.addresses[index] = now;
    }

    /// Records a violation if a request came more than 1 ms too early. A difference of 1 ms is tolerated, because times
    /// are rounded down to whole milliseconds.
    fn check(&mut self, rule: &'static str, early_ms: i64, time: i64, site: u32) {
        if early_ms <= 1 {
            return;
        }
        *self.violation_counts.entry(rule).or_default() += 1;
        if self.violations.len() < MAX_VIOLATIONS_KEPT {
            self.violations.push(CourtesyViolation {
                time,
                site,
                rule,
                early_ms,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit() -> (RequestAudit, IpAddr) {
        let plan = WebPlan::new(1, 100);
        let address = SimulatedSite::of(&plan, 5).address;
        let audit = RequestAudit::new(&plan, Duration::from_secs(2), Duration::from_mins(1));
        (audit, address)
    }

    /// A request to site 5 whose response ends 100 ms later.
    fn request(audit: &mut RequestAudit, address: IpAddr, now: i64, delays: &RequestedDelays) {
        audit.on_request(now, 5, address, "/", delays);
        audit.on_response_end(now + 100, 5, address);
    }

    fn retry_after_an_hour() -> RequestedDelays {
        RequestedDelays {
            retry_after: Some(Duration::from_hours(1)),
            ..RequestedDelays::default()
        }
    }

    #[test]
    fn each_rule_is_checked() {
        let check = |first: &RequestedDelays, later: i64, expected: &[&str]| {
            let (mut audit, address) = audit();
            request(&mut audit, address, 0, first);
            request(&mut audit, address, later, &RequestedDelays::default());
            let violated: Vec<&str> = audit.violation_counts.keys().copied().collect();
            assert_eq!(violated, expected, "{first:?} {later}");
        };
        let none = RequestedDelays::default();
        check(&none, 2100, &[]);
        check(&none, 2098, &["address", "site"]);
        let crawl_delay = RequestedDelays {
            is_robots_txt: true,
            crawl_delay: Some(Duration::from_secs(10)),
            retry_after: None,
        };
        check(&crawl_delay, 10_100, &[]);
        check(&crawl_delay, 9000, &["crawl_delay"]);
        check(&retry_after_an_hour(), 3_599_000, &["retry_after"]);
        check(&retry_after_an_hour(), 3_600_000, &[]);
    }

    #[test]
    fn requests_to_one_address_and_parallel_requests_are_checked() {
        let (mut audit, address) = audit();
        let none = RequestedDelays::default();
        request(&mut audit, address, 0, &none);
        audit.on_request(1000, 6, address, "/", &none);
        let violated: Vec<_> = audit.violation_counts.keys().collect();
        assert_eq!(violated, [&"address"]);
        audit.on_request(9000, 6, address, "/", &none);
        assert!(audit.violation_counts.contains_key("parallel"));
        let (mut audit, address) = self::audit();
        request(&mut audit, address, 0, &none);
        audit.on_connect(1500, address);
        let violated: Vec<_> = audit.violation_counts.keys().collect();
        assert_eq!(violated, [&"connect"]);
    }

    #[test]
    fn a_kill_excuses_only_the_last_ten_seconds() {
        for (killed, expected) in [(5000, 0), (20_000, 1)] {
            let (mut audit, address) = audit();
            request(&mut audit, address, 0, &retry_after_an_hour());
            audit.on_kill(killed);
            request(
                &mut audit,
                address,
                killed + 3000,
                &RequestedDelays::default(),
            );
            assert_eq!(audit.violation_counts.len(), expected);
        }
    }
}
