//! How long a server is left alone after an answer: as long as the answer took, or as it asks for.

use std::time::Duration;

use aranha_fetch::Answer;

use crate::config::Crawl;

/// The pause after an answer that took this long, at a site that asks for `delay`.
pub(crate) fn pause_after(crawl: &Crawl, delay: Duration, took: Duration) -> Duration {
    if crawl.pause.is_zero() {
        return delay;
    }
    let slow = took
        .mul_f64(crawl.pause_factor.max(0.0))
        .min(crawl.max_pause);
    crawl.pause.max(delay).max(slow)
}

/// `Retry-After` in both of its forms, as the time from now.
pub(crate) fn retry_after(answer: &Answer, now: i64) -> Option<Duration> {
    let value = answer.headers.text("retry-after")?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(date.saturating_sub(Duration::from_millis(now.max(0) as u64)))
}
