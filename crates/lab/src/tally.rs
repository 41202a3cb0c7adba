//! What the servers saw of a crawl, added up: the verdict that `aranha lab` and `bench/zoo` print.
//!
//! Judged by the log and by the truth alone, never by what the crawler says of itself. Needs a plan that keeps its
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::hazard::{Group, Hazard};
use crate::log::{Request, Violation, violations};
use crate::web::Host;
use crate::{Crawler, Expected, Lab};

/// What one hostile kind of site cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests to all its sites.
    pub requests: u64,
    /// Bytes that it sent.
    pub bytes: u64,
    /// Time that its exchanges were open, added up.
    pub held: Duration,
}

/// A crawl as its servers saw it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests to anyone, robots.txt included.
    pub requests: u64,
    /// Requests to honest sites.
    pub honest: u64,
    /// Requests to names that are not of this lab, or to none.
    pub unknown: u64,
    /// What each hostile kind cost; those that nobody asked are left out.
    pub hazards: BTreeMap<Hazard, Cost>,
    /// URLs of honest sites that had to be asked for.
    pub expected: usize,
    /// How many of them were answered in full, with the status that was expected.
    pub arrived: usize,
    /// The others, in folded form ([`Lab::fold`]).
    pub missed: Vec<String>,
    /// Questions to the DNS server.
    pub questions: usize,
    /// Connections to refused addresses.
    pub trespasses: usize,
    /// Requests that came sooner than the pause after another to the same site or address.
    pub violations: Vec<Violation>,
    /// From the first request to the end of the last answer that made an expected URL arrive.
    pub honest_time: Duration,
    /// From the first request to the end of the last answer.
    pub time: Duration,
    /// Answers that ended in each second from the first request on; robots.txt is not among them.
    pub each_second: Vec<u32>,
}

impl Tally {
    /// Requests to hostile sites of a group.
    pub fn group(&self, group: Group) -> u64 {
        let costs = self.hazards.iter();
        let of_group = costs.filter(|(hazard, _)| hazard.group() == group);
        of_group.map(|(_, cost)| cost.requests).sum()
    }

    /// Requests to hostile sites.
    pub fn hostile(&self) -> u64 {
        self.hazards.values().map(|cost| cost.requests).sum()
    }
}

impl Lab {
    /// Adds up what was seen so far of this crawler. `pause` is the courtesy pause that it was told to keep.
    pub fn tally(&self, crawler: &Crawler, pause: Duration) -> Tally {
        self.tally_by(&self.truth(crawler), pause)
    }

    /// The same without the truth, which takes minutes to work out for a million pages: nothing is expected.
    pub fn courtesy(&self, pause: Duration) -> Tally {
        self.tally_by(&BTreeMap::new(), pause)
    }

    fn tally_by(&self, truth: &BTreeMap<String, Expected>, pause: Duration) -> Tally {
        let log = self.log();
        let start = log.iter().map(|request| request.started).min();
        let mut waiting: BTreeSet<&String> = truth.keys().collect();
        let mut tally = Tally {
            requests: log.len() as u64,
            expected: truth.len(),
            questions: self.questions().len(),
            trespasses: self.trespasses().len(),
            violations: violations(&log, pause),
            ..Tally::default()
        };
        let since = |instant: Instant| start.map_or(Duration::ZERO, |start| instant - start);
        for request in &log {
            tally.time = tally.time.max(since(request.closed));
            if request.complete && request.path != "/robots.txt" {
                tally.count_second(since(request.ended));
            }
            match self.web().host(&request.host) {
                Some(Host::Hazard(spot)) => tally.cost(spot.hazard, request),
                Some(Host::Site(_) | Host::Twin(_)) => {
                    tally.honest += 1;
                    if truth.is_empty() {
                        continue;
                    }
                    let url = self.fold(&self.url(request));
                    let due = truth.get(&url).map(|expected| expected.status);
                    let good = request.complete && due == Some(request.status);
                    if good && waiting.remove(&url) {
                        tally.honest_time = tally.honest_time.max(since(request.ended));
                    }
                }
                None => tally.unknown += 1,
            }
        }
        tally.arrived = tally.expected - waiting.len();
        tally.missed = waiting.into_iter().cloned().collect();
        tally
    }

    fn url(&self, request: &Request) -> String {
        format!("http://{}:{}{}", request.host, self.port(), request.path)
    }
}

impl Tally {
    fn count_second(&mut self, at: Duration) {
        let second = at.as_secs() as usize;
        if self.each_second.len() <= second {
            self.each_second.resize(second + 1, 0);
        }
        self.each_second[second] += 1;
    }

    fn cost(&mut self, hazard: Hazard, request: &Request) {
        let cost = self.hazards.entry(hazard).or_default();
        cost.requests += 1;
        cost.bytes += request.bytes;
        cost.held += request.closed - request.started;
    }
}
