//! Tests KLWF (F7): the site that has waited longest is visited first, so no site starves.

use std::time::Duration;

use aranha_simulation::{Scenario, WaitAudit, WebPlan};

use crate::{DAY, HOUR, MINUTE, run, stopped_crawl};

const SLOTS: usize = 6;

fn scenario(seed: u64, sites: u32, max_pages: u32) -> Scenario {
    let mut plan = WebPlan::new(seed, sites);
    plan.max_pages = max_pages;
    let crawls = vec![stopped_crawl(30 * DAY)];
    let mut scenario = Scenario::new(plan, MINUTE / 30, SLOTS, crawls);
    scenario.config.crawl.quantum = MINUTE;
    scenario
}

#[track_caller]
fn assert_fair(waits: &WaitAudit) {
    let found = (waits.overtaken, waits.left_out, waits.starved);
    assert_eq!(found, (0, 0, 0), "overtaken, left out, starved");
}

#[test]
fn no_site_starves_or_is_overtaken() {
    let scenario = scenario(5, 120, 400);
    let (status, _) = run(&scenario);
    let waits = scenario.waits();
    assert_fair(&waits);
    assert_eq!((status.sites.leased, status.pages.queued), (0, 0));
    assert!(waits.count > 200, "{}", waits.count);
    // In the worst case all other sites are visited first, each for a quantum (one minute) and the response in
    // progress.
    let bound = status.sites.known as u32 / SLOTS as u32 * (2 * MINUTE);
    let waited = Duration::from_millis(waits.longest_ms as u64);
    assert!(waited <= bound, "{waited:?} of {bound:?}");
    assert!(waited > MINUTE, "no site had to wait: {waited:?}");
}

/// Even if there are many more large seed sites than slots, sites found by links are visited before the seed sites are
/// finished.
#[test]
fn seeds_do_not_starve_other_sites() {
    let mut scenario = scenario(7, 600, 4000);
    scenario.seeds = 300;
    scenario.crawls = vec![stopped_crawl(6 * HOUR)];
    run(&scenario);
    let waits = scenario.waits();
    assert_fair(&waits);
    assert!(waits.count > 500, "{}", waits.count);
    assert!(waits.longest_ms > 60_000, "{}", waits.longest_ms);
    assert!(scenario.network.audit().requested_sites() > 100);
}

/// Retries and new links can make a site due again days after its pages were fetched. Its wait starts when it becomes
/// due, not when its last visit ended.
#[test]
fn idle_time_does_not_count_as_waiting() {
    let mut scenario = scenario(7, 250, 3);
    scenario.config.crawl.sites = 24;
    let (_, samples) = run(&scenario);
    let waits = scenario.waits();
    assert_fair(&waits);
    let ended = samples.last().map_or(Duration::ZERO, |last| last.time);
    assert!(ended > 2 * DAY, "{ended:?}");
    assert!(waits.longest_ms < 3_600_000, "{}", waits.longest_ms);
}
