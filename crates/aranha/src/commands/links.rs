//! `aranha links`: what a stored page links to, and what the crawl makes of each link.

use aranha_url::Base;
use clap::Args;
use serde_json::json;

use crate::archived::Archived;
use crate::collection::Collection;
use crate::commands::text;
use crate::complaint::{Complaint, Status};
use crate::output::Output;
use crate::plain::Plain;
use crate::when::At;

const EXAMPLES: &str = "\
Examples:
  aranha links https://example.org/ -c example
  aranha links https://example.org/ -c example --at 2026-11-01
  aranha links --assets https://example.org/ -c example
  aranha links --json https://example.org/ -c example | jq -r 'select(.nofollow) | .url'";

/// List the links of a stored page: kind, tab, canonical URL
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
    /// Also images, style sheets, scripts and the like
    #[arg(long)]
    assets: bool,
    /// One JSON object a link, with the link as written
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let (_, stored) = archived.page(
        &arguments.collection.folder,
        &arguments.url,
        arguments.at.moment,
    )?;
    let mut options = archived.config.page.clone();
    options.assets |= arguments.assets;
    let page = text::read(&stored, &options);
    let mut own = Base::of(&archived.url(stored.url().unwrap_or(&arguments.url))?);
    if page.media_type.is_html() {
        own = own.with_charset(page.charset);
    }
    let base = page
        .base
        .as_deref()
        .map_or_else(|| own.clone(), |href| own.with_href(href));
    let mut output = Output::new();
    for link in &page.links {
        let joined = archived.canon.join(&base, &link.href);
        if arguments.json {
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
                    Plain(&link.href),
                    Plain(&rejected.to_string())
                ))?,
            }
        }
    }
    output.finish()?;
    Ok(Status::Done)
}
