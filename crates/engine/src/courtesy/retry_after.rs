//! The `Retry-After` header (RFC 9110, 10.2.3).

use std::time::Duration;

use aranha_fetch::FetchResponse;

/// `Retry-After` in both of its forms, as the time from now.
pub(crate) fn retry_after(answer: &FetchResponse, now: i64) -> Option<Duration> {
    let value = answer.headers.text("retry-after")?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(date.saturating_sub(Duration::from_millis(now.max(0) as u64)))
}
