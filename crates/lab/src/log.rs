//! The log of the lab's servers: every request and every DNS question, with times.
//!
//! Tests judge a crawl by this log, not by the crawler's own statistics. If a time is inaccurate, this favours the
//! crawler: the start of a request is recorded after its first byte was read, and the end of a response before the
//! system call that sends its last byte. So every reported violation is real, even if the scheduler delays the server.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::trespass::Trespass;

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// `Host` header, lower case, without the port.
    pub host: String,
    /// The address to which the crawler connected.
    pub address: IpAddr,
    /// Request method. Empty when TLS failed before the request.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// When the first byte of the request was read.
    pub started: Instant,
    /// When the last byte of the response was passed to the socket. Equal to `started` if no byte was sent.
    pub ended: Instant,
    /// When the exchange was over. If the response is complete, this equals `ended`. Otherwise it is the time at which
    /// the server noticed that the connection had ended.
    pub closed: Instant,
    /// HTTP status; 0 if no status line was sent.
    pub status: u16,
    /// Number of bytes that were sent, including the head.
    pub bytes: u64,
    /// Whether the whole response was sent.
    pub complete: bool,
    /// `User-Agent` header; empty when absent.
    pub agent: String,
    /// `Cookie` header; empty when absent.
    pub cookie: String,
    /// `Authorization` header; empty when absent.
    pub authorization: String,
    /// Number of the connection, counted from 0. All requests on one connection (keep-alive) have its number.
    pub connection: u64,
}

impl LoggedRequest {
    /// The site: the host without `www.`.
    pub fn site(&self) -> &str {
        self.host.strip_prefix("www.").unwrap_or(&self.host)
    }
}

/// One question to the DNS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name, in lower case and without the final dot.
    pub name: String,
    /// Record type: 1 is A, 28 is AAAA.
    pub kind: u16,
    /// Whether the question came over TCP.
    pub tcp: bool,
    /// When the question arrived.
    pub at: Instant,
    /// Response code: 0 means no error, 3 means no such name. [`Question::UNANSWERED`] if the server sent no response.
    pub code: u16,
}

impl Question {
    /// Value of `code` for a question to which the server sent no response.
    pub const UNANSWERED: u16 = u16::MAX;
}

/// The site or the address that the two requests of a [`Violation`] share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CourtesyScope {
    /// The site: the host name without `www.`.
    Site(String),
    /// The IP address.
    Address(IpAddr),
}

/// Two requests with less than the courtesy pause between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The site or address of both requests.
    pub scope: CourtesyScope,
    /// The earlier request. If there were several earlier requests to this site or address, it is the request whose
    /// exchange ended last.
    pub first: LoggedRequest,
    /// The request that came too early.
    pub second: LoggedRequest,
    /// Time from the end of the first response to the first byte of the second request. Zero when the two
    /// exchanges overlap.
    pub gap: Duration,
}

