//! `aranha pages`: the pages of a collection, one per line.

use std::ops::RangeInclusive;

use aranha_frontier::{Flags, Outcome, PageEntry, PageFilter, PageRecord};
use clap::Args;

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::fetch_json::FetchJson;
use crate::output::Output;
use crate::shared_args::{CollectionArg, JsonLinesArg, SiteArg};
use crate::terminal_escape::Escaped;
use aranha_units::calendar;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  aranha pages -c example
  aranha pages -c example --status 4xx
  aranha pages -c example --type application/pdf
  aranha pages -c example --language pt,gl
  aranha pages -c example --queued
  aranha pages -c example --site www.example.org --history
  aranha pages -c example --json | jq -r 'select(.size > 1000000) | .url'

Columns, separated by tabs: HTTP status or error, bytes, media type, time, URL, and
\"truncated\" if only a part of the body was received and stored. With --queued, the columns are: \
state, time of the next try, URL of the page with the link, URL of the waiting page. The state is \
\"queued\", \"retry\" (a failed page is tried again) or \"later\" (the page waits for the next round). A \
missing time or page is shown as `-`.";

/// List the pages that were fetched or refused (with --queued, the pages that wait to be fetched); also works during a crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    site: SiteArg,
    /// Only pages with this HTTP status, such as 404 or 4xx
    #[arg(long, value_name = "CODE", value_parser = status_range)]
    status: Option<RangeInclusive<u16>>,
    /// Only pages with this media type, such as `application/pdf` or `image/*`
    #[arg(long = "type", value_name = "TYPE")]
    media_type: Option<String>,
    /// Only pages whose text was identified as this language: an ISO 639 code such as pt, or several with commas
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    language: Vec<String>,
    /// Only pages whose last fetch failed: no response, such as a time-out or an unknown host name
    #[arg(long)]
    failed: bool,
    /// Only "not found" pages that were sent with status 200
    #[arg(long)]
    soft: bool,
    /// Only pages that say that the browser is not supported
    #[arg(long)]
    cloaked: bool,
    /// List the pages that wait to be fetched or retried, instead of those that were fetched
    #[arg(long, conflicts_with_all = ["status", "media_type", "language", "failed", "soft", "cloaked", "history"])]
    queued: bool,
    /// List every fetch of a page, not only the newest
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.collection)?;
    let site = collection.site(&arguments.site)?;
    let mut output = Output::new();
    let json = FetchJson::new(&collection.folder);
    let mut failure = None;
    if arguments.queued {
        return print_queued(&collection, site.as_deref(), arguments.output.json);
    }
    let filter = PageFilter {
        site: site.as_deref(),
        outcome: None,
        all: arguments.history,
    };
    let show = |entry: PageEntry<'_>| {
        if !arguments.selects(entry.record) {
            return true;
        }
        let (url, record) = (entry.url(), entry.record);
        let shown = if arguments.output.json {
            output.json(&json.record(&url, record))
        } else {
            output.line(format_args!(
                "{}\t{}\t{}\t{}\t{}{}",
                record.outcome,
                record.size,
                Escaped(&record.media_type),
                calendar::rfc3339(record.time),
                Escaped(&url),
                if record.flags.has(Flags::TRUNCATED) {
                    "\ttruncated"
                } else {
                    ""
                }
            ))
        };
        failure = shown.err();
        failure.is_none()
    };
    collection.view.pages(&filter, show)?;
    if let Some(error) = failure {
        return Err(error);
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

impl Arguments {
    /// Whether the flags select the record.
    fn selects(&self, record: &PageRecord) -> bool {
        let is_answer = |range: &RangeInclusive<u16>| match record.outcome {
            Outcome::Answer(status) => range.contains(&status),
            _ => false,
        };
        self.status.as_ref().is_none_or(is_answer)
            && self
                .media_type
                .as_deref()
                .is_none_or(|pattern| matches_type(&record.media_type, pattern))
            && self.has_language(record)
            && (!self.failed || has_failed(record.outcome))
            && (!self.soft || record.flags.has(Flags::SOFT_404))
            && (!self.cloaked || record.flags.has(Flags::CLOAKED))
    }

    fn has_language(&self, record: &PageRecord) -> bool {
        let found = record.language.as_ref().map(|language| &language.code);
        let is_found = |code: &String| found.is_some_and(|found| found.eq_ignore_ascii_case(code));
        self.language.is_empty() || self.language.iter().any(is_found)
    }
}

/// Whether a fetch was tried but got no response.
fn has_failed(outcome: Outcome) -> bool {
    outcome.status().is_none()
        && !matches!(
            outcome,
            Outcome::RobotsRefused | Outcome::Blocked | Outcome::OutOfScope
        )
}

/// Whether a media type matches a pattern: the type itself, or `image/*`.
fn matches_type(media_type: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => media_type.starts_with(&start.to_ascii_lowercase()),
        None => media_type.eq_ignore_ascii_case(pattern),
    }
}

/// Parses `404` or `4xx`.
fn status_range(text: &str) -> Result<RangeInclusive<u16>, String> {
    let class = text
        .strip_suffix("xx")
        .or_else(|| text.strip_suffix("XX"))
        .and_then(|digit| digit.parse::<u16>().ok())
        .filter(|digit| (1..=9).contains(digit));
    match (class, text.parse()) {
        (Some(class), _) => Ok(class * 100..=class * 100 + 99),
        (None, Ok(status)) => Ok(status..=status),
        (None, Err(_)) => Err("write a status such as 404, or a class such as 4xx".to_owned()),
    }
}

/// Lists the pages that wait.
fn print_queued(
    collection: &CollectionReader,
    site: Option<&str>,
    json: bool,
) -> Result<ExitStatus, CommandError> {
    let mut output = Output::new();
    let mut failure = None;
    collection.view.queued(site, |queued| {
        let (url, page) = (queued.url(), queued.page);
        let state = match queued.due {
            None => "queued",
            Some(_) if page.past.is_none() && page.tries == 0 => "later",
            Some(_) => "retry",
        };
        let due = queued.due.map(calendar::rfc3339);
        let shown = if json {
            output.json(&json!({
                "url": url, "state": state, "due": due, "depth": page.depth, "via": page.via,
                "hop": page.hop.letter(), "tries": page.tries,
            }))
        } else {
            let via = if page.via.is_empty() { "-" } else { &page.via };
            output.line(format_args!(
                "{state}\t{}\t{}\t{}",
                due.as_deref().unwrap_or("-"),
                Escaped(via),
                Escaped(&url)
            ))
        };
        failure = shown.err();
        failure.is_none()
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_media_types_are_matched() {
        assert_eq!(status_range("404"), Ok(404..=404));
        assert_eq!(status_range("4xx"), Ok(400..=499));
        for wrong in ["xx", "0xx", "12xx", "4x", "all"] {
            assert!(status_range(wrong).is_err(), "{wrong}");
        }
        assert!(matches_type("image/png", "image/*"));
        assert!(matches_type("application/pdf", "Application/PDF"));
        assert!(!matches_type("text/html", "text"));
    }
}
