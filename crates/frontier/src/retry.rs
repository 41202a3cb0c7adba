//! When a page that got no lasting answer is asked again: one table, readable at a glance (F11; C 2.3, P A.1.1, A.2.2).
//!
//! A line of the table is a list of delays. The first failure waits for the first delay, the second for the second;
//! when the list is used up the page is done. An empty list means: never again. In `aranha.toml` this is `[retry]`:
//!
//! ```toml
//! [retry]
//! timeout = ["1m", "1h", "12h"]
//! dns_not_found = ["7d"]
//! ```
//!
//! The papers: a time-out returns to the queue with a penalty, a page that is gone is removed, a server that is down
//! is asked 12 hours later, a name that does not resolve a week later.

use std::time::Duration;

use aranha_units::duration;
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Delays by kind of failure; outcomes that no line names are lasting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// The answer, or the connection, was not there in time; or it came too slowly.
    #[serde(with = "duration::list")]
    pub timeout: Vec<Duration>,
    /// The server ended the connection in the middle, or spoke no HTTP.
    #[serde(with = "duration::list")]
    pub reset: Vec<Duration>,
    /// Nobody listens, or no way leads there.
    #[serde(with = "duration::list")]
    pub server_down: Vec<Duration>,
    /// No TLS session.
    #[serde(with = "duration::list")]
    pub tls: Vec<Duration>,
    /// No name server answered.
    #[serde(with = "duration::list")]
    pub dns_failed: Vec<Duration>,
    /// The name does not exist.
    #[serde(with = "duration::list")]
    pub dns_not_found: Vec<Duration>,
    /// 408, 425, 429: come back later.
    #[serde(with = "duration::list")]
    pub slow_down: Vec<Duration>,
    /// 500, 502, 503, 504 and the other 5xx, but for 501 and 505, which last.
    #[serde(with = "duration::list")]
    pub server_error: Vec<Duration>,
    /// robots.txt could not be read.
    #[serde(with = "duration::list")]
    pub robots_unreachable: Vec<Duration>,
    /// The address guard refused: a name may lead elsewhere tomorrow, and the user may allow it.
    #[serde(with = "duration::list")]
    pub address_refused: Vec<Duration>,
}

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            timeout: vec![MINUTE, HOUR, 12 * HOUR],
            reset: vec![MINUTE, 10 * MINUTE, 12 * HOUR],
            server_down: vec![10 * MINUTE, 12 * HOUR],
            tls: vec![12 * HOUR],
            dns_failed: vec![10 * MINUTE, 4 * HOUR, 7 * DAY],
            dns_not_found: vec![7 * DAY],
            slow_down: vec![MINUTE, 10 * MINUTE, HOUR, 12 * HOUR],
            server_error: vec![10 * MINUTE, HOUR, 12 * HOUR],
            robots_unreachable: vec![HOUR, 12 * HOUR, DAY],
            address_refused: vec![DAY, 7 * DAY],
        }
    }
}

impl Retry {
    /// When a page is asked again whose `tries`-th fetch in a row (1 for the first) ended like this at `now`; `None`:
    /// not again.
    pub fn next(&self, outcome: Outcome, tries: u8, now: i64) -> Option<i64> {
        let delay = self
            .delays(outcome)?
            .get(usize::from(tries.saturating_sub(1)))?;
        Some(now.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The line of the table for this outcome; `None` for a lasting one.
    pub fn delays(&self, outcome: Outcome) -> Option<&[Duration]> {
        Some(match outcome {
            Outcome::Timeout | Outcome::ConnectTimeout | Outcome::Stalled => &self.timeout,
            Outcome::Reset | Outcome::Protocol => &self.reset,
            Outcome::ConnectFailed => &self.server_down,
            Outcome::TlsFailed => &self.tls,
            Outcome::DnsFailed => &self.dns_failed,
            Outcome::DnsNotFound => &self.dns_not_found,
            Outcome::RobotsUnreachable => &self.robots_unreachable,
            Outcome::Answer(status) | Outcome::Unwanted(status) => match status {
                408 | 425 | 429 => &self.slow_down,
                501 | 505 => return None,
                500..=599 => &self.server_error,
                _ => return None,
            },
            Outcome::AddressRefused => &self.address_refused,
            Outcome::NoTarget | Outcome::RobotsRefused | Outcome::Blocked | Outcome::OutOfScope => {
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome, tries: u8, minutes: Option<i64>) {
        let next = Retry::default().next(outcome, tries, 1_000);
        assert_eq!(
            next,
            minutes.map(|m| 1_000 + m * 60_000),
            "{outcome}, try {tries}"
        );
    }

    #[test]
    fn the_list_is_walked_and_ends() {
        check(Outcome::Timeout, 1, Some(1));
        check(Outcome::Timeout, 2, Some(60));
        check(Outcome::Timeout, 3, Some(12 * 60));
        check(Outcome::Timeout, 4, None);
        check(Outcome::DnsNotFound, 1, Some(7 * 24 * 60));
        check(Outcome::DnsNotFound, 2, None);
        check(Outcome::ConnectFailed, 2, Some(12 * 60));
        check(Outcome::Answer(503), 1, Some(10));
        check(Outcome::Answer(429), 2, Some(10));
        check(Outcome::AddressRefused, 1, Some(24 * 60));
    }

    #[test]
    fn what_lasts_is_not_asked_again() {
        for outcome in [
            Outcome::Answer(200),
            Outcome::Answer(404),
            Outcome::Answer(410),
            Outcome::Answer(501),
            Outcome::RobotsRefused,
            Outcome::OutOfScope,
        ] {
            check(outcome, 1, None);
        }
    }

    #[test]
    fn configuration_is_written_in_words() {
        let retry: Retry = toml::from_str("timeout = [\"5m\"]\ntls = []").expect("reads");
        assert_eq!(retry.next(Outcome::Timeout, 1, 0), Some(300_000));
        assert_eq!(retry.next(Outcome::TlsFailed, 1, 0), None);
        assert!(toml::from_str::<Retry>("time_out = [\"5m\"]").is_err());
        let text = toml::to_string(&Retry::default()).expect("writes");
        assert!(
            text.contains("dns_not_found = [\"1w\"]") || text.contains("\"7d\""),
            "{text}"
        );
    }
}
