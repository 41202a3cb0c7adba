//! What the lab's servers saw: every request and every DNS question with its times.
//!
//! Tests judge a crawl by this log and not by what the crawler says of itself. Times are stamped in the
//! crawler's favour: a request starts when its first byte has been read, which is after it arrived; an answer
//! ends just before the system call that hands over its last byte. A violation reported here is therefore a
//! real one, however late the scheduler woke us.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::trespass::Trespass;

/// One request and how it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `Host` header, lower case, without the port.
    pub host: String,
    /// The address that was connected to.
    pub address: IpAddr,
    /// Request method; empty when TLS failed before there was a request.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// The request's first byte was read.
    pub started: Instant,
    /// The last byte that was sent was handed to the socket; `started` when none was.
    pub ended: Instant,
    /// The exchange was over: `ended` when it is complete, else when the server noticed.
    pub closed: Instant,
    /// Status sent; 0 when none was.
    pub status: u16,
    /// Bytes of the answer on the wire, head included.
    pub bytes: u64,
    /// The whole answer was sent.
    pub complete: bool,
    /// `User-Agent` header, empty when absent.
    pub agent: String,
    /// `Cookie` header, empty when absent.
    pub cookie: String,
    /// `Authorization` header, empty when absent.
    pub authorization: String,
    /// Connections count from 0 over the life of the lab: the same number means keep-alive.
    pub connection: u64,
}

impl Request {
    /// The site asked: the host with `www.` folded.
    pub fn site(&self) -> &str {
        self.host.strip_prefix("www.").unwrap_or(&self.host)
    }
}

/// One question that the DNS server was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Name asked, lower case, without the final dot.
    pub name: String,
    /// Record type: 1 is A, 28 is AAAA.
    pub kind: u16,
    /// Asked over TCP.
    pub tcp: bool,
    /// When it arrived.
    pub at: Instant,
    /// Answer code: 0 answered, 3 no such name; [`Question::UNANSWERED`] when nothing was said.
    pub code: u16,
}

impl Question {
    /// In place of a code: the server kept silent.
    pub const UNANSWERED: u16 = u16::MAX;
}

/// What two requests that came too close had in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shared {
    /// One site, twins folded.
    Site(String),
    /// One address.
    Address(IpAddr),
}

/// Two requests closer than the courtesy pause (invariant 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What they shared.
    pub shared: Shared,
    /// The request whose answer ended last before the second began.
    pub first: Request,
    /// The one that came too early.
    pub second: Request,
    /// From the end of the first answer to the second's first byte; zero when they overlap.
    pub gap: Duration,
}

/// Everything seen so far. Shared by all servers of a lab.
///
/// A plain mutex: it is held for a push, never across an await.
#[derive(Debug)]
pub(crate) struct Log {
    keep: bool,
    seen: Mutex<Seen>,
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<Request>,
    questions: Vec<Question>,
    /// Kept whatever the plan says: there should be none.
    trespasses: Vec<Trespass>,
}

