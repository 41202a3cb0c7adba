//! Invariant 2 with restarts, as the servers saw it; and one course for one seed.

use std::time::Duration;

use aranha_simulation::{Course, End, Life, Plan};

use crate::{DAY, HOUR, MINUTE, life, run};

/// A web with more trouble than most.
fn plan(seed: u64, sites: u32) -> Plan {
    Plan {
        largest: 30,
        failing: 20,
        impatient: 20,
        delaying: 20,
        ..Plan::new(seed, sites)
    }
}

/// Lives of these lengths; two of three are killed.
fn lives(lengths: &[Duration]) -> Vec<Life> {
    let life = |(number, length): (usize, &Duration)| Life {
        length: *length,
        end: if number % 3 == 2 {
            End::Stopped
        } else {
            End::Killed
        },
        rest: MINUTE / 3 * (number % 2) as u32,
    };
    lengths.iter().enumerate().map(life).collect()
}

/// The crawl itself takes hours, with a restart every few minutes; then what was down or asked for patience.
fn dense(seed: u64) -> Course {
    let mut lengths: Vec<Duration> = (0..12)
        .map(|number| MINUTE * [7, 2, 25, 11][number % 4] + MINUTE / (1 + number as u32))
        .collect();
    lengths.extend([DAY, 3 * DAY, 12 * DAY]);
    Course::new(plan(seed, 250), MINUTE / 12, 24, lives(&lengths))
}

/// Nothing too early, and nothing left behind.
fn check(course: &Course, requests: u64) -> Duration {
    let (status, samples) = run(course);
    let ledger = course.network.ledger();
    assert_eq!(ledger.violations, []);
    assert!(ledger.requests > requests, "{}", ledger.requests);
    assert_eq!(status.sites.leased, 0);
    samples.last().map_or(Duration::ZERO, |last| last.time)
}

#[test]
fn no_server_is_asked_too_soon_with_a_restart_every_few_minutes() {
    let ended = check(&dense(1), 1000);
    assert!(ended > 2 * DAY, "{ended:?}");
}

#[test]
fn no_server_is_asked_too_soon_in_a_month() {
    let mut plan = plan(2, 100);
    plan.delay = 3600;
    let days = [1, 2, 1, 4, 3, 1, 5, 2, 6, 5].map(|days| days * DAY + 3 * HOUR);
    let mut course = Course::new(plan, 30 * MINUTE, 2, lives(&days));
    course.config.crawl.continuous = true;
    let ended = check(&course, 1200);
    assert!(ended > 25 * DAY, "{ended:?}");
}

#[test]
fn the_same_seed_is_the_same_course() {
    let course = |seed| {
        let mut course = dense(seed);
        course.lives.truncate(6);
        course.lives.push(life(HOUR));
        let (status, _) = run(&course);
        let ledger = course.network.ledger();
        (ledger.course, ledger.requests, status)
    };
    let (first, again, other) = (course(7), course(7), course(8));
    assert!(first.1 > 500, "{}", first.1);
    assert_eq!(first, again);
    assert_ne!(first.0, other.0);
}
