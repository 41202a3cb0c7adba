//! `aranha text`: the readable text of a stored page.

use aranha_frontier::PageRecord;
use aranha_page::Page;
use clap::Args;
use serde_json::json;

use crate::collection_reader::CollectionReader;
use crate::documents::DocumentReading;
use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::shared_args::{JsonObjectArg, VersionArgs};
use crate::stored_page;
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha text https://example.org/ -c example
  aranha text https://example.org/ -c example --at \"2026-11-01 18:30\"
  aranha text --json https://example.org/ -c example | jq .title

Documents (PDF, Office, OpenDocument, RTF, EPUB, PostScript) are read in a process of their own. The exit status is 5 if the page \
has no text: an image, a redirect, an empty page, a document with a password.";

/// Print the readable text of a stored page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    version: VersionArgs,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let (collection, record, stored) = stored_page::open(&arguments.version)?;
    // Extract the text even if the configuration switches this off for crawls.
    let options = aranha_page::Options {
        text: true,
        identify_language: true,
        ..collection.config.page
    };
    let (page, document) = stored_page::parse_document(&stored, &options);
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({
            "url": stored.url(), "status": record.outcome.status(), "type": page.media_type.as_str(),
            "charset": page.charset, "title": page.title, "description": page.description,
            "language": page.language,
            "language_found": page.language_found.map(|found| found.code),
            "language_confidence": page.language_found.map(|found| found.confidence),
            "text": page.text,
            "document": document.as_ref().map(DocumentReading::json),
            "remarks": remarks(&page, document.as_ref()),
        }))?;
    } else if page.text.is_empty() {
        let url = &arguments.version.page.url;
        return Err(no_text(url, &record, document.as_ref(), &collection));
    } else {
        for line in page.text.lines() {
            output.line(Escaped(line))?;
        }
    }
    output.finish()?;
    Ok(if page.text.is_empty() {
        ExitStatus::Nothing
    } else {
        ExitStatus::Done
    })
}

fn remarks(page: &Page, document: Option<&DocumentReading>) -> Vec<String> {
    let of_page = page.remarks.iter().map(ToString::to_string);
    let of_document = document.map(|document| document.remarks.clone());
    of_page.chain(of_document.into_iter().flatten()).collect()
}

/// The error for a stored response without text: a redirect, an image, an empty page, a document with a password.
fn no_text(
    url: &str,
    record: &PageRecord,
    document: Option<&DocumentReading>,
    collection: &CollectionReader,
) -> CommandError {
    let folder = collection.folder.display();
    if let Some(target) = &record.redirect {
        return CommandError::nothing(format!("{url} has no text: it redirects to {target}"))
            .hint(format!("try `aranha text {target} -c {folder}`"));
    }
    let kind = match (record.size, record.media_type.as_str()) {
        _ if document.is_some() => document.map(DocumentReading::reason).unwrap_or_default(),
        (0, _) => "its body is empty".to_owned(),
        (_, "") => "its media type is unknown".to_owned(),
        (_, media_type) => format!("it is {media_type}"),
    };
    CommandError::nothing(format!("{url} has no text: {kind}"))
        .hint(format!("`aranha cat {url} -c {folder}` prints its bytes"))
}
