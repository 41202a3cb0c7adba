//! The plots of `bench/plots/simulated-*.svg`: waits, memory and cost per request.

use std::error::Error;
use std::path::Path;

use aranha_simulation::{Axis, Plot, Series};

use crate::growth::{SIZES, costs};
use crate::{SampleRow, sample_rows, table};

pub(crate) fn draw_all(results: &Path, plots: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(plots)?;
    let draw = |name: &str, title: &str, x: Axis, y: Axis, series: Vec<Series>| {
        let title = title.to_owned();
        let plot = Plot {
            title,
            x,
            y,
            series,
        };
        std::fs::write(plots.join(format!("simulated-{name}.svg")), plot.svg())
    };
    let (mut waits, mut memory, mut cost) = (Vec::new(), Vec::new(), Vec::new());
    for sites in SIZES {
        let samples = sample_rows(&results.join(format!("crawl-{sites}.tsv")))?;
        let name = format!("{sites} sites");
        let distribution = table(&results.join(format!("waits-{sites}.tsv")))?;
        let points = distribution.iter().map(|row| (row[0].max(0.01), row[1]));
        waits.extend(series(&name, points));
        let grown = samples.iter().filter(|row| row.requests >= 1000.0);
        memory.extend(series(
            &name,
            grown.map(|row| (row.requests, megabytes(row))),
        ));
        cost.extend(series(&name, costs(&samples).into_iter()));
    }
    draw(
        "waits",
        "Wait from due time to visit",
        Axis::log("seconds"),
        Axis::linear("share of the visits that waited at most this long"),
        waits,
    )?;
    draw(
        "memory",
        "Memory as the crawl grows",
        Axis::log("requests"),
        Axis::linear("MB resident"),
        memory,
    )?;
    draw(
        "cost",
        "Cost of a request as the crawl grows",
        Axis::log("requests"),
        Axis::linear("processor time per request, microseconds"),
        cost,
    )?;
    for (name, title, label, unit) in [
        (
            "steady",
            "Memory at constant load",
            "hours of simulated time",
            3600.0,
        ),
        (
            "month",
            "Memory in a month with restarts",
            "days of simulated time",
            86_400.0,
        ),
    ] {
        let samples = sample_rows(&results.join(format!("{name}.tsv")))?;
        let points = samples.iter().map(|row| (row.time / unit, megabytes(row)));
        let lines = series("", points).into_iter().collect();
        draw(
            name,
            title,
            Axis::linear(label),
            Axis::linear("MB resident"),
            lines,
        )?;
    }
    Ok(())
}

fn megabytes(row: &SampleRow) -> f64 {
    row.resident_bytes / 1e6
}

/// A line of a plot. `None` if it has no points.
fn series(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Option<Series> {
    let points: Vec<_> = points.collect();
    let name = name.to_owned();
    (!points.is_empty()).then_some(Series { name, points })
}
