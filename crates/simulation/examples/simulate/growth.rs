//! What whole crawls of several sizes took, held against each other: a request must cost in a large web what it costs in a
//! small one.

use std::error::Error;
use std::path::Path;

use crate::{Row, rows};

/// Sites.
pub(crate) const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

/// How much more a request may cost in a web ten times the size. Processor time on a shared machine is not exact.
const MOST: f64 = 1.25;

/// Fails when a request costs more in a larger web.
pub(crate) fn judge(results: &Path) -> Result<(), Box<dyn Error>> {
    let mut last: Option<f64> = None;
    let mut grows = false;
    for sites in SIZES {
        let samples = rows(&results.join(format!("crawl-{sites}.tsv")))?;
        let (Some(first), Some(end)) = (samples.first(), samples.last()) else {
            continue;
        };
        let cost = cost(first, end);
        let most = samples.iter().map(|row| row.memory).fold(0.0, f64::max);
        let ratio = last.map_or(1.0, |last| cost / last);
        println!(
            "{sites} sites: {:.0} requests, {cost:.1} us a request, {ratio:.2} of the size before, at most {:.0} MB",
            end.requests,
            most / 1e6
        );
        grows |= ratio > MOST;
        last = Some(cost);
    }
    if grows {
        return Err("a request costs more in a larger web".into());
    }
    Ok(())
}

/// Microseconds a request between two samples.
fn cost(from: &Row, to: &Row) -> f64 {
    (to.processor - from.processor) * 1e6 / (to.requests - from.requests).max(1.0)
}

/// Requests so far, and the cost of one between samples that lie a twentieth of the crawl apart.
pub(crate) fn costs(samples: &[Row]) -> Vec<(f64, f64)> {
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
