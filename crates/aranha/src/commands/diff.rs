//! `aranha diff`: the words that came and went between two versions of a page.

use std::io::IsTerminal;

use aranha_frontier::PageRecord;
use aranha_page::Page;
use aranha_units::calendar;
use aranha_url::CanonUrl;
use clap::Args;
use serde_json::{Value, json};

use crate::archived::{self, Archived};
use crate::collection::Collection;
use crate::commands::text;
use crate::complaint::{Complaint, Status};
use crate::history::{is_version, same_text};
use crate::output::{Output, counted, tell};
use crate::when::When;
use crate::words::{self, Difference, Fate, Hunk};

const EXAMPLES: &str = "\
Examples:
  aranha diff https://example.org/ -c example
  aranha diff https://example.org/ -c example --from 2026-11-01 --to \"2026-11-05 18:30\"
  aranha diff https://example.org/ -c example --json | jq -r '.changes[].added'

A line for every place that differs: [-words that went-]{+words that came+} with a few words around them. WHEN is a day
(to its end), a day and a time in UTC, or RFC 3339; the version is the one that was current then.";

/// Show the words added and removed between two versions of a page, by default the last two texts
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The page
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    collection: Collection,
    /// The older version; by default the last one with another text
    #[arg(long, value_name = "WHEN")]
    from: Option<When>,
    /// The newer version; by default the newest
    #[arg(long, value_name = "WHEN")]
    to: Option<When>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let (url, records) = archived.records(&arguments.collection.folder, &arguments.url)?;
    let (from, to) = choose(arguments, &url, &records)?;
    let read = |index: usize| -> Result<Page, Complaint> {
        let folder = &arguments.collection.folder;
        let (_, stored) = archived::bytes(folder, &url, &records, index)?;
        let mut options = archived.config.page.clone();
        options.text = true;
        Ok(text::read(&stored, &options))
    };
    let (old, new) = (read(from)?, read(to)?);
    if old.text.is_empty() && new.text.is_empty() && records[from].digest != records[to].digest {
        return Err(Complaint::failed(format!(
            "{url} has no text to compare ({})",
            records[to].media_type
        ))
        .hint("`aranha cat URL --at WHEN` prints the bytes of a version"));
    }
    let difference = words::compare(&old.text, &new.text);
    show(arguments, &url, (&records[from], &records[to]), &difference)
}

/// The places of the two versions in `records`.
fn choose(
    arguments: &Arguments,
    url: &CanonUrl,
    records: &[PageRecord],
) -> Result<(usize, usize), Complaint> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from.ms() > to.ms()
    {
        return Err(Complaint::usage("--from is later than --to").hint("name the older one first"));
    }
    let folder = &arguments.collection.folder;
    let Some(first) = records.iter().find(|record| is_version(record)) else {
        return Err(
            Complaint::failed(format!("{url} has brought no content yet")).hint(format!(
                "`aranha history {url} -c {}` lists what came instead",
                folder.display()
            )),
        );
    };
    let at = |when: Option<When>| {
        let known = |record: &PageRecord| when.is_none_or(|when| record.time <= when.ms());
        let place = records.iter().rposition(|r| is_version(r) && known(r));
        place.ok_or_else(|| archived::too_early(url, folder, when, first))
    };
    let to = at(arguments.to)?;
    let from = if arguments.from.is_some() {
        at(arguments.from)?
    } else {
        let other = |r: &PageRecord| is_version(r) && !same(r, &records[to]);
        records[..to].iter().rposition(other).unwrap_or(to)
    };
    Ok((from, to))
}

fn same(one: &PageRecord, other: &PageRecord) -> bool {
    same_text(one, other) || (one.digest.is_some() && one.digest == other.digest)
}

fn show(
    arguments: &Arguments,
    url: &CanonUrl,
    (from, to): (&PageRecord, &PageRecord),
    difference: &Difference,
) -> Result<Status, Complaint> {
    let mut output = Output::new();
    if arguments.json {
        output.json(&json!({
            "url": url.as_str(),
            "from": calendar::rfc3339(from.time), "to": calendar::rfc3339(to.time),
            "removed": difference.removed, "added": difference.added,
            "changes": difference.hunks.iter().map(json).collect::<Vec<_>>(),
        }))?;
    } else if difference.hunks.is_empty() {
        tell(format_args!(
            "The text of {url} is the same on {} and {} UTC.",
            calendar::date_time(from.time),
            calendar::date_time(to.time)
        ));
    } else {
        let paint = Paint::new();
        output.line(format_args!("--- {} UTC", calendar::date_time(from.time)))?;
        output.line(format_args!("+++ {} UTC", calendar::date_time(to.time)))?;
        for hunk in &difference.hunks {
            output.line(hunk.line(paint.removed, paint.added))?;
        }
        output.line(format_args!(
            "{} removed, {} added",
            counted(difference.removed, "word"),
            counted(difference.added, "word")
        ))?;
    }
    output.finish()?;
    Ok(Status::Done)
}

/// `kept`, `removed` and `added` in the order of the text.
fn json(hunk: &Hunk) -> Value {
    let of = |wanted: Fate| {
        let texts = hunk.pieces.iter().filter(|piece| piece.fate == wanted);
        let texts: Vec<_> = texts.map(|piece| piece.text.as_str()).collect();
        texts.join(" … ")
    };
    let pieces: Vec<_> = hunk
        .pieces
        .iter()
        .map(|piece| json!({(name(piece.fate)): piece.text}))
        .collect();
    json!({"removed": of(Fate::Removed), "added": of(Fate::Added), "pieces": pieces})
}

fn name(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Removed => "removed",
        Fate::Added => "added",
    }
}

/// Marks around words, and colours where a terminal shows them.
struct Paint {
    removed: (&'static str, &'static str),
    added: (&'static str, &'static str),
}

impl Paint {
    fn new() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        if wanted && able && std::io::stdout().is_terminal() {
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
