//! A crawl by many nodes that join, leave, die and lose the database.

use std::error::Error;
use std::time::{Duration, Instant};

use aranha_simulation::{ClusterScenario, WebPlan, cpu_time, resident_bytes};

use crate::{Arguments, check_waits, days, paused_runtime};

const HOUR: Duration = Duration::from_hours(1);
/// A site may be due for this long at the end, when the nodes are asked to stop.
const MAX_OVERDUE: Duration = HOUR;

/// Runs the crawl. Fails if the courtesy rules were violated or a site starved.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut plan = WebPlan::new(arguments.seed, arguments.sites);
    plan.max_pages = arguments.max_pages;
    let visits = arguments.visits / arguments.nodes as usize;
    let pause = Duration::from_secs(arguments.pause);
    let mut scenario = ClusterScenario::new(plan, arguments.nodes, visits, pause);
    scenario.sync = Duration::from_millis(arguments.sync);
    scenario.duration = days(arguments.days);
    scenario.outages = vec![(HOUR / 2, HOUR), (2 * HOUR, HOUR / 12)];
    let folder = tempfile::tempdir_in(&arguments.folder)?;
    let (start, used) = (Instant::now(), cpu_time());
    let result = scenario.run(folder.path(), &paused_runtime()?)?;
    let (took, used) = (start.elapsed(), cpu_time().saturating_sub(used));
    let audit = scenario.network.audit();
    println!(
        "sites {} of {} visited, {} visits by another node than before",
        audit.requested_sites(),
        arguments.sites,
        audit.changes_of_sender
    );
    println!("{:?}", result.events);
    println!(
        "pages known {}, done {}, queued {}; sites waiting {}, longest overdue at the end {:.0?}",
        result.status.pages.known,
        result.status.pages.done,
        result.status.pages.queued,
        result.status.sites.waiting,
        result.longest_overdue
    );
    println!(
        "requests {}, connections {}, DNS questions {}, request hash {:016x}",
        audit.requests, audit.connections, audit.look_ups, audit.request_hash
    );
    println!(
        "simulated {:.1} hours in {:.1} s, {:.1} s of processor, {:.1} us per request, {} MB at the end",
        result.took.as_secs_f64() / 3600.0,
        took.as_secs_f64(),
        used.as_secs_f64(),
        used.as_secs_f64() * 1e6 / audit.requests.max(1) as f64,
        resident_bytes() / 1_000_000
    );
    println!("violations {:?}", audit.violation_counts);
    for violation in &audit.violations {
        println!("  {violation}");
    }
    // Overtaken and left-out sites are normal here: a site in line waits for the node that owns its address.
    check_waits(&result.waits, result.waits.starved == 0)?;
    if !audit.violation_counts.is_empty() {
        return Err("the courtesy rules were violated".into());
    }
    if result.longest_overdue > MAX_OVERDUE {
        return Err("a site was forgotten".into());
    }
    Ok(())
}
