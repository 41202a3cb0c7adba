//! Whole crawls in simulated time, at a size for every day. `bench/simulate` runs them at full size.

mod courtesy;
mod fairness;

use std::time::Duration;

use aranha_frontier::FrontierStatus;
use aranha_simulation::{Course, End, Life, Sample};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A life that ends in order.
fn life(length: Duration) -> Life {
    Life {
        length,
        end: End::Stopped,
        rest: Duration::ZERO,
    }
}

/// Runs a course in a folder that is gone afterwards; in memory where there is such a place, for its syncs are many.
fn run(course: &Course) -> (FrontierStatus, Vec<Sample>) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder");
    let mut samples = Vec::new();
    let status = course.run(folder.path(), paused, |sample| samples.push(*sample));
    (status.expect("a course without failures"), samples)
}

fn paused() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build()
}
