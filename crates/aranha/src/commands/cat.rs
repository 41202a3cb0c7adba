//! `aranha cat`: the body or head of a stored page.

use std::io::Write;

use aranha_volume::{ArchiveReader, VolumeError};
use clap::Args;

use crate::error::{CommandError, ExitStatus};
use crate::output;
use crate::shared_args::VersionArgs;
use crate::stored_page;

const EXAMPLES: &str = "\
Examples:
  aranha cat https://example.org/ -c example > page.html
  aranha cat https://example.org/ -c example --at 2026-11-01
  aranha cat --head https://example.org/ -c example
  aranha cat --raw https://example.org/logo.png.gz -c example | gunzip";

/// Print the decoded body of a stored page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    version: VersionArgs,
    /// Print the response head as received, instead of the body
    #[arg(long)]
    head: bool,
    /// Print the body as received, without undoing chunking and compression
    #[arg(long, conflicts_with = "head")]
    raw: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let (collection, _, stored) = stored_page::open(&arguments.version)?;
    let mut stdout = std::io::stdout().lock();
    let written = if arguments.head {
        stdout.write_all(&stored.http_head())
    } else {
        let fault = |error: VolumeError| CommandError::failed(error.to_string());
        let reader = ArchiveReader::open(&collection.folder).map_err(fault)?;
        let copied = reader.copy_body(&stored, arguments.raw, &mut stdout);
        copied.map_err(fault)?
    };
    written
        .and_then(|()| stdout.flush())
        .map_err(|error| output::write_error(&error))?;
    Ok(ExitStatus::Done)
}
