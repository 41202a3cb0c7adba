//! Compares the cost of a request in webs of different sizes. The cost must not grow with the web.

use std::error::Error;
use std::path::Path;

use crate::{SampleRow, sample_rows};

/// Sizes of the webs, in sites.
pub(crate) const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

/// Maximum ratio between the costs of a request in a web and in a web of a tenth of its size. The maximum is above 1,
/// because processor time varies on a shared machine.
const MAX_RATIO: f64 = 1.25;

/// Returns an error if a request costs more than [`MAX_RATIO`] times as much as in the next smaller web.
pub(crate) fn check(results: &Path) -> Result<(), Box<dyn Error>> {
    let mut last: Option<f64> = None;
    let mut grows = false;
    for sites in SIZES {
        let samples = sample_rows(&results.join(format!("crawl-{sites}.tsv")))?;
        let (Some(first), Some(end)) = (samples.first(), samples.last()) else {
            continue;
        };
        let cost = cost(first, end);
        let peak = samples
            .iter()
            .map(|row| row.resident_bytes)
            .fold(0.0, f64::max);
        let ratio = last.map_or(1.0, |last| cost / last);
        println!(
            "{sites} sites: {:.0} requests, {cost:.1} us per request, {ratio:.2} times the previous size, peak {:.0} MB",
            end.requests,
            peak / 1e6
        );
        grows |= ratio > MAX_RATIO;
        last = Some(cost);
    }
    if grows {
        return Err("a request costs more in a larger web".into());
    }
    Ok(())
}

/// Microseconds of processor time per request between two samples.
fn cost(from: &SampleRow, to: &SampleRow) -> f64 {
    (to.cpu_seconds - from.cpu_seconds) * 1e6 / (to.requests - from.requests).max(1.0)
}

/// Points of the cost plot, one for each twentieth of the crawl. A point is the number of requests so far, and the cost
/// per request in its twentieth.
pub(crate) fn costs(samples: &[SampleRow]) -> Vec<(f64, f64)> {
    let step = samples.last().map_or(1.0, |row| row.requests / 20.0);
    let mut points = Vec::new();
    let mut last = samples.first();
    for row in samples {
        if let Some(before) =
            last.filter(|before| row.requests - before.requests >= step.max(1000.0))
        {
            points.push((row.requests, cost(before, row)));
            last = Some(row);
        }
    }
    points
}
