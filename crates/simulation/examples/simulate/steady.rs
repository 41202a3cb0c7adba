//! Whether memory stays flat.

use std::error::Error;

use aranha_simulation::Sample;

/// The first third is warm-up: caches fill.
pub(crate) fn judge(samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let warm = &samples[samples.len() / 3..];
    let (Some(first), Some(last)) = (warm.first(), warm.last()) else {
        return Err("no samples".into());
    };
    let memory = || warm.iter().map(|sample| sample.memory as f64 / 1e6);
    let mean = memory().sum::<f64>() / warm.len() as f64;
    let (least, most) = memory().fold((f64::MAX, 0.0_f64), |(least, most), here| {
        (least.min(here), most.max(here))
    });
    let hours = last.time.saturating_sub(first.time).as_secs_f64() / 3600.0;
    println!(
        "after warm-up, {hours:.1} hours and {} requests: {least:.0} to {most:.0} MB, mean {mean:.0}; at least {} visits",
        last.requests - first.requests,
        warm.iter().map(|sample| sample.visits).min().unwrap_or(0)
    );
    if least < 0.95 * mean || most > 1.05 * mean {
        return Err("memory is not flat".into());
    }
    Ok(())
}
