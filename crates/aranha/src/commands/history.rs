//! `aranha history`: every fetch of a page, and what each fetch found.

use std::time::Duration;

use aranha_engine::Clock;
use aranha_frontier::{PageRecord, Waiting};
use aranha_units::{calendar, duration};
use clap::Args;
use data_encoding::BASE32;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::fetch_json::FetchJson;
use crate::output::{Output, counted};
use crate::page_history::{Finding, PastFetch, findings};
use crate::shared_args::{JsonObjectArg, PageArgs};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha history https://example.org/ -c example
  aranha history https://example.org/ -c example --json | jq -r .last_change
  aranha cat https://example.org/ -c example --at 2026-11-01

Columns: time (UTC), HTTP status or error, bytes, first characters of the digest, finding, time from \
the previous change of the text (or from the first fetch) to this fetch.

Findings:
  new           first content
  changed       the text differs (for a file without text, the bytes)
  markup only   the bytes differ, the text does not
  same          the bytes are the same
  not modified  the server answered 304
  moved         redirect
  gone          the page no longer exists
  failed        no response, an HTTP error, or refused by robots.txt";

/// List every fetch of a page, oldest first, with what changed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.page.collection)?;
    let (url, records) = collection.records(&arguments.page.url)?;
    let next = match collection.view.explain(&url)?.waiting {
        // A signal may have brought the visit forward, so this time may be earlier than the next visit in the last
        // record.
        Some(Waiting::Retry(due) | Waiting::Revisit(due)) => Some(due),
        Some(Waiting::Window | Waiting::Queue) => records.last().and_then(|record| record.next),
        None => None,
    };
    let fetches = findings(&records);
    let forgotten = collection.forgotten(&url)?;
    let mut output = Output::new();
    if arguments.output.json {
        let records = FetchJson::new(&collection.folder);
        let mut value = json(&records, url.as_str(), &fetches, next);
        value["forgotten"] = json!(forgotten.map(|entry| entry.json()));
        output.json(&value)?;
    } else {
        for line in lines(&fetches) {
            output.line(Escaped(&line))?;
        }
        if let Some(entry) = forgotten {
            output.line(Escaped(&entry.sentence()))?;
        }
        output.line(summary(&fetches, next))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn lines(fetches: &[PastFetch<'_>]) -> Vec<String> {
    let outcomes: Vec<_> = fetches
        .iter()
        .map(|fetch| fetch.record.outcome.to_string())
        .collect();
    let sizes: Vec<_> = fetches.iter().map(|f| grouped(f.record.size)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or_default();
    let (outcome_width, size_width) = (widest(&outcomes), widest(&sizes));
    let line = |((fetch, outcome), size): ((&PastFetch<'_>, &String), &String)| {
        let digest = short_digest(fetch.record).unwrap_or_else(|| "-".to_owned());
        let mut line = format!(
            "{}  {outcome:<outcome_width$}  {size:>size_width$}  {digest:<8}  {:<12}",
            calendar::date_time(fetch.record.time),
            fetch.finding.name(),
        );
        if let Some(since) = fetch.since_change {
            line = format!("{line}  {}", rounded(since));
        }
        if let Some(target) = &fetch.record.redirect {
            line = format!("{line}  to {target}");
        }
        line.trim_end().to_owned()
    };
    fetches
        .iter()
        .zip(&outcomes)
        .zip(&sizes)
        .map(line)
        .collect()
}

/// The first eight characters of the payload digest, in base 32.
fn short_digest(record: &PageRecord) -> Option<String> {
    Some(BASE32.encode(&record.digest?[..5]))
}

/// A duration in its two largest units: `3d4h`, `12m5s`.
fn rounded(ms: i64) -> String {
    let seconds = u64::try_from(ms / 1000).unwrap_or_default();
    let unit = match seconds {
        86_400.. => 3600,
        3600.. => 60,
        _ => 1,
    };
    duration::format(Duration::from_secs(seconds / unit * unit))
}

/// Number of changes of the text. The first content is not a change.
fn changes(fetches: &[PastFetch<'_>]) -> u64 {
    let changed = fetches.iter().filter(|f| f.finding == Finding::Changed);
    changed.count() as u64
}

fn summary(fetches: &[PastFetch<'_>], next: Option<i64>) -> String {
    let (Some(first), Some(last)) = (fetches.first(), fetches.last()) else {
        return "no fetches".to_owned();
    };
    let next = match next {
        None => "no next visit planned".to_owned(),
        Some(due) if due <= Clock::new().now() => {
            format!("next visit due since {} UTC", calendar::date_time(due))
        }
        Some(due) => format!("next visit due {} UTC", calendar::date_time(due)),
    };
    format!(
        "{}, {}; first {}, last {} UTC; {next}",
        counted(fetches.len() as u64, "fetch"),
        counted(changes(fetches), "change"),
        calendar::date_time(first.record.time),
        calendar::date_time(last.record.time),
    )
}

fn json(records: &FetchJson, url: &str, fetches: &[PastFetch<'_>], next: Option<i64>) -> Value {
    let history: Vec<_> = fetches
        .iter()
        .map(|fetch| {
            let mut value = records.record(url, fetch.record);
            value["found"] = json!(fetch.finding.name());
            value["milliseconds_since_change"] = json!(fetch.since_change);
            value
        })
        .collect();
    let time = |fetch: Option<&PastFetch<'_>>| fetch.map(|f| calendar::rfc3339(f.record.time));
    let changed = fetches.iter().rfind(|fetch| fetch.finding.is_change());
    json!({
        "url": url, "visits": fetches.len(), "changes": changes(fetches),
        "first": time(fetches.first()), "last": time(fetches.last()), "last_change": time(changed),
        "next": next.map(calendar::rfc3339), "history": history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_two_units() {
        let check = |ms, expected| assert_eq!(rounded(ms), expected);
        check(0, "0s");
        check(999, "0s");
        check(61_500, "1m1s");
        check(3_661_000, "1h1m");
        check(90_061_000, "1d1h");
        check(-5, "0s");
    }
}
