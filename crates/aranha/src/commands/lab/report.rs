//! The report of the lab: the requests that its servers received, as text or JSON.

use std::time::Duration;

use aranha_lab::{Cost, CrawlTotals, Crawler, Group, Hazard, Lab, Violation};
use serde_json::{Value, json};

use crate::display::{about, grouped};
use crate::error::CommandError;
use crate::output::Output;
use crate::terminal_escape::Escaped;

/// The report lists at most this number of missed URLs, and of courtesy violations. All of them are counted.
const EXAMPLES: usize = 20;

/// The group of a hazard, as printed.
pub(super) fn group(group: Group) -> &'static str {
    match group {
        Group::Trap => "trap",
        Group::Server => "server",
        Group::Content => "content",
        Group::Attack => "attack",
        Group::Name => "name",
    }
}

/// Prints the report.
pub(super) fn print(
    lab: &Lab,
    crawler: Option<&Crawler>,
    pause: Duration,
    json: bool,
) -> Result<(), CommandError> {
    let tally = match crawler {
        Some(crawler) => lab.tally(crawler, pause),
        None => lab.courtesy(pause),
    };
    let mut output = Output::new();
    if json {
        output.json(&object(&tally))?;
    } else {
        words(&mut output, &tally)?;
    }
    output.finish()
}

fn object(tally: &CrawlTotals) -> Value {
    let hazards = tally.hazards.iter().map(|(hazard, cost)| {
        let group = group(hazard.group());
        let value = json!({
            "group": group,
            "requests": cost.requests,
            "bytes": cost.bytes,
            "held_seconds": cost.held.as_secs_f64(),
        });
        (hazard.name().to_owned(), value)
    });
    let hazards: serde_json::Map<String, Value> = hazards.collect();
    json!({
        "event": "ended",
        "requests": tally.requests,
        "honest_requests": tally.honest,
        "hostile_requests": tally.hostile(),
        "trap_requests": tally.group(Group::Trap),
        "unknown_requests": tally.unknown,
        "expected": tally.expected,
        "arrived": tally.arrived,
        "missed": tally.missed.iter().take(EXAMPLES).collect::<Vec<_>>(),
        "questions": tally.questions,
        "trespasses": tally.trespasses,
        "violations": tally.violations.len(),
        "violation_examples": tally.violations.iter().take(EXAMPLES).map(violation).collect::<Vec<_>>(),
        "each_second": tally.each_second,
        "honest_seconds": tally.honest_time.as_secs_f64(),
        "seconds": tally.time.as_secs_f64(),
        "hazards": hazards,
    })
}

fn violation(violation: &Violation) -> String {
    let (first, second) = (&violation.first, &violation.second);
    format!(
        "{:?}: {}{} {:?} after {}{}",
        violation.scope, second.host, second.path, violation.gap, first.host, first.path
    )
}

fn words(output: &mut Output, tally: &CrawlTotals) -> Result<(), CommandError> {
    let count = |number: usize| grouped(number as u64);
    output.line(format_args!(
        "\nrequests    {}: {} to honest sites, {} to hostile sites ({} in traps), {} to unknown names",
        grouped(tally.requests),
        grouped(tally.honest),
        grouped(tally.hostile()),
        grouped(tally.group(Group::Trap)),
        grouped(tally.unknown)
    ))?;
    output.line(format_args!(
        "honest      {} of {} URLs were requested, the last after {:.1} s; the last response ended after {:.1} s",
        count(tally.arrived),
        count(tally.expected),
        tally.honest_time.as_secs_f64(),
        tally.time.as_secs_f64()
    ))?;
    for url in tally.missed.iter().take(EXAMPLES) {
        output.line(format_args!("  missed    {url}"))?;
    }
    output.line(format_args!("DNS queries {}", count(tally.questions)))?;
    output.line(format_args!(
        "courtesy    {} requests within the pause",
        count(tally.violations.len())
    ))?;
    for early in tally.violations.iter().take(EXAMPLES) {
        output.line(format_args!("  {}", Escaped(&violation(early))))?;
    }
    output.line(format_args!(
        "trespasses  {} connections to blocked addresses",
        count(tally.trespasses)
    ))?;
    let mut costs: Vec<(&Hazard, &Cost)> = tally.hazards.iter().collect();
    costs.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.requests));
    for (hazard, cost) in costs {
        output.line(format_args!(
            "{:>10}  {:14}{:9}{:>10}{:>9.1} s",
            grouped(cost.requests),
            hazard.name(),
            group(hazard.group()),
            about(cost.bytes),
            cost.held.as_secs_f64()
        ))?;
    }
    Ok(())
}
