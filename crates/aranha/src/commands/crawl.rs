//! `aranha crawl`: start a crawl, or continue one.

use std::path::PathBuf;

use clap::Args;

use crate::collection::Collection;
use crate::complaint::{Complaint, Status};
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  aranha crawl https://example.org -c example --contact you@example.org
  aranha crawl -c example                           continue where it stopped
  aranha crawl -i seeds.txt -c national --tld pt --scope any --time 8h
  aranha crawl https://docs.example.org/guide/ --scope prefix --depth 3 --reject 'ext:zip'
  aranha crawl http://localhost:8000 --profile mysite --allow-private

Ctrl-C checks in and stops; the same command continues. Exit status: 0 finished or a limit
was reached, 3 stopped by a full disk or failing DNS, 130 interrupted.";

/// Start a crawl, or continue one
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to begin; a collection that exists needs none
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A file with one seed a line, `-` for stdin (repeatable)
    #[arg(short = 'i', long = "seeds", value_name = "FILE")]
    pub(crate) seeds: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) collection: Collection,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Progress and summary as JSON, one object a line on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress display; complaints only
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Status, Complaint> {
    let layers = arguments
        .settings
        .layers(arguments.collection.configuration());
    aranha_engine::Config::load(&layers)?;
    Err(Complaint::failed("not built yet"))
}
