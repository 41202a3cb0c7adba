//! The DNS circuit breaker (N4): stops look-ups while the name servers do not answer.
//!
//! Without the breaker, a crawl whose name servers are down would mark every site as unreachable within minutes
//! (Castillo A.2.1). The breaker considers the last [`WINDOW_QUERIES`] queries, but needs at least [`MIN_QUERIES`]
//! ([`MIN_QUERIES_BEHIND_PROXY`] if a proxy resolves the names of web servers). It opens when the share of unanswered
//! queries reaches the option `dns_breaker`; "no such name" counts as an answer. While the breaker is open (a DNS
//! *outage*), look-ups wait. From time to time one name is queried to find out whether the name servers answer again (a
//! *probe*). The pause before a probe grows from 1 to 30 seconds. The first answer closes the breaker, and all recorded
//! queries are deleted.
//!
//! A probe queries the waiting name whose domain had the fewest unanswered queries. So a domain whose own name servers
//! are dead does not delay the end of the outage, even if many of its names wait.
//!
//! The breaker starts neither tasks nor timers: `resolver.rs` sends the probes. A waiting look-up may be cancelled.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Mutex,
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use tracing::info;

use super::resolver::lock;

/// Number of recent queries that are considered.
const WINDOW_QUERIES: usize = 50;

/// Number of recorded queries that the breaker usually needs before it can open.
pub(crate) const MIN_QUERIES: usize = 20;

/// Replaces [`MIN_QUERIES`] if a proxy resolves the names of web servers. In a network without name servers, each query
/// delays a request by `dns_timeout` until the breaker opens. An open breaker delays no request, so it should open
/// soon.
pub(crate) const MIN_QUERIES_BEHIND_PROXY: usize = 3;

/// Pause before the first probe. It doubles after each probe.
pub(super) const FIRST_PROBE_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause between two probes.
pub(super) const MAX_PROBE_PAUSE: Duration = Duration::from_secs(30);

/// The number of an outage. A probe task ends if its number is not that of the current outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct OutageNumber(u64);

pub(super) struct CircuitBreaker {
    /// The share of unanswered queries at which the breaker opens; 0 = never.
    max_unanswered: f64,
    /// Number of recorded queries that the breaker needs before it can open.
    min_queries: usize,
    state: Mutex<BreakerState>,
    /// When the breaker opened; `None` while it is closed.
    open_since: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct BreakerState {
    recent: VecDeque<SentQuery>,
    unanswered: usize,
    outage: OutageNumber,
    /// The waiting look-ups by ticket. Tickets are numbered in the order of arrival.
    waiting: BTreeMap<u64, WaitingLookup>,
    next_ticket: u64,
    /// Unanswered queries of this outage by domain, including those that opened the breaker.
    failures: HashMap<Box<str>, u32>,
    /// Names whose queries were not answered. If no look-up waits, a probe queries one of these names.
    unanswered_names: VecDeque<Box<str>>,
}

struct SentQuery {
    name: Box<str>,
    answered: bool,
}

struct WaitingLookup {
    name: Box<str>,
    domain: Box<str>,
}

impl CircuitBreaker {
    pub(super) fn new(max_unanswered: f64, min_queries: usize) -> CircuitBreaker {
        CircuitBreaker {
            // This condition also replaces NaN by 0.
            max_unanswered: if max_unanswered > 0.0 {
                max_unanswered
            } else {
                0.0
            },
            min_queries,
            state: Mutex::default(),
            open_since: watch::Sender::new(None),
        }
    }

