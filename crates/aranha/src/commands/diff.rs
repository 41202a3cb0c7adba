//! `aranha diff`: the words added and removed between two versions of a page.

use std::io::IsTerminal;

use aranha_frontier::PageRecord;
use aranha_page::Page;
use aranha_url::CanonUrl;
use clap::Args;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted, message};
use crate::page_history::{is_version, same_text};
use crate::point_in_time::PointInTime;
use crate::shared_args::{JsonObjectArg, PageArgs};
use crate::stored_page;
use crate::word_diff::{self, EditKind, Hunk, WordDiff};
use aranha_units::calendar;

const EXAMPLES: &str = "\
Examples:
  aranha diff https://example.org/ -c example
  aranha diff https://example.org/ -c example --from 2026-11-01 --to 2026-11-05
  aranha diff https://example.org/ -c example --to \"2026-11-05 18:30\"
  aranha diff https://example.org/ -c example --json | jq -r '.changes[].added'

A change is printed as [-removed words-]{+added words+} with a few words of context. Changes that are close together \
share a line. WHEN is a \
date (the end of that day), a date and time in UTC, or an RFC 3339 time; it selects the version that \
was current at that time. The exit status is 5 if the page has only one version, or no text.";

/// Show the words added and removed between two versions of a page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    page: PageArgs,
    /// The older version [default: the newest one before --to whose text differs]
    #[arg(long, value_name = "WHEN")]
    from: Option<PointInTime>,
    /// The newer version [default: the newest]
    #[arg(long, value_name = "WHEN")]
    to: Option<PointInTime>,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let collection = CollectionReader::open(&arguments.page.collection)?;
    let (url, records) = collection.records(&arguments.page.url)?;
    let (from, to) = choose(arguments, &collection, &url, &records)?;
    if records[..=to]
        .iter()
        .filter(|record| is_version(record))
        .count()
        == 1
    {
        return Err(CommandError::nothing(format!(
            "{url} has only one version, of {} UTC",
            calendar::date_time(records[to].time)
        ))
        .hint("`aranha crawl` stores another one when the page is due and has changed"));
    }
    let read = |index: usize| -> Result<Page, CommandError> {
        let (_, stored) = collection.stored(&url, &records, index)?;
        let mut options = collection.config.page.clone();
        options.text = true;
        Ok(stored_page::parse_document(&stored, &options).0)
    };
    let (old, new) = (read(from)?, read(to)?);
    if old.text.is_empty() && new.text.is_empty() && records[from].digest != records[to].digest {
        return Err(CommandError::nothing(format!(
            "{url} has no text to compare ({})",
            records[to].media_type
        ))
        .hint("`aranha cat URL --at WHEN` prints the bytes of a version"));
    }
    let diff = word_diff::compare(&old.text, &new.text);
    let versions = (&records[from], &records[to]);
    show(arguments.output.json, &url, versions, &diff)
}

/// The indices of the two versions in `records`. Without `--from`, the older version is the last one whose text differs
/// from the newer version. If the text never changed, it is the first version.
fn choose(
    arguments: &Arguments,
    collection: &CollectionReader,
    url: &CanonUrl,
    records: &[PageRecord],
) -> Result<(usize, usize), CommandError> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from.ms() > to.ms()
    {
        return Err(CommandError::usage("--from is later than --to")
            .hint("give the older version with --from"));
    }
    let Some(first) = records.iter().position(is_version) else {
        return Err(
            CommandError::failed(format!("no content of {url} was stored")).hint(format!(
                "`aranha history {url} -c {}` lists all its fetches",
                collection.folder.display()
            )),
        );
    };
    let at = |when: Option<PointInTime>| {
        let in_time = |record: &PageRecord| when.is_none_or(|when| record.time <= when.ms());
        let index = records.iter().rposition(|r| is_version(r) && in_time(r));
        index.ok_or_else(|| collection.no_version(url, when, &records[first]))
    };
    let to = at(arguments.to)?;
    let from = if arguments.from.is_some() {
        at(arguments.from)?
    } else {
        let differs = |r: &PageRecord| is_version(r) && !same(r, &records[to]);
        records[..to].iter().rposition(differs).unwrap_or(first)
    };
    Ok((from, to))
}

fn same(one: &PageRecord, other: &PageRecord) -> bool {
    same_text(one, other) || (one.digest.is_some() && one.digest == other.digest)
}

fn show(
    json: bool,
    url: &CanonUrl,
    (from, to): (&PageRecord, &PageRecord),
    diff: &WordDiff,
) -> Result<ExitStatus, CommandError> {
    let mut output = Output::new();
    if json {
        output.json(&json!({
            "url": url.as_str(),
            "from": calendar::rfc3339(from.time), "to": calendar::rfc3339(to.time),
            "removed": diff.removed, "added": diff.added,
            "changes": diff.hunks.iter().map(hunk_json).collect::<Vec<_>>(),
        }))?;
    } else if diff.hunks.is_empty() {
        message(format_args!(
            "The text of {url} is the same at {} and {} UTC.",
            calendar::date_time(from.time),
            calendar::date_time(to.time)
        ));
    } else {
        let marks = Marks::new();
        output.line(format_args!("--- {} UTC", calendar::date_time(from.time)))?;
        output.line(format_args!("+++ {} UTC", calendar::date_time(to.time)))?;
        for hunk in &diff.hunks {
            output.line(hunk.line(marks.removed, marks.added))?;
        }
        output.line(format_args!(
            "{} removed, {} added",
            counted(diff.removed, "word"),
            counted(diff.added, "word")
        ))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn hunk_json(hunk: &Hunk) -> Value {
    let joined = |wanted: EditKind| {
        let texts = hunk.segments.iter().filter(|piece| piece.kind == wanted);
        let texts: Vec<_> = texts.map(|piece| piece.text.as_str()).collect();
        texts.join(" … ")
    };
    let pieces: Vec<_> = hunk
        .segments
        .iter()
        .map(|segment| json!({(segment.kind.name()): segment.text}))
        .collect();
    json!({"removed": joined(EditKind::Removed), "added": joined(EditKind::Added), "pieces": pieces})
}

/// Marks around removed and added words, coloured on a terminal.
struct Marks {
    removed: (&'static str, &'static str),
    added: (&'static str, &'static str),
}

impl Marks {
    fn new() -> Self {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let supported = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        if allowed && supported && std::io::stdout().is_terminal() {
            Self {
                removed: ("\u{1b}[31m[-", "-]\u{1b}[0m"),
                added: ("\u{1b}[32m{+", "+}\u{1b}[0m"),
            }
        } else {
            Self {
                removed: ("[-", "-]"),
                added: ("{+", "+}"),
            }
        }
    }
}
