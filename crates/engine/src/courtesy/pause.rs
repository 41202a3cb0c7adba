//! The courtesy pause: how long a server is left alone after a response.

use std::time::Duration;

use crate::config::CrawlOptions;

/// The pause after an answer that took this long, at a site that asks for `delay`.
pub(crate) fn pause_after(crawl: &CrawlOptions, delay: Duration, took: Duration) -> Duration {
    if crawl.pause.is_zero() {
        return delay;
    }
    let slow = took
        .mul_f64(crawl.pause_factor.max(0.0))
        .min(crawl.max_pause);
    crawl.pause.max(delay).max(slow)
}
