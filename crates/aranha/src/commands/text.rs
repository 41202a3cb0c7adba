//! `aranha text`: the readable text of a stored page.

use aranha_page::{Input, Page};
use aranha_volume::WarcRecord;
use clap::Args;
use serde_json::json;

use crate::archived::{Archived, LARGEST};
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::output::Output;
use crate::plain::Plain;
use crate::when::At;

const EXAMPLES: &str = "\
Examples:
  aranha text https://example.org/ -c example
  aranha text https://example.org/ -c example --at \"2026-11-01 18:30\"
  aranha text --json https://example.org/ -c example | jq .title";

/// Print the readable text of a stored page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The page
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    collection: Collection,
    #[command(flatten)]
    at: At,
    /// Title, description, language, type and text as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let (record, stored) = archived.page(
        &arguments.collection.folder,
        &arguments.url,
        arguments.at.moment,
    )?;
    // The crawl may have had no use for the text; whoever asks for it now has.
    let options = aranha_page::Options {
        text: true,
        ..archived.config.page
    };
    let page = read(&stored, &options);
    let mut output = Output::new();
    if arguments.json {
        output.json(&json!({
            "url": stored.url(), "status": record.outcome.status(), "type": page.media_type.as_str(),
            "charset": page.charset, "title": page.title, "description": page.description,
            "language": page.language, "text": page.text,
            "remarks": page.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?;
    } else {
        for line in page.text.lines() {
            output.line(Plain(line))?;
        }
    }
    output.finish()?;
    Ok(Status::Done)
}

/// Reads a stored answer again.
pub(super) fn read(stored: &WarcRecord, options: &aranha_page::Options) -> Page {
    let body = stored.body_decoded(LARGEST);
    let content_type = stored.http_header("content-type");
    let content_language = stored.http_header("content-language");
    let input = Input {
        url: stored.url().unwrap_or_default(),
        content_type: content_type.as_deref(),
        body: &body,
        content_language: content_language.as_deref(),
    };
    aranha_page::read(&input, options)
}