impl Log {
    pub(crate) fn new(keep: bool) -> Log {
        Log {
            keep,
            seen: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    pub(crate) fn request(&self, request: Request) {
        if self.keep {
            self.seen().requests.push(request);
        }
        self.count.send_modify(|count| *count += 1);
    }

    pub(crate) fn question(&self, question: Question) {
        if self.keep {
            self.seen().questions.push(question);
        }
    }

    pub(crate) fn trespass(&self, trespass: Trespass) {
        self.seen().trespasses.push(trespass);
    }

    pub(crate) fn trespasses(&self) -> Vec<Trespass> {
        self.seen().trespasses.clone()
    }

    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen().requests.clone()
    }

    pub(crate) fn requests_since(&self, instant: Instant) -> Vec<Request> {
        let seen = self.seen();
        let late = seen.requests.iter().filter(|r| r.started >= instant);
        late.cloned().collect()
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        self.seen().questions.clone()
    }

    pub(crate) fn clear(&self) {
        *self.seen() = Seen::default();
        self.count.send_replace(0);
    }

    pub(crate) async fn wait_for(&self, requests: u64) {
        let mut count = self.count.subscribe();
        count
            .wait_for(|count| *count >= requests)
            .await
            .expect("the sender is a field of self");
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pairs of requests to one site or one address of which the second came less than `pause` after the end of
/// the first, or while the first was still held open and stayed so for longer than another pause.
pub fn violations(requests: &[Request], pause: Duration) -> Vec<Violation> {
    let mut order: Vec<&Request> = requests.iter().collect();
    order.sort_by_key(|request| request.started);
    let mut last: HashMap<Shared, &Request> = HashMap::new();
    let mut found = Vec::new();
    for second in order {
        let keys = [
            Shared::Site(second.site().to_owned()),
            Shared::Address(second.address),
        ];
        for shared in keys {
            let Some(first) = last.get_mut(&shared) else {
                last.insert(shared, second);
                continue;
            };
            let gap = second.started.saturating_duration_since(first.ended);
            let overlap = first.closed.saturating_duration_since(second.started) > pause;
            if gap < pause || overlap {
                found.push(Violation {
                    shared,
                    first: (*first).clone(),
                    second: second.clone(),
                    gap: if overlap { Duration::ZERO } else { gap },
                });
            }
            if second.closed > first.closed {
                *first = second;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Requests as (host, last octet of the address, started, ended, closed), times in milliseconds; then the
    /// pairs that are too close for a pause of 100, as (first, second) by their place.
    fn check(script: &[(&str, u8, u64, u64, u64)], expected: &[(usize, usize)]) {
        let zero = Instant::now();
        let at = |milliseconds| zero + Duration::from_millis(milliseconds);
        let request = |(place, line): (usize, &(&str, u8, u64, u64, u64))| Request {
            host: line.0.to_owned(),
            address: Ipv4Addr::new(127, 0, 0, line.1).into(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            started: at(line.2),
            ended: at(line.3),
            closed: at(line.4),
            status: 200,
            bytes: 1,
            complete: line.3 == line.4,
            agent: String::new(),
            cookie: String::new(),
            authorization: String::new(),
            connection: place as u64,
        };
        let requests: Vec<Request> = script.iter().enumerate().map(request).collect();
        let mut found: Vec<_> = violations(&requests, Duration::from_millis(100))
            .iter()
            .map(|v| (v.first.connection as usize, v.second.connection as usize))
            .collect();
        found.dedup(); // by site and by address
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn the_pause_counts_from_the_end() {
        check(&[("a", 2, 0, 10, 10), ("a", 2, 110, 120, 120)], &[]);
        check(&[("a", 2, 0, 50, 50), ("a", 2, 110, 120, 120)], &[(0, 1)]);
        check(&[("a", 2, 0, 10, 10), ("b", 3, 11, 20, 20)], &[]);
        check(&[("a", 2, 0, 10, 10), ("www.a", 3, 11, 20, 20)], &[(0, 1)]);
        check(&[("a", 2, 0, 10, 10), ("b", 2, 11, 20, 20)], &[(0, 1)]);
    }

    #[test]
    fn a_long_answer_is_not_forgotten_behind_a_short_one() {
        let script = [
            ("a", 2, 0, 500, 500),
            ("b", 3, 100, 110, 110),
            ("a", 4, 550, 560, 560),
        ];
        check(&script, &[(0, 2)]);
        let script = [
            ("a", 2, 0, 500, 500),
            ("a", 3, 100, 110, 110),
            ("a", 4, 550, 560, 560),
        ];
        check(&script, &[(0, 1), (0, 2)]);
    }

    #[test]
    fn the_log_may_be_out_of_order() {
        check(&[("a", 2, 110, 120, 120), ("a", 2, 0, 50, 50)], &[(1, 0)]);
    }

    #[test]
    fn a_client_that_gave_up_may_go_on_but_not_while_it_waits() {
        check(&[("a", 2, 0, 0, 1000), ("a", 2, 1100, 1110, 1110)], &[]);
        check(&[("a", 2, 0, 0, 1000), ("a", 2, 500, 510, 510)], &[(0, 1)]);
    }
}
