//! `aranha pages`: the pages of a collection, one per line.

use aranha_frontier::{Flags, Outcome, PageEntry, PageFilter};
use clap::Args;

use crate::collection_reader::CollectionReader;
use crate::error::{CommandError, ExitStatus};
use crate::fetch_json::FetchJson;
use crate::output::Output;
use crate::shared_args::{CollectionArg, JsonLinesArg, SiteArg};
use crate::terminal_escape::Escaped;
use aranha_units::calendar;

const EXAMPLES: &str = "\
Examples:
  aranha pages -c example
  aranha pages -c example --status 404
  aranha pages -c example --site www.example.org --history
  aranha pages -c example --json | jq -r 'select(.size > 1000000) | .url'

Columns, separated by tabs: HTTP status or error, bytes, media type, time, URL, and
\"truncated\" if only a part of the body was received and stored.";

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
    let json = FetchJson::new(&collection.folder);
    let mut failure = None;
    let filter = PageFilter {
        site: site.as_deref(),
        outcome: arguments.status.map(Outcome::Answer),
        all: arguments.history,
    };
    let show = |entry: PageEntry<'_>| {
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
