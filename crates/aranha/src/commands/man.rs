//! `aranha man`: man pages, generated from the flag definitions.

use std::path::PathBuf;

use clap::Args;
use clap_mangen::generate_to;

use crate::arguments;
use crate::error::{CommandError, ExitStatus};

const EXAMPLES: &str = "\
Examples:
  aranha man ~/.local/share/man/man1       then: man aranha, man aranha-crawl";

/// Write man pages, one file per command
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Folder to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| generate_to(arguments::definition(), folder))
        .map_err(|error| {
            let hint = "name a folder, existing or not, that you are allowed to write to";
            CommandError::cannot_write(folder, &error, hint)
        })?;
    Ok(ExitStatus::Done)
}
