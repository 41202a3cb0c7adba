//! The pictures: waits, memory and cost of whole crawls, memory in steady state.

use std::error::Error;
use std::path::Path;

use aranha_simulation::{Axis, Line, Plot};

use crate::growth::{SIZES, costs};
use crate::{Row, rows, table};

pub(crate) fn draw_all(results: &Path, plots: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(plots)?;
    let draw = |name: &str, title: &str, x: Axis, y: Axis, lines: Vec<Line>| {
        let title = title.to_owned();
        let plot = Plot { title, x, y, lines };
        std::fs::write(plots.join(format!("simulated-{name}.svg")), plot.svg())
    };
    let (mut waits, mut memory, mut cost) = (Vec::new(), Vec::new(), Vec::new());
    for sites in SIZES {
        let samples = rows(&results.join(format!("crawl-{sites}.tsv")))?;
        let name = format!("{sites} sites");
        let curve = table(&results.join(format!("waits-{sites}.tsv")))?;
        let points = curve.iter().map(|row| (row[0].max(0.01), row[1]));
        waits.extend(line(&name, points));
        let grown = samples.iter().filter(|row| row.requests >= 1000.0);
        memory.extend(line(&name, grown.map(|row| (row.requests, megabytes(row)))));
        cost.extend(line(&name, costs(&samples).into_iter()));
    }
    draw(
        "waits",
        "From a site's being due to its visit",
        Axis::log("seconds"),
        Axis::linear("share of the visits that waited no longer"),
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
        Axis::linear("microseconds of processor"),
        cost,
    )?;
    for (name, title, label, unit) in [
        (
            "steady",
            "Memory at steady work",
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
        let samples = rows(&results.join(format!("{name}.tsv")))?;
        let points = samples.iter().map(|row| (row.time / unit, megabytes(row)));
        let lines = line("", points).into_iter().collect();
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

fn megabytes(row: &Row) -> f64 {
    row.memory / 1e6
}

/// None where there is nothing to draw.
fn line(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Option<Line> {
    let points: Vec<_> = points.collect();
    let name = name.to_owned();
    (!points.is_empty()).then_some(Line { name, points })
}
