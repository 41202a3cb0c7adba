//! `aranha seed`: the seeder (M5), a tool of its own. Seeds come first in a crawl (F6).

use std::path::PathBuf;

use aranha_engine::config::Layers;
use aranha_engine::{Clock, Config};
use aranha_frontier::{Embedded, Frontier, Seed};
use aranha_url::Canonicaliser;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::collection::{self, Collection, MADE};
use crate::complaint::{Complaint, Status};
use crate::display::grouped;
use crate::output::{Output, counted, tell};
use crate::{input, session};

const EXAMPLES: &str = "\
Examples:
  aranha seed add https://example.org https://example.com -c example
  aranha seed import hosts.txt -c national
  zcat urls.gz | aranha seed import - -c national
  aranha crawl -c national --contact you@example.org        then crawls them";

/// Add places to begin to a collection, which is made when it does not exist
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Add the URLs given
    Add(Add),
    /// Add the URLs in a file, one a line
    Import(Import),
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(MADE)))]
pub(crate) struct Add {
    /// Where to begin
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    collection: Collection,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(MADE)))]
pub(crate) struct Import {
    /// One URL or host name a line, `-` for stdin; lines that begin with # are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    collection: Collection,
    /// Leave out lines that are no URL, and say so, instead of refusing the whole file
    #[arg(long)]
    lenient: bool,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command) -> Result<Status, Complaint> {
    match command {
        Command::Add(add) => plant(
            &add.collection,
            input::named(&add.urls).collect(),
            false,
            add.json,
        ),
        Command::Import(import) => {
            let mut texts = Vec::new();
            for file in &import.files {
                texts.extend(input::lines(file)?);
            }
            plant(&import.collection, texts, import.lenient, import.json)
        }
    }
}

fn plant(
    collection: &Collection,
    texts: Vec<(String, String)>,
    lenient: bool,
    json: bool,
) -> Result<Status, Complaint> {
    let files = collection.configuration().into_iter().collect();
    let (config, _) = Config::load(&Layers {
        files,
        ..Layers::default()
    })?;
    let canon = Canonicaliser::new(config.url.clone());
    let mut seeds = Vec::with_capacity(texts.len());
    let mut refused = 0_u64;
    for text in texts {
        match session::seeds(&canon, [text]) {
            Ok(found) => seeds.extend(found.iter().map(Seed::of)),
            Err(complaint) if lenient => {
                refused += 1;
                complaint.mention();
            }
            Err(complaint) => return Err(complaint),
        }
    }
    if seeds.is_empty() {
        return Err(
            Complaint::usage("there is no URL in what was given: no seed to add").hint(
                "one URL or host name a line; blank lines and lines that begin with # are left out",
            ),
        );
    }
    collection::create(&collection.folder)?;
    let mut frontier = Embedded::open(&collection.folder, config.frontier)
        .map_err(|error| session::refused(&error))?;
    let seeded = frontier
        .seed(Clock::new().now(), &seeds)
        .map_err(|error| session::refused(&error))?;
    let mut output = Output::new();
    if json {
        output.json(&json!({"added": seeded.added, "known": seeded.known, "refused": refused}))?;
        output.finish()?;
    } else {
        tell(format_args!(
            "{} added, {} known before, {} refused",
            counted(seeded.added, "seed"),
            grouped(seeded.known),
            grouped(refused)
        ));
    }
    Ok(Status::Done)
}
