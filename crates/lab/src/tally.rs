//! Totals of a crawl, which `aranha lab` and `bench/zoo` print.
//!
//! The totals are computed from the servers' log and from the expected URLs (`truth.rs`), never from the crawler's own
//! statistics. The plan must set [`Plan::keep_log`](crate::Plan::keep_log).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::hazard::{Group, Hazard};
use crate::log::{LoggedRequest, Violation, violations};
use crate::web::Host;
use crate::{Crawler, Expected, Lab};

/// Cost of one kind of hostile site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests to all sites of this kind.
    pub requests: u64,
    /// Bytes sent to the crawler.
    pub bytes: u64,
    /// Sum of the durations of all exchanges with these sites.
    pub held: Duration,
}

/// Totals of a crawl, computed from the servers' log.
#[derive(Clone, Debug, Default)]
pub struct CrawlTotals {
    /// All requests, including robots.txt.
    pub requests: u64,
    /// Requests to honest sites.
    pub honest: u64,
    /// Requests whose host name is unknown or missing.
    pub unknown: u64,
    /// Cost of each kind of hostile site that received requests.
    pub hazards: BTreeMap<Hazard, Cost>,
    /// Number of URLs of honest sites that a crawl must fetch.
    pub expected: usize,
    /// Number of expected URLs that were answered completely with the expected status.
    pub arrived: usize,
    /// The expected URLs that `arrived` does not count, in folded form ([`Lab::fold`]).
    pub missed: Vec<String>,
    /// Questions to the DNS server.
    pub questions: usize,
    /// Connections to refused addresses.
    pub trespasses: usize,
    /// Pairs of requests to the same site or address that violate the courtesy pause.
    pub violations: Vec<Violation>,
    /// Time from the first request of the crawl until all URLs that `arrived` counts were answered.
    pub honest_time: Duration,
    /// Time from the first request to the end of the last exchange.
    pub time: Duration,
    /// Number of complete responses in each second after the first request. Responses for robots.txt are not counted.
    pub each_second: Vec<u32>,
}

impl CrawlTotals {
    /// Number of requests to hostile sites of a group.
    pub fn group(&self, group: Group) -> u64 {
        let costs = self.hazards.iter();
        let of_group = costs.filter(|(hazard, _)| hazard.group() == group);
        of_group.map(|(_, cost)| cost.requests).sum()
    }

    /// Number of requests to hostile sites.
    pub fn hostile(&self) -> u64 {
        self.hazards.values().map(|cost| cost.requests).sum()
    }
}

impl Lab {
    /// Totals of the log so far, compared with the URLs that this crawler must find. `pause` is the crawler's courtesy
    /// pause.
    pub fn tally(&self, crawler: &Crawler, pause: Duration) -> CrawlTotals {
        self.tally_by(&self.truth(crawler), pause)
    }

    /// Like [`Lab::tally`], but does not compare the log with the expected URLs, which would take minutes for a million
    /// pages.
    pub fn courtesy(&self, pause: Duration) -> CrawlTotals {
        self.tally_by(&BTreeMap::new(), pause)
    }

    fn tally_by(&self, truth: &BTreeMap<String, Expected>, pause: Duration) -> CrawlTotals {
        let log = self.log();
        let start = log.iter().map(|request| request.started).min();
        let mut missing: BTreeSet<&String> = truth.keys().collect();
        let mut tally = CrawlTotals {
            requests: log.len() as u64,
            expected: truth.len(),
            questions: self.questions().len(),
            trespasses: self.trespasses().len(),
            violations: violations(&log, pause),
            ..CrawlTotals::default()
        };
        let since = |instant: Instant| start.map_or(Duration::ZERO, |start| instant - start);
        for request in &log {
            tally.time = tally.time.max(since(request.closed));
            if request.complete && request.path != "/robots.txt" {
                tally.count_second(since(request.ended));
            }
            match self.web().host(&request.host) {
                Some(Host::Hazard(site)) => tally.add_cost(site.hazard, request),
                Some(Host::Site(_) | Host::Twin(_)) => {
                    tally.honest += 1;
                    if truth.is_empty() {
                        continue;
                    }
                    let url = self.fold(&self.url(request));
                    let status = truth.get(&url).map(|expected| expected.status);
                    let as_expected = request.complete && status == Some(request.status);
                    if as_expected && missing.remove(&url) {
                        tally.honest_time = tally.honest_time.max(since(request.ended));
                    }
                }
                None => tally.unknown += 1,
            }
        }
        tally.arrived = tally.expected - missing.len();
        tally.missed = missing.into_iter().cloned().collect();
        tally
    }

    fn url(&self, request: &LoggedRequest) -> String {
        format!("http://{}:{}{}", request.host, self.port(), request.path)
    }
}

impl CrawlTotals {
    /// Counts a response in [`CrawlTotals::each_second`]. `at` is the time from the first request to the end of the
    /// response.
    fn count_second(&mut self, at: Duration) {
        let second = at.as_secs() as usize;
        if self.each_second.len() <= second {
            self.each_second.resize(second + 1, 0);
        }
        self.each_second[second] += 1;
    }

    fn add_cost(&mut self, hazard: Hazard, request: &LoggedRequest) {
        let cost = self.hazards.entry(hazard).or_default();
        cost.requests += 1;
        cost.bytes += request.bytes;
        cost.held += request.closed - request.started;
    }
}