/// The log, shared by all servers of a lab. It uses the mutex of `std`, because the lock is never held across an await.
#[derive(Debug)]
pub(crate) struct Log {
    /// Whether requests and questions are stored. If false, requests are only counted.
    keep: bool,
    entries: Mutex<LogEntries>,
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct LogEntries {
    requests: Vec<LoggedRequest>,
    questions: Vec<Question>,
    /// Trespasses are stored even if `keep` is false.
    trespasses: Vec<Trespass>,
}

impl Log {
    pub(crate) fn new(keep: bool) -> Log {
        Log {
            keep,
            entries: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    pub(crate) fn request(&self, request: LoggedRequest) {
        if self.keep {
            self.entries().requests.push(request);
        }
        self.count.send_modify(|count| *count += 1);
    }

    pub(crate) fn question(&self, question: Question) {
        if self.keep {
            self.entries().questions.push(question);
        }
    }

    pub(crate) fn trespass(&self, trespass: Trespass) {
        self.entries().trespasses.push(trespass);
    }

    pub(crate) fn trespasses(&self) -> Vec<Trespass> {
        self.entries().trespasses.clone()
    }

    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    pub(crate) fn requests(&self) -> Vec<LoggedRequest> {
        self.entries().requests.clone()
    }

    pub(crate) fn requests_since(&self, instant: Instant) -> Vec<LoggedRequest> {
        let entries = self.entries();
        let later = entries.requests.iter().filter(|r| r.started >= instant);
        later.cloned().collect()
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        self.entries().questions.clone()
    }

    pub(crate) fn clear(&self) {
        *self.entries() = LogEntries::default();
        self.count.send_replace(0);
    }

    pub(crate) async fn wait_for(&self, requests: u64) {
        let mut count = self.count.subscribe();
        count
            .wait_for(|count| *count >= requests)
            .await
            .expect("the sender is a field of self");
    }

    fn entries(&self) -> MutexGuard<'_, LogEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pairs of requests to the same site or address that violate the courtesy pause. There are two cases. The second
/// request started less than `pause` after the last byte of the first response. Or the first response was not complete,
/// and its exchange stayed open for more than `pause` after the second request had started.
pub fn violations(requests: &[LoggedRequest], pause: Duration) -> Vec<Violation> {
    let mut order: Vec<&LoggedRequest> = requests.iter().collect();
    order.sort_by_key(|request| request.started);
    let mut last: HashMap<CourtesyScope, &LoggedRequest> = HashMap::new();
    let mut found = Vec::new();
    for second in order {
        let scopes = [
            CourtesyScope::Site(second.site().to_owned()),
            CourtesyScope::Address(second.address),
        ];
        for scope in scopes {
            let Some(first) = last.get_mut(&scope) else {
                last.insert(scope, second);
                continue;
            };
            let gap = second.started.saturating_duration_since(first.ended);
            let overlap = first.closed.saturating_duration_since(second.started) > pause;
            if gap < pause || overlap {
                found.push(Violation {
                    scope,
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

    /// Each request of `script` is (host, last octet of the address, started, ended, closed), with times in
    /// milliseconds. `expected`: the violations of a pause of 100 ms, as pairs of indexes into `script`.
    fn check(script: &[(&str, u8, u64, u64, u64)], expected: &[(usize, usize)]) {
        let zero = Instant::now();
        let at = |milliseconds| zero + Duration::from_millis(milliseconds);
        let request = |(index, line): (usize, &(&str, u8, u64, u64, u64))| LoggedRequest {
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
            connection: index as u64,
        };
        let requests: Vec<LoggedRequest> = script.iter().enumerate().map(request).collect();
        let mut found: Vec<_> = violations(&requests, Duration::from_millis(100))
            .iter()
            .map(|v| (v.first.connection as usize, v.second.connection as usize))
            .collect();
        found.dedup(); // a pair is found twice: by its site and by its address
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn the_pause_starts_at_the_end_of_the_response() {
        check(&[("a", 2, 0, 10, 10), ("a", 2, 110, 120, 120)], &[]);
        check(&[("a", 2, 0, 50, 50), ("a", 2, 110, 120, 120)], &[(0, 1)]);
        check(&[("a", 2, 0, 10, 10), ("b", 3, 11, 20, 20)], &[]);
        check(&[("a", 2, 0, 10, 10), ("www.a", 3, 11, 20, 20)], &[(0, 1)]);
        check(&[("a", 2, 0, 10, 10), ("b", 2, 11, 20, 20)], &[(0, 1)]);
    }

    #[test]
    fn a_long_response_counts_after_a_later_short_one() {
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
    fn the_log_need_not_be_sorted() {
        check(&[("a", 2, 110, 120, 120), ("a", 2, 0, 50, 50)], &[(1, 0)]);
    }

    #[test]
    fn an_aborted_exchange_counts_until_it_is_closed() {
        check(&[("a", 2, 0, 0, 1000), ("a", 2, 1100, 1110, 1110)], &[]);
        check(&[("a", 2, 0, 0, 1000), ("a", 2, 500, 510, 510)], &[(0, 1)]);
    }
}
