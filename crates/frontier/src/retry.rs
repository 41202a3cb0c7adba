//! The times at which a failed fetch is retried: one table of delays by kind of failure (F11; `CoBWeb` 2.3, Castillo
//! A.1.1, A.2.2).
//!
//! Each kind of failure has a list of delays. After the n-th failure in a row, the page is retried after the n-th delay
//! of the list. If the list has no n-th delay, the page is not retried. The section `[retry]` of `aranha.toml`:
//!
//! ```toml
//! [retry]
//! timeout = ["1m", "1h", "12h"]
//! dns_not_found = ["7d"]
//! ```
//!
//! The defaults follow the papers: a time-out is retried after increasing delays, a page that is gone is not retried, a
//! server that is down is retried after 12 hours, and a name that does not exist is retried after a week.

use std::time::Duration;

use aranha_units::duration;
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Delays by kind of failure. Outcomes without a list are final.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// The connection was not established in time, the response did not begin or was not complete in time, or the
    /// response was below the minimum speed.
    #[serde(with = "duration::list")]
    pub timeout: Vec<Duration>,
    /// The connection was closed before the response was complete, the response is not HTTP, or the crawler could not
    /// read it.
    #[serde(with = "duration::list")]
    pub reset: Vec<Duration>,
    /// The connection was refused, or the network is unreachable.
    #[serde(with = "duration::list")]
    pub server_down: Vec<Duration>,
    /// The TLS handshake failed.
    #[serde(with = "duration::list")]
    pub tls: Vec<Duration>,
    /// No name server returned a usable answer.
    #[serde(with = "duration::list")]
    pub dns_failed: Vec<Duration>,
    /// The name does not exist.
    #[serde(with = "duration::list")]
    pub dns_not_found: Vec<Duration>,
    /// Status 408, 425 or 429.
    #[serde(with = "duration::list")]
    pub slow_down: Vec<Duration>,
    /// Status 5xx, except 501 and 505, which are final.
    #[serde(with = "duration::list")]
    pub server_error: Vec<Duration>,
    /// robots.txt could not be fetched.
    #[serde(with = "duration::list")]
    pub robots_unreachable: Vec<Duration>,
    /// The address guard refused the address. The page is retried, because the name may get another address, or the
    /// user may allow this one.
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
    /// The time of the next try after the `tries`-th failure in a row (1 for the first), which ended at `now`. `None`
    /// if the page is not retried.
    pub fn next(&self, outcome: Outcome, tries: u8, now: i64) -> Option<i64> {
        let delay = self
            .delays(outcome)?
            .get(usize::from(tries.saturating_sub(1)))?;
        Some(now.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The delays for this outcome; `None` if it is final.
    pub fn delays(&self, outcome: Outcome) -> Option<&[Duration]> {
        Some(match outcome {
            Outcome::Timeout | Outcome::ConnectTimeout | Outcome::Stalled => &self.timeout,
            Outcome::Reset | Outcome::Protocol | Outcome::InternalError => &self.reset,
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
    fn each_failure_takes_the_next_delay_until_the_list_ends() {
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
    fn final_outcomes_are_not_retried() {
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
    fn delays_are_read_and_written_with_units() {
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