    pub(super) fn open_since(&self) -> Option<Instant> {
        *self.open_since.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<Instant>> {
        self.open_since.subscribe()
    }

    /// Records whether a query was answered. If this opens the breaker, returns the number of the new outage, and the
    /// caller must start the probes.
    pub(super) fn record(&self, name: &str, answered: bool) -> Option<OutageNumber> {
        if self.max_unanswered <= 0.0 {
            return None;
        }
        let mut state = lock(&self.state);
        match (self.open_since().is_some(), answered) {
            (true, true) => {
                state.end_outage();
                self.open_since.send_replace(None);
                info!(name, "DNS circuit breaker closed: a name server answered");
                None
            }
            (true, false) => {
                *state.failures.entry(domain(name).into()).or_default() += 1;
                None
            }
            (false, _) => {
                state.push(name, answered);
                let queries = state.recent.len();
                let threshold = self.max_unanswered * queries as f64;
                if queries < self.min_queries || (state.unanswered as f64) < threshold {
                    return None;
                }
                self.open_since.send_replace(Some(Instant::now()));
                // The level is not `warn`, because the engine also reports the outage to the user.
                info!(
                    unanswered = state.unanswered,
                    queries, "DNS circuit breaker open: look-ups wait until a name server answers"
                );
                Some(state.begin_outage())
            }
        }
    }

    /// Waits until the breaker is closed. Cancel-safe.
    pub(super) async fn wait(&self, name: &str) {
        let mut open_since = self.open_since.subscribe();
        if open_since.borrow().is_none() {
            return;
        }
        let _ticket = WaitTicket::new(self, name);
        open_since
            .wait_for(Option::is_none)
            .await
            .expect("the breaker owns the sender");
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    /// The name for the next probe; `None` if the outage is over.
    pub(super) fn probe_name(&self, outage: OutageNumber) -> Option<Box<str>> {
        let mut state = lock(&self.state);
        if self.open_since().is_none() || state.outage != outage {
            return None;
        }
        let failures = |waiting: &&WaitingLookup| {
            state
                .failures
                .get(&waiting.domain)
                .copied()
                .unwrap_or_default()
        };
        if let Some(waiting) = state.waiting.values().min_by_key(failures) {
            return Some(waiting.name.clone());
        }
        state.unanswered_names.rotate_left(1);
        state.unanswered_names.back().cloned()
    }
}

impl BreakerState {
    fn push(&mut self, name: &str, answered: bool) {
        if self.recent.len() == WINDOW_QUERIES
            && let Some(oldest) = self.recent.pop_front()
        {
            self.unanswered -= usize::from(!oldest.answered);
        }
        self.unanswered += usize::from(!answered);
        // The names of answered queries are not stored, because only unanswered names are probed.
        let name = if answered { "" } else { name }.into();
        self.recent.push_back(SentQuery { name, answered });
    }

    fn begin_outage(&mut self) -> OutageNumber {
        self.outage.0 += 1;
        self.unanswered = 0;
        for query in self.recent.drain(..).filter(|query| !query.answered) {
            *self.failures.entry(domain(&query.name).into()).or_default() += 1;
            self.unanswered_names.push_back(query.name);
        }
        self.outage
    }

    fn end_outage(&mut self) {
        self.failures.clear();
        self.unanswered_names.clear();
    }
}

/// The registrable domain of a name, according to the public suffix list.
fn domain(name: &str) -> &str {
    psl::domain_str(name).unwrap_or(name)
}

/// Registers a look-up as waiting. Dropping the ticket ends the registration.
struct WaitTicket<'a> {
    breaker: &'a CircuitBreaker,
    ticket: u64,
}

impl<'a> WaitTicket<'a> {
    fn new(breaker: &'a CircuitBreaker, name: &str) -> WaitTicket<'a> {
        let mut state = lock(&breaker.state);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let waiting = WaitingLookup {
            name: name.into(),
            domain: domain(name).into(),
        };
        state.waiting.insert(ticket, waiting);
        WaitTicket { breaker, ticket }
    }
}

impl Drop for WaitTicket<'_> {
    fn drop(&mut self) {
        lock(&self.breaker.state).waiting.remove(&self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the query that opens the breaker, counted from 1.
    fn opens_at(max_unanswered: f64, answers: impl IntoIterator<Item = bool>) -> Option<usize> {
        let breaker = CircuitBreaker::new(max_unanswered, MIN_QUERIES);
        answers
            .into_iter()
            .position(|answered| breaker.record("a.example", answered).is_some())
            .map(|index| index + 1)
    }

    #[test]
    fn the_breaker_opens_at_the_configured_share() {
        let (yes, no) = (true, false);
        assert_eq!(opens_at(0.9, [no; 19]), None, "too few queries");
        assert_eq!(opens_at(0.9, [no; 30]), Some(20));
        assert_eq!(opens_at(0.9, [[yes; 50], [no; 50]].concat()), Some(50 + 45));
        assert_eq!(
            opens_at(0.5, [[yes; 50], [no; 50]].concat()),
            Some(50 + 25),
            "a lower share opens it earlier"
        );
        let every = |nth: usize| (0..1000).map(move |n| n % nth == 0);
        assert_eq!(opens_at(0.9, every(8)), None, "88% fail");
        assert_eq!(opens_at(0.9, every(10)), Some(20), "90% fail");
        assert_eq!(opens_at(0.0, [no; 100]), None, "off");
        assert_eq!(opens_at(1.0, [no; 100]), Some(20));
        assert_eq!(opens_at(f64::NAN, [yes; 100]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_closes_the_breaker_and_empties_the_window() {
        let breaker = CircuitBreaker::new(0.9, MIN_QUERIES);
        let mut watch = breaker.watch();
        let fail = |times: usize| (0..times).find_map(|_| breaker.record("a.example", false));
        let outage = fail(20).expect("the breaker opens");
        assert_eq!(breaker.open_since(), Some(Instant::now()));
        assert!(watch.has_changed().expect("the breaker exists"));
        assert_eq!(fail(100), None, "already open");
        assert_eq!(breaker.probe_name(outage).as_deref(), Some("a.example"));
        assert_eq!(breaker.record("b.example", true), None);
        assert_eq!(breaker.open_since(), None);
        assert_eq!(*watch.borrow_and_update(), None);
        assert_eq!(breaker.probe_name(outage), None);
        assert_eq!(fail(19), None);
        let next = fail(1).expect("the breaker opens again");
        assert_ne!(next, outage);
        assert_eq!(breaker.probe_name(outage), None, "the old outage is over");
        assert!(breaker.probe_name(next).is_some());
    }

    #[tokio::test]
    async fn probes_choose_the_domain_that_failed_least() {
        let breaker = CircuitBreaker::new(0.9, MIN_QUERIES);
        let outage = (0..20).find_map(|n| breaker.record(&format!("{n}.dead.example"), false));
        let outage = outage.expect("the breaker opens");
        assert!(
            breaker
                .probe_name(outage)
                .is_some_and(|name| name.ends_with(".dead.example")),
            "no look-up waits, so an unanswered name is probed"
        );
        let tickets = ["x.dead.example", "one.example", "two.example"]
            .map(|name| WaitTicket::new(&breaker, name));
        for expected in ["one.example", "two.example", "one.example", "two.example"] {
            let name = breaker.probe_name(outage).expect("the breaker is open");
            assert_eq!(&*name, expected);
            breaker.record(&name, false);
        }
        drop(tickets);
        assert!(lock(&breaker.state).waiting.is_empty());
    }
}
