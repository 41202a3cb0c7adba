//! Tests of many nodes: courtesy holds although nodes die and lose the database, no site starves, and the same seed gives the
//! same requests.

use std::time::Duration;

use aranha_simulation::{ClusterResult, ClusterScenario, WebPlan};

use crate::{HOUR, MINUTE, folder, paused_runtime};

/// Six nodes whose processes live for a few minutes, on a web where half of the sites share addresses.
fn scenario(seed: u64) -> ClusterScenario {
    let mut plan = WebPlan::new(seed, 600);
    plan.max_pages = 120;
    plan.shared_address_percent = 50;
    let mut scenario = ClusterScenario::new(plan, 6, 8, Duration::from_secs(2));
    scenario.mean_life = 6 * MINUTE;
    scenario.outages = vec![(12 * MINUTE, HOUR), (80 * MINUTE, 5 * MINUTE)];
    scenario.duration = 3 * HOUR;
    scenario.config.crawl.quantum = 2 * MINUTE;
    scenario.config.frontier.node_timeout = MINUTE / 3;
    scenario
}

fn run(scenario: &ClusterScenario) -> ClusterResult {
    let runtime = paused_runtime().expect("the runtime can be created");
    let result = scenario.run(folder().path(), &runtime);
    result.expect("the scenario ends without an error")
}

#[test]
fn nodes_that_die_and_outages_break_no_courtesy_and_starve_no_site() {
    let scenario = scenario(3);
    let result = run(&scenario);
    let audit = scenario.network.audit();
    assert_eq!(audit.violations, []);
    let events = result.events;
    assert!(
        events.kills > 20 && events.cuts > 5 && events.leaves > 5,
        "{events:?}"
    );
    assert_eq!(events.outages, 2);
    assert!(audit.changes_of_sender > 300, "{}", audit.changes_of_sender);
    assert!(audit.requests > 3000, "{}", audit.requests);
    assert_eq!(result.waits.starved, 0, "{}", result.waits.max_bound_ratio);
    assert_eq!(result.status.sites.leased, 0);
    // All sites that exist were visited, and none waits for long.
    assert!(audit.requested_sites() > 560, "{}", audit.requested_sites());
    assert!(
        result.longest_overdue < 5 * MINUTE,
        "{:?}",
        result.longest_overdue
    );
}

#[test]
fn the_same_seed_gives_the_same_requests_of_many_nodes() {
    let result = |seed| {
        let mut scenario = scenario(seed);
        scenario.outages = vec![(10 * MINUTE, 10 * MINUTE)];
        scenario.duration = 40 * MINUTE;
        let result = run(&scenario);
        let audit = scenario.network.audit();
        (
            audit.request_hash,
            audit.requests,
            result.events,
            result.status,
        )
    };
    let (first, again, other) = (result(7), result(7), result(8));
    assert!(first.1 > 1500, "{}", first.1);
    assert_eq!(first, again);
    assert_ne!(first.0, other.0);
}

/// The audit finds the requests that a node sends after others were given its sites.
#[test]
fn without_deadlines_the_audit_finds_violations() {
    let mut scenario = scenario(3);
    scenario.has_fence = false;
    scenario.config.crawl.quantum = HOUR;
    run(&scenario);
    let audit = scenario.network.audit();
    let found: u64 = ["site", "address", "parallel"]
        .iter()
        .filter_map(|rule| audit.violation_counts.get(rule))
        .sum();
    assert!(found > 0, "{:?}", audit.violation_counts);
}
