//! Tests that the courtesy rules hold across restarts (invariant 2), and that the same seed gives the same requests.

use std::time::Duration;

use aranha_simulation::{CrawlEnd, Scenario, SimulatedCrawl, WebPlan};

use crate::{DAY, HOUR, MINUTE, run, stopped_crawl};

/// A web with more faults than the default plan.
fn faulty_web(seed: u64, sites: u32) -> WebPlan {
    WebPlan {
        max_pages: 30,
        outage_percent: 20,
        retry_after_percent: 20,
        crawl_delay_percent: 20,
        ..WebPlan::new(seed, sites)
    }
}

/// Crawls of these durations. Two of three are killed.
fn crawls(durations: &[Duration]) -> Vec<SimulatedCrawl> {
    let crawl = |(number, duration): (usize, &Duration)| SimulatedCrawl {
        duration: *duration,
        end: if number % 3 == 2 {
            CrawlEnd::Stopped
        } else {
            CrawlEnd::Killed
        },
        downtime: MINUTE / 3 * (number % 2) as u32,
    };
    durations.iter().enumerate().map(crawl).collect()
}

/// A scenario with a restart every few minutes, during which most pages are fetched. Longer crawls follow for the sites
/// with an outage or Retry-After.
fn frequent_restarts(seed: u64) -> Scenario {
    let mut durations: Vec<Duration> = (0..12)
        .map(|number| MINUTE * [7, 2, 25, 11][number % 4] + MINUTE / (1 + number as u32))
        .collect();
    durations.extend([DAY, 3 * DAY, 12 * DAY]);
    Scenario::new(faulty_web(seed, 250), MINUTE / 12, 24, crawls(&durations))
}

/// Runs a scenario. Checks that no request came too early and that no site is leased at the end. Returns the simulated
/// time.
fn check(scenario: &Scenario, min_requests: u64) -> Duration {
    let (status, samples) = run(scenario);
    let audit = scenario.network.audit();
    assert_eq!(audit.violations, []);
    assert!(audit.requests > min_requests, "{}", audit.requests);
    assert_eq!(status.sites.leased, 0);
    samples.last().map_or(Duration::ZERO, |last| last.time)
}

#[test]
fn no_request_is_too_early_with_a_restart_every_few_minutes() {
    let ended = check(&frequent_restarts(1), 1000);
    assert!(ended > 2 * DAY, "{ended:?}");
}

#[test]
fn no_request_is_too_early_in_a_month() {
    let mut plan = faulty_web(2, 100);
    plan.max_crawl_delay_secs = 3600;
    let days = [1, 2, 1, 4, 3, 1, 5, 2, 6, 5].map(|days| days * DAY + 3 * HOUR);
    let mut scenario = Scenario::new(plan, 30 * MINUTE, 2, crawls(&days));
    scenario.config.crawl.continuous = true;
    let ended = check(&scenario, 1200);
    assert!(ended > 25 * DAY, "{ended:?}");
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    let result = |seed| {
        let mut scenario = frequent_restarts(seed);
        scenario.crawls.truncate(6);
        scenario.crawls.push(stopped_crawl(HOUR));
        let (status, _) = run(&scenario);
        let audit = scenario.network.audit();
        (audit.request_hash, audit.requests, status)
    };
    let (first, again, other) = (result(7), result(7), result(8));
    assert!(first.1 > 500, "{}", first.1);
    assert_eq!(first, again);
    assert_ne!(first.0, other.0);
}
