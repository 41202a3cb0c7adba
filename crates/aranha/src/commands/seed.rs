//! `aranha seed`: the seeder (M5), a tool of its own. Seeds come first in a crawl (F6).

use std::path::PathBuf;

use aranha_engine::config::Layers;
use aranha_engine::{Clock, Signal, Source};
use aranha_frontier::{Claim, Embedded, Frontier, FrontierError, Hop, Outside, Seed};
use aranha_url::{CanonUrl, Canonicaliser};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::collection;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::output::{Output, counted, message};
use crate::shared_args::{CREATED_IF_MISSING, CollectionArg};
use crate::{input, session, settings};

const EXAMPLES: &str = "\
Examples:
  aranha seed add https://example.org https://example.com -c example
  aranha seed import hosts.txt -c national
  zcat urls.gz | aranha seed import - -c national
  aranha seed add --now https://example.org/news -c example   also while it is crawled, and though it is known
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
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Add {
    /// Where to begin
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    collection: CollectionArg,
    /// Visit them as soon as courtesy allows, known pages too; a crawl that runs takes them up at once
    #[arg(long)]
    now: bool,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Import {
    /// One URL or host name a line, `-` for stdin; lines that begin with # are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    collection: CollectionArg,
    /// Leave out lines that are no URL, and say so, instead of refusing the whole file
    #[arg(long)]
    lenient: bool,
    /// The counts as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Add(add) => plant(
            &add.collection,
            input::named(&add.urls).collect(),
            How {
                now: add.now,
                ..How::default()
            },
            add.json,
        ),
        Command::Import(import) => {
            let mut texts = Vec::new();
            for file in &import.files {
                texts.extend(input::lines(file)?);
            }
            let how = How {
                lenient: import.lenient,
                ..How::default()
            };
            plant(&import.collection, texts, how, import.json)
        }
    }
}

/// How seeds are taken.
#[derive(Clone, Copy, Default)]
struct How {
    /// Lines that are no URL are left out.
    lenient: bool,
    /// They are due at once.
    now: bool,
}

fn plant(
    collection: &CollectionArg,
    texts: Vec<(String, String)>,
    how: How,
    json: bool,
) -> Result<ExitStatus, CommandError> {
    let files = collection.configuration().into_iter().collect();
    let (config, _) = settings::load(&Layers {
        files,
        ..Layers::default()
    })?;
    let canon = Canonicaliser::new(config.url.clone());
    let mut urls = Vec::with_capacity(texts.len());
    let mut refused = 0_u64;
    for text in texts {
        match session::parse_seeds(&canon, [text]) {
            Ok(found) => urls.extend(found),
            Err(error) if how.lenient => {
                refused += 1;
                error.print_skipped();
            }
            Err(error) => return Err(error),
        }
    }
    if urls.is_empty() {
        return Err(
            CommandError::usage("there is no URL in what was given: no seed to add").hint(
                "one URL or host name a line; blank lines and lines that begin with # are left out",
            ),
        );
    }
    session::check_frontier(&collection.folder)?;
    collection::create(&collection.folder)?;
    let now = Clock::new().now();
    let mut frontier = match Embedded::open(&collection.folder, config.frontier) {
        Err(FrontierError::Locked { .. }) if how.now => {
            return tell_the_crawl(collection, &urls, now, json);
        }
        opened => opened?,
    };
    let seeds: Vec<_> = urls.iter().map(Seed::of).collect();
    let seeded = frontier.seed(now, &seeds)?;
    if how.now {
        let claims: Vec<_> = urls.iter().map(|url| claim(url, now)).collect();
        frontier
            .make_due(now, &seeds)
            .and_then(|()| frontier.claim(now, &claims, |_, _| 1.0))?;
    }
    let mut output = Output::new();
    if json {
        output.json(&json!({"added": seeded.added, "known": seeded.known, "refused": refused}))?;
        output.finish()?;
    } else {
        message(format_args!(
            "{} added, {} known before, {} refused",
            counted(seeded.added, "seed"),
            grouped(seeded.known),
            grouped(refused)
        ));
    }
    Ok(ExitStatus::Done)
}

/// The page is due now: the user says so.
fn claim(url: &CanonUrl, now: i64) -> (Outside, Claim) {
    let claim = Claim {
        key: url.path_key(),
        at: now,
        source: Source::User as u8,
        weight: 1.0,
        gap: 0,
    };
    (Outside::of(url, 0, Hop::Seed, ""), claim)
}

/// A crawl holds the collection: it takes the URLs up within a second or so.
fn tell_the_crawl(
    collection: &CollectionArg,
    urls: &[CanonUrl],
    now: i64,
    json: bool,
) -> Result<ExitStatus, CommandError> {
    let signals: Vec<_> = urls
        .iter()
        .map(|url| Signal {
            url: url.as_str().to_owned(),
            source: Source::User,
            at: now,
        })
        .collect();
    let path = aranha_engine::Collection::at(&collection.folder).signals();
    aranha_engine::signal(&path, &signals).map_err(|error| {
        CommandError::failed(format!("cannot write {}: {error}", path.display()))
            .hint("the collection must be yours to write to")
    })?;
    if json {
        let mut output = Output::new();
        output.json(&json!({"signalled": urls.len(), "told": urls.len()}))?;
        output.finish()?;
    } else {
        message(format_args!(
            "the crawl that runs was told of {}",
            counted(urls.len() as u64, "URL")
        ));
    }
    Ok(ExitStatus::Done)
}
