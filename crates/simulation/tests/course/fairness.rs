//! KLWF (F7): the longest wait first, and so no site starves.

use std::time::Duration;

use aranha_simulation::{Course, Plan, Waits};

use crate::{DAY, HOUR, MINUTE, life, run};

const SLOTS: usize = 6;

fn course(seed: u64, sites: u32, largest: u32) -> Course {
    let mut plan = Plan::new(seed, sites);
    plan.largest = largest;
    let mut course = Course::new(plan, MINUTE / 30, SLOTS, vec![life(30 * DAY)]);
    course.config.crawl.quantum = MINUTE;
    course
}

#[track_caller]
fn is_fair(waits: &Waits) {
    let found = (waits.passed_over, waits.left_out, waits.starved);
    assert_eq!(found, (0, 0, 0), "passed over, left out, starved");
}

#[test]
fn no_site_starves_and_none_is_passed_over() {
    let course = course(5, 120, 400);
    let (status, _) = run(&course);
    let waits = course.waited();
    is_fair(&waits);
    assert_eq!((status.sites.leased, status.pages.queued), (0, 0));
    assert!(waits.count > 200, "{}", waits.count);
    // Everybody else may come first, each for a quantum and the answers under way.
    let longest = status.sites.known as u32 / SLOTS as u32 * (2 * MINUTE);
    let waited = Duration::from_millis(waits.longest as u64);
    assert!(waited <= longest, "{waited:?} of {longest:?}");
    assert!(waited > MINUTE, "nobody had to wait: {waited:?}");
}

/// Far more large seeds than slots: who was found by a link has a turn while they last.
#[test]
fn seeds_do_not_keep_others_waiting() {
    let mut course = course(7, 600, 4000);
    course.seeds = 300;
    course.lives = vec![life(6 * HOUR)];
    run(&course);
    let waits = course.waited();
    is_fair(&waits);
    assert!(waits.count > 500, "{}", waits.count);
    assert!(waits.longest > 60_000, "{}", waits.longest);
    assert!(course.network.ledger().visited() > 100);
}

/// Failures are tried again and links come in long after the crawl itself, when pages answered once are due again beyond
/// the horizon: to have lain idle is not to have waited.
#[test]
fn an_idle_site_has_not_waited() {
    let mut course = course(7, 250, 3);
    course.config.crawl.sites = 24;
    let (_, samples) = run(&course);
    let waits = course.waited();
    is_fair(&waits);
    let ended = samples.last().map_or(Duration::ZERO, |last| last.time);
    assert!(ended > 2 * DAY, "{ended:?}");
    assert!(waits.longest < 3_600_000, "{}", waits.longest);
}
