//! The courtesy pause after a response. Its settings and their defaults are in `config/crawl.rs`.

use std::time::Duration;

use crate::config::{CrawlOptions, UtcOffset};

/// The pause after a response from a site with this Crawl-delay. `took`: duration of the response. `now`: unix
/// milliseconds. If neither `crawl.pause` nor, in busy hours, `crawl.busy_pause` is set, the pause is the Crawl-delay,
/// and `took` is ignored.
pub(crate) fn pause_after(
    crawl: &CrawlOptions,
    host: &str,
    now: i64,
    crawl_delay: Duration,
    took: Duration,
) -> Duration {
    let pause = min_pause(crawl, host, now);
    if pause.is_zero() {
        return crawl_delay;
    }
    let adaptive = took
        .mul_f64(crawl.pause_factor.max(0.0))
        .min(crawl.max_pause);
    pause.max(crawl_delay).max(adaptive)
}

/// `crawl.pause`. In the busy hours of the host, `crawl.busy_pause` if that is longer.
fn min_pause(crawl: &CrawlOptions, host: &str, now: i64) -> Duration {
    match crawl.busy_hours {
        Some(hours) if hours.include(now, offset_of(crawl, host)) => {
            crawl.pause.max(crawl.busy_pause)
        }
        _ => crawl.pause,
    }
}

/// The time zone of a host. The entry for the host itself is used, otherwise the entry for the longest domain above it.
fn offset_of(crawl: &CrawlOptions, host: &str) -> UtcOffset {
    let mut domain = host;
    loop {
        if let Some(offset) = crawl.time_zones.get(domain) {
            return *offset;
        }
        match domain.split_once('.') {
            Some((_, rest)) => domain = rest,
            None => return UtcOffset::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[track_caller]
    fn check(crawl: &CrawlOptions, host: &str, utc_hour: i64, took: u64, expected: u64) {
        let seconds = Duration::from_secs;
        let delay = Duration::ZERO;
        let pause = pause_after(crawl, host, utc_hour * HOUR_MS, delay, seconds(took));
        assert_eq!(
            pause,
            seconds(expected),
            "{host} at {utc_hour}:00 UTC after {took} s"
        );
    }

    #[test]
    fn a_slow_response_makes_the_pause_longer() {
        let crawl = CrawlOptions::default();
        check(&crawl, "example.org", 0, 0, 2);
        check(&crawl, "example.org", 0, 7, 7);
        check(&crawl, "example.org", 0, 100, 60);
    }

    #[test]
    fn the_pause_is_longer_in_the_busy_hours_of_the_site() {
        let crawl = CrawlOptions {
            busy_hours: Some("08:00-20:00".parse().expect("hours")),
            time_zones: [("br", "-03:00"), ("am.br", "-04:00")]
                .map(|(domain, offset)| (domain.to_owned(), offset.parse().expect("an offset")))
                .into(),
            ..CrawlOptions::default()
        };
        check(&crawl, "example.org", 8, 0, 10);
        check(&crawl, "example.org", 7, 0, 2);
        check(&crawl, "example.br", 8, 0, 2);
        check(&crawl, "www.example.br", 22, 0, 10);
        check(&crawl, "www.am.br", 11, 0, 2);
        check(&crawl, "example.org", 12, 30, 30);
        let slow = CrawlOptions {
            pause: Duration::from_secs(15),
            ..crawl
        };
        check(&slow, "example.org", 8, 0, 15);
    }
}
