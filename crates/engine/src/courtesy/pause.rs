//! The courtesy pause after a response.

use std::time::Duration;

use crate::config::CrawlOptions;

/// The pause after a response from a site with this Crawl-delay. `took`: duration of the response. If `crawl.pause` is
/// 0, the pause is the Crawl-delay, and `took` is ignored.
pub(crate) fn pause_after(crawl: &CrawlOptions, crawl_delay: Duration, took: Duration) -> Duration {
    if crawl.pause.is_zero() {
        return crawl_delay;
    }
    let adaptive = took
        .mul_f64(crawl.pause_factor.max(0.0))
        .min(crawl.max_pause);
    crawl.pause.max(crawl_delay).max(adaptive)
}
