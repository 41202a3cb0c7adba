//! `aranha cat`: a stored page, as it came.

use std::io::Write;

use clap::Args;

use crate::archived::{Archived, LARGEST};
use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::output;
use crate::when::At;

const EXAMPLES: &str = "\
Examples:
  aranha cat https://example.org/ -c example > page.html
  aranha cat https://example.org/ -c example --at 2026-11-01
  aranha cat --head https://example.org/ -c example
  aranha cat --raw https://example.org/logo.png.gz -c example | gunzip";

/// Print a stored page: its body, decoded
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
    /// The head of the answer as the server sent it, instead of the body
    #[arg(long)]
    head: bool,
    /// The body as it came over the wire, chunks and compression kept
    #[arg(long, conflicts_with = "head")]
    raw: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let archived = Archived::open(&arguments.collection)?;
    let (_, stored) = archived.page(
        &arguments.collection.folder,
        &arguments.url,
        arguments.at.moment,
    )?;
    let bytes = if arguments.head {
        stored.http_head().to_vec()
    } else if arguments.raw {
        stored.http_body().to_vec()
    } else {
        stored.body_decoded(LARGEST)
    };
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&bytes)
        .and_then(|()| stdout.flush())
        .map_err(|error| output::refused(&error))?;
    Ok(Status::Done)
}
