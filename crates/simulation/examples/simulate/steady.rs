//! Checks that memory stays constant. The mean of resident memory is taken over all samples after the warm-up. No
//! sample after the warm-up may differ from this mean by more than 5%.
//!
//! The warm-up is the first two thirds of the samples. During this time, the database cache and the tables of the
//! frontier fill. So do the two batches of a million links each, which the frontier uses in turn.

use std::error::Error;
use std::time::Duration;

use aranha_simulation::Sample;

/// Maximum deviation of a sample from the mean.
const MAX_DEVIATION: f64 = 0.05;
/// Minimum simulated time after the warm-up.
const MIN_DURATION: Duration = Duration::from_mins(59);

pub(crate) fn check(samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let warm = &samples[samples.len() * 2 / 3..];
    let (Some(first), Some(last)) = (warm.first(), warm.last()) else {
        return Err("no samples".into());
    };
    let memory = || warm.iter().map(|sample| sample.resident_bytes as f64 / 1e6);
    let mean = memory().sum::<f64>() / warm.len() as f64;
    let (least, most) = memory().fold((f64::MAX, 0.0_f64), |(least, most), here| {
        (least.min(here), most.max(here))
    });
    let duration = last.time.saturating_sub(first.time);
    println!(
        "after warm-up, {:.0} minutes, {} requests, {} samples: {least:.0} to {most:.0} MB, mean {mean:.0}; at least {} visits",
        duration.as_secs_f64() / 60.0,
        last.requests - first.requests,
        warm.len(),
        warm.iter().map(|sample| sample.visits).min().unwrap_or(0)
    );
    if duration < MIN_DURATION {
        return Err("less than an hour after the warm-up".into());
    }
    if least < (1.0 - MAX_DEVIATION) * mean || most > (1.0 + MAX_DEVIATION) * mean {
        return Err("memory is not constant".into());
    }
    Ok(())
}
