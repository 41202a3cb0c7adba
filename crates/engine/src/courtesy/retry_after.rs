//! Reads the header `Retry-After` (RFC 9110, 10.2.3), and defines how it is obeyed.
//!
//! The header applies to the whole site. A verdict with a [`BackOff`] ends the visit and releases the site until the
//! given time. `SiteFacts::retry_after` stores the time, so that no visit of the site begins earlier.

use std::time::Duration;

use aranha_fetch::FetchResponse;
use aranha_frontier::Outcome;

/// The longest `Retry-After` that is obeyed. A longer time is reduced to this.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(7 * 24);

/// A time before which no request is sent to a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackOff {
    /// Unix milliseconds.
    pub(crate) until: i64,
    /// Whether the server requested the back-off, by `Retry-After` or 429. Such a back-off is stored with the site.
    pub(crate) is_requested: bool,
    /// Whether this back-off also applies if the visit is already ending, so that it can prolong an earlier back-off.
    pub(crate) extends: bool,
}

impl BackOff {
    /// The back-off for a page that is retried at `due`. `None` unless the server sent `Retry-After` or 429.
    pub(crate) fn with_retry(
        cause: Outcome,
        retry_after: Option<Duration>,
        due: i64,
        now: i64,
    ) -> Option<Self> {
        let is_requested = retry_after.is_some() || cause.status() == Some(429);
        is_requested.then(|| Self {
            until: retry_after.map_or(due, |wait| due.max(until(wait, now))),
            is_requested,
            extends: false,
        })
    }

    /// The back-off after several failed fetches in a row.
    pub(crate) fn server_down(until: i64) -> Self {
        Self {
            until,
            is_requested: false,
            extends: false,
        }
    }

    /// The back-off after a request (for a page, robots.txt or a probe) that will not be retried. `None` unless the
    /// status is 4xx or 5xx and the server sent `Retry-After`.
    pub(crate) fn requested(
        outcome: Outcome,
        retry_after: Option<Duration>,
        now: i64,
    ) -> Option<Self> {
        let wait = retry_after.filter(|_| outcome.status() >= Some(400))?;
        Some(Self {
            until: until(wait, now),
            is_requested: true,
            extends: true,
        })
    }
}

fn until(retry_after: Duration, now: i64) -> i64 {
    now + retry_after.min(MAX_RETRY_AFTER).as_millis() as i64
}

/// Reads the header `Retry-After`, which contains seconds or a date. Returns the time from `now`.
pub(crate) fn retry_after(response: &FetchResponse, now: i64) -> Option<Duration> {
    parse(response.headers.text("retry-after")?, now)
}

fn parse(value: &str, now: i64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(date.saturating_sub(Duration::from_millis(now.max(0) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = 784_111_777_000; // Sun, 06 Nov 1994 08:49:37 GMT
        let check = |value, seconds: Option<u64>| {
            assert_eq!(
                parse(value, now),
                seconds.map(Duration::from_secs),
                "{value}"
            );
        };
        check("120", Some(120));
        check(" 0 ", Some(0));
        check("Sun, 06 Nov 1994 08:50:37 GMT", Some(60));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
        check("soon", None);
        check("-5", None);
        check("", None);
    }

    #[test]
    fn at_most_a_week_is_obeyed() {
        let (refused, wait) = (Outcome::Answer(503), Some(Duration::from_secs(u64::MAX)));
        let back_off = BackOff::requested(refused, wait, 1000).unwrap();
        assert_eq!(back_off.until, 1000 + 7 * 24 * 3_600_000);
    }

    #[test]
    fn retry_after_is_ignored_unless_the_status_is_4xx_or_5xx() {
        let wait = Some(Duration::from_mins(1));
        for outcome in [Outcome::Answer(200), Outcome::Answer(301), Outcome::Timeout] {
            assert_eq!(BackOff::requested(outcome, wait, 0), None, "{outcome}");
        }
    }
}
