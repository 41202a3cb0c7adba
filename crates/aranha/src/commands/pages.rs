//! `aranha pages`: the pages of a collection, one per line.

use aranha_frontier::{Flags, Outcome, PageEntry, PageFilter, PageRecord};
use clap::Args;
use data_encoding::BASE32;
use serde_json::{Value, json};

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::shared_args::{CollectionArg, JsonLinesArg, SiteArg};
use crate::terminal_escape::Escaped;
use aranha_units::calendar;

const EXAMPLES: &str = "\
Examples:
  aranha pages -c example
  aranha pages -c example --status 404
  aranha pages -c example --site www.example.org --history
  aranha pages -c example --json | jq -r 'select(.type == \"application/pdf\") | .url'

Columns, separated by tabs: HTTP status or error, bytes, media type, time, URL.";

/// List the pages that were fetched or refused; also works during a crawl
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: CollectionArg,
    #[command(flatten)]
    site: SiteArg,
    /// Only pages with this HTTP status
    #[arg(long, value_name = "CODE")]
    status: Option<u16>,
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
    let mut failure = None;
    let filter = PageFilter {
        site: site.as_deref(),
        outcome: arguments.status.map(Outcome::Answer),
        all: arguments.history,
    };
    let show = |entry: PageEntry<'_>| {
        let (url, record) = (entry.url(), entry.record);
        let shown = if arguments.output.json {
            output.json(&json(&url, record))
        } else {
            output.line(format_args!(
                "{}\t{}\t{}\t{}\t{}",
                record.outcome,
                record.size,
                Escaped(&record.media_type),
                calendar::rfc3339(record.time),
                Escaped(&url)
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

/// A fetch record as JSON.
pub(super) fn json(url: &str, record: &PageRecord) -> Value {
    let place = record.location.map(
        |place| json!({"volume": u64::from(place.volume), "offset": place.offset, "length": place.length}),
    );
    json!({
        "url": url,
        "status": record.outcome.status(),
        "outcome": record.outcome.to_string(),
        "time": calendar::rfc3339(record.time),
        "milliseconds": record.duration_ms,
        "type": record.media_type,
        "size": record.size,
        "digest": record.digest.map(|digest| format!("sha1:{}", BASE32.encode(&digest))),
        "text_digest": format!("{:016x}", record.text_digest),
        "depth": record.depth,
        "via": record.via,
        "hop": record.hop.letter(),
        "redirect": record.redirect,
        "duplicate": record.revisit,
        "truncated": record.flags.has(Flags::TRUNCATED),
        "noindex": record.flags.has(Flags::NOINDEX),
        "nofollow": record.flags.has(Flags::NOFOLLOW),
        "tries": record.tries,
        "next": record.next.map(calendar::rfc3339),
        "archive": place,
    })
}
