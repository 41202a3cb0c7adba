//! Whether memory stays flat: resident memory is looked at every few seconds of simulated time, and after the warm-up no
//! single look may be more than five percent from the mean of all.
//!
//! Two thirds are warm-up. By then the database's cache and the tables of the frontier are full, and so are the two batches of
//! links that take turns, a million links each.

use std::error::Error;
use std::time::Duration;

use aranha_simulation::Sample;

/// How far a look may be from the mean.
const FLAT: f64 = 0.05;
/// What is judged at least.
const LEAST: Duration = Duration::from_mins(59);

pub(crate) fn judge(samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let warm = &samples[samples.len() * 2 / 3..];
    let (Some(first), Some(last)) = (warm.first(), warm.last()) else {
        return Err("no samples".into());
    };
    let memory = || warm.iter().map(|sample| sample.memory as f64 / 1e6);
    let mean = memory().sum::<f64>() / warm.len() as f64;
    let (least, most) = memory().fold((f64::MAX, 0.0_f64), |(least, most), here| {
        (least.min(here), most.max(here))
    });
    let lasted = last.time.saturating_sub(first.time);
    println!(
        "after warm-up, {:.0} minutes, {} requests, {} looks: {least:.0} to {most:.0} MB, mean {mean:.0}; at least {} visits",
        lasted.as_secs_f64() / 60.0,
        last.requests - first.requests,
        warm.len(),
        warm.iter().map(|sample| sample.visits).min().unwrap_or(0)
    );
    if lasted < LEAST {
        return Err("that was no hour".into());
    }
    if least < (1.0 - FLAT) * mean || most > (1.0 + FLAT) * mean {
        return Err("memory is not flat".into());
    }
    Ok(())
}
