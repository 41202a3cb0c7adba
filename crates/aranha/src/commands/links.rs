//! `aranha links`: the links of a stored page, with their canonical URLs.

use clap::Args;
use serde_json::json;

use crate::error::{CommandError, ExitStatus};
use crate::output::Output;
use crate::shared_args::{JsonLinesArg, VersionArgs};
use crate::stored_page::{self, LinkBases};
use crate::terminal_escape::Escaped;

const EXAMPLES: &str = "\
Examples:
  aranha links https://example.org/ -c example
  aranha links https://example.org/ -c example --at 2026-11-01
  aranha links --assets https://example.org/ -c example
  aranha links --json https://example.org/ -c example | jq -r .url

Columns, separated by tabs: kind of link, canonical URL. A link that is not a valid URL is printed as \
in the page, with the kind `-` and the reason in parentheses.";

/// List the links of a stored page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    version: VersionArgs,
    /// Include images, style sheets, scripts and other embedded resources
    #[arg(long)]
    assets: bool,
    #[command(flatten)]
    output: JsonLinesArg,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let (collection, record, stored) = stored_page::open(&arguments.version)?;
    let mut options = collection.config.page.clone();
    options.assets |= arguments.assets;
    let (page, _) = stored_page::parse_document(&stored, &options);
    let url = stored.url().unwrap_or(&arguments.version.page.url);
    let bases = LinkBases::new(&collection, &collection.url(url)?, &page, &record);
    let mut output = Output::new();
    for link in &page.links {
        let joined = collection.canon.join(bases.of(link), &link.href);
        if arguments.output.json {
            output.json(&json!({
                "kind": link.kind.name(), "href": link.href, "nofollow": link.nofollow,
                "url": joined.as_ref().ok().map(ToString::to_string),
                "rejected": joined.as_ref().err().map(ToString::to_string),
            }))?;
        } else {
            match joined {
                Ok(url) => output.line(format_args!("{}\t{url}", link.kind))?,
                Err(rejected) => output.line(format_args!(
                    "-\t{}\t({})",
                    Escaped(&link.href),
                    Escaped(&rejected.to_string())
                ))?,
            }
        }
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}
