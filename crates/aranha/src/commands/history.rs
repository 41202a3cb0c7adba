//! `aranha history`: every fetch of a page, and what came of it.

use std::time::Duration;

use aranha_engine::Clock;
use aranha_frontier::{PageRecord, Waiting};
use aranha_units::calendar;
use aranha_units::duration;
use clap::Args;
use data_encoding::BASE32;
use serde_json::{Value, json};

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::display::grouped;
use crate::history::{Finding, Visit, visits};
use crate::output::{Output, counted};
use crate::plain::Plain;
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha history https://example.org/ -c example
  aranha history https://example.org/ -c example --json | jq -r '.history[] | select(.found == \"changed\") | .time'
  aranha cat https://example.org/ -c example --at 2026-11-01

Columns: time (UTC), status (or what came instead), bytes, beginning of the digest, what was found, time since the last
change. Found: new; changed (the text differs); markup only (the bytes differ, the text does not); same; not modified
(the server said so, and sent nothing); moved (a redirect); gone; failed (nothing is known about the page).";

/// List every fetch of a page, oldest first, and what had changed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The page
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    collection: Collection,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let (url, records) = archived.records(&arguments.collection.folder, &arguments.url)?;
    let waiting = archived
        .view
        .explain(&url)
        .map_err(|error| session::refused(&error))?
        .waiting;
    let next = match waiting {
        // Not what the last visit planned: it may have been brought forward since.
        Some(Waiting::Later(due) | Waiting::Again(due)) => Some(due),
        Some(Waiting::Window | Waiting::Queue) => records.last().and_then(|record| record.next),
        None => None,
    };
    let visits = visits(&records);
    let mut output = Output::new();
    if arguments.json {
        output.json(&json(url.as_str(), &visits, next))?;
    } else {
        for line in lines(&visits) {
            output.line(Plain(&line))?;
        }
        output.line(summary(&visits, next))?;
    }
    output.finish()?;
    Ok(Status::Done)
}

fn lines(visits: &[Visit<'_>]) -> Vec<String> {
    let outcomes: Vec<_> = visits
        .iter()
        .map(|visit| visit.record.outcome.to_string())
        .collect();
    let sizes: Vec<_> = visits.iter().map(|v| grouped(v.record.size)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or_default();
    let (outcome_width, size_width) = (widest(&outcomes), widest(&sizes));
    let line = |((visit, outcome), size): ((&Visit<'_>, &String), &String)| {
        let digest = short(visit.record).unwrap_or_else(|| "-".to_owned());
        let mut line = format!(
            "{}  {outcome:<outcome_width$}  {size:>size_width$}  {digest:<8}  {:<12}",
            calendar::date_time(visit.record.time),
            visit.finding.name(),
        );
        if let Some(since) = visit.since_change {
            line = format!("{line}  {}", span(since));
        }
        if let Some(target) = &visit.record.redirect {
            line = format!("{line}  to {target}");
        }
        line.trim_end().to_owned()
    };
    visits.iter().zip(&outcomes).zip(&sizes).map(line).collect()
}

/// As much of the digest as people compare.
fn short(record: &PageRecord) -> Option<String> {
    Some(BASE32.encode(&record.digest?[..5]))
}

/// `3d4h`, `12m5s`: what is left below two units says nothing.
fn span(ms: i64) -> String {
    let seconds = u64::try_from(ms / 1000).unwrap_or_default();
    let grain = match seconds {
        86_400.. => 3600,
        3600.. => 60,
        _ => 1,
    };
    duration::format(Duration::from_secs(seconds / grain * grain))
}

/// Changes of the text after the first.
fn changes(visits: &[Visit<'_>]) -> u64 {
    let changed = visits.iter().filter(|v| v.finding == Finding::Changed);
    changed.count() as u64
}

fn summary(visits: &[Visit<'_>], next: Option<i64>) -> String {
    let (Some(first), Some(last)) = (visits.first(), visits.last()) else {
        return "no visits".to_owned();
    };
    let next = match next {
        None => "none planned".to_owned(),
        Some(due) if due <= Clock::new().now() => {
            format!("due since {} UTC", calendar::date_time(due))
        }
        Some(due) => format!("due {} UTC", calendar::date_time(due)),
    };
    format!(
        "{}, {}; first {}, last {} UTC; next visit {next}",
        counted(visits.len() as u64, "visit"),
        counted(changes(visits), "change"),
        calendar::date_time(first.record.time),
        calendar::date_time(last.record.time),
    )
}

fn json(url: &str, visits: &[Visit<'_>], next: Option<i64>) -> Value {
    let history: Vec<_> = visits
        .iter()
        .map(|visit| {
            let mut value = super::pages::json(url, visit.record);
            value["found"] = json!(visit.finding.name());
            value["milliseconds_since_change"] = json!(visit.since_change);
            value
        })
        .collect();
    let time = |visit: Option<&Visit<'_>>| visit.map(|v| calendar::rfc3339(v.record.time));
    let changed = visits.iter().rfind(|visit| visit.finding.is_change());
    json!({
        "url": url, "visits": visits.len(), "changes": changes(visits),
        "first": time(visits.first()), "last": time(visits.last()), "last_change": time(changed),
        "next": next.map(calendar::rfc3339), "history": history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_as_long_as_they_are_worth() {
        let check = |ms, expected| assert_eq!(span(ms), expected);
        check(0, "0s");
        check(999, "0s");
        check(61_500, "1m1s");
        check(3_661_000, "1h1m");
        check(90_061_000, "1d1h");
        check(-5, "0s");
    }
}
