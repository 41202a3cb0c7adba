//! `aranha pages`: the pages of a collection, one a line.

use aranha_frontier::{Flags, Outcome, PageEntry, PageFilter, PageRecord};
use aranha_units::calendar;
use clap::Args;
use data_encoding::BASE32;
use serde_json::{Value, json};

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::output::Output;
use crate::plain::Plain;
use crate::session;

const EXAMPLES: &str = "\
Examples:
  aranha pages -c example
  aranha pages -c example --status 404
  aranha pages -c example --site www.example.org --history
  aranha pages -c example --json | jq -r 'select(.type == \"application/pdf\") | .url'

Columns, separated by tabs: status (or what came instead), bytes, media type, time, URL.";

/// List the pages that were fetched or refused; works while a crawl runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    collection: Collection,
    /// Only pages of this site
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    /// Only pages with this status
    #[arg(long, value_name = "CODE")]
    status: Option<u16>,
    /// Every fetch of every page, not only the newest
    #[arg(long)]
    history: bool,
    /// One JSON object a page
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let site = match &arguments.site {
        Some(host) => Some(archived.url(host)?.site().to_owned()),
        None => None,
    };
    let mut output = Output::new();
    let mut complaint = None;
    let filter = PageFilter {
        site: site.as_deref(),
        outcome: arguments.status.map(Outcome::Answer),
        all: arguments.history,
    };
    let show = |entry: PageEntry<'_>| {
        let (url, record) = (entry.url(), entry.record);
        let shown = if arguments.json {
            output.json(&json(&url, record))
        } else {
            output.line(format_args!(
                "{}\t{}\t{}\t{}\t{}",
                record.outcome,
                record.size,
                Plain(&record.media_type),
                calendar::rfc3339(record.time),
                Plain(&url)
            ))
        };
        complaint = shown.err();
        complaint.is_none()
    };
    archived
        .view
        .pages(&filter, show)
        .map_err(|error| session::refused(&error))?;
    if let Some(complaint) = complaint {
        return Err(complaint);
    }
    output.finish()?;
    Ok(Status::Done)
}

/// A page for programs.
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
