//! Tests of whole crawls in simulated time. The crawls are small enough to run in `./test`. `bench/simulate` runs
//! larger crawls.

mod cluster;
mod courtesy;
mod fairness;

use std::time::Duration;

use aranha_frontier::FrontierStatus;
use aranha_simulation::{CrawlEnd, Sample, Scenario, SimulatedCrawl};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A crawl that is stopped after `duration`.
fn stopped_crawl(duration: Duration) -> SimulatedCrawl {
    SimulatedCrawl {
        duration,
        end: CrawlEnd::Stopped,
        downtime: Duration::ZERO,
    }
}

/// A temporary folder, in memory if possible, because a crawl often waits for the disk.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("the temporary folder can be created")
}

/// Runs a scenario in a temporary folder.
fn run(scenario: &Scenario) -> (FrontierStatus, Vec<Sample>) {
    let folder = folder();
    let mut samples = Vec::new();
    let status = scenario.run(folder.path(), paused_runtime, |sample| {
        samples.push(*sample);
    });
    (status.expect("the scenario ends without an error"), samples)
}

fn paused_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build()
}
