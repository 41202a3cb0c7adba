//! `aranha text`: the readable text of a stored page.

use clap::Args;
use serde_json::json;

use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::shared_args::{JsonObjectArg, VersionArgs};
use crate::stored_page;
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha text https://example.org/ -c example
  aranha text https://example.org/ -c example --at \"2026-11-01 18:30\"
  aranha text --json https://example.org/ -c example | jq .title";

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
        ..collection.config.page
    };
    let page = stored_page::parse(&stored, &options);
    let mut output = Output::new();
    if arguments.output.json {
        output.json(&json!({
            "url": stored.url(), "status": record.outcome.status(), "type": page.media_type.as_str(),
            "charset": page.charset, "title": page.title, "description": page.description,
            "language": page.language, "text": page.text,
            "remarks": page.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?;
    } else {
        for line in page.text.lines() {
            output.line(Escaped(line))?;
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}
