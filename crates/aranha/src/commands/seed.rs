//! `aranha seed`: adds seeds to a collection (M5), or lists them. A crawl fetches seeds before other pages (F6).

use std::path::PathBuf;
use std::time::Duration;

use aranha_engine::{Clock, Signal, Source};
use aranha_frontier::{Claim, FrontierError, Hop, Outside, Seed};
use aranha_units::duration;
use aranha_url::{CanonUrl, Canonicaliser, SiteKey};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::collection;
use crate::commands::seed_list;
use crate::display::grouped;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access::{self, Opened};
use crate::output::{Output, counted, message};
use crate::session::seed_settings::{self, Change, SettingsChange};
use crate::shared_args::{CREATED_IF_MISSING, CollectionArg, JsonObjectArg};
use crate::{input, session};

const EXAMPLES: &str = "\
Examples:
  aranha seed add https://example.org https://example.com -c example
  aranha seed import hosts.txt -c national
  zcat urls.gz | aranha seed import - -c national
  aranha seed add --now https://example.org/news -c example    fetch it again
  aranha seed add https://example.org --depth 2 --every 7d --max-every 30d -c national
  aranha seed list -c national
  aranha crawl -c national --contact you@example.org";

/// Add seeds to a collection, or list them
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Add URLs
    Add(Add),
    /// Add the URLs in a file, one per line
    Import(Import),
    /// List the seeds, and what became of each
    List(seed_list::Arguments),
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Add {
    /// URLs or host names
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    collection: CollectionArg,
    /// Fetch the URLs as soon as possible, even if they were fetched before; also works during a crawl
    #[arg(long)]
    now: bool,
    /// Maximum link depth of the pages of these sites (`none`: no limit; `default`: that of the crawl)
    #[arg(long, value_name = "N", value_parser = seed_settings::parse_depth)]
    depth: Option<Change<u16>>,
    /// Time from the first visit of a page of these sites to its second; `default` removes this setting
    #[arg(long, value_name = "TIME", value_parser = seed_settings::parse_interval)]
    every: Option<Change<Duration>>,
    /// Longest time between two visits of a page of these sites; `default` removes this setting
    #[arg(long, value_name = "TIME", value_parser = seed_settings::parse_interval)]
    max_every: Option<Change<Duration>>,
    #[command(flatten)]
    output: JsonObjectArg,
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Import {
    /// Files with one URL or host name per line, and settings behind it, such as `depth=2
    /// every=7d max_every=30d`; `-` is stdin, lines that begin with # are ignored
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    collection: CollectionArg,
    /// Skip invalid lines with a message, instead of rejecting the whole file
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    output: JsonObjectArg,
}

pub(crate) fn run(command: Command) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Add(add) => add_seeds(
            &add.collection,
            input::named(&add.urls).collect(),
            SeedOptions {
                now: add.now,
                change: Some(SettingsChange {
                    depth: add.depth.unwrap_or_default(),
                    every: add.every.unwrap_or_default(),
                    max_every: add.max_every.unwrap_or_default(),
                }),
                ..SeedOptions::default()
            },
            add.output.json,
        ),
        Command::List(list) => seed_list::run(&list),
        Command::Import(import) => {
            let mut texts = Vec::new();
            for file in &import.files {
                texts.extend(input::lines(file)?);
            }
            let options = SeedOptions {
                lenient: import.lenient,
                ..SeedOptions::default()
            };
            add_seeds(&import.collection, texts, options, import.output.json)
        }
    }
}

#[derive(Clone, Copy, Default)]
struct SeedOptions {
    /// Skip invalid lines.
    lenient: bool,
    /// Make the pages due immediately, even if they were fetched before.
    now: bool,
    /// The settings of all seeds. `None` if each line has its own settings after the URL.
    change: Option<SettingsChange>,
}

fn add_seeds(
    collection: &CollectionArg,
    texts: Vec<(String, String)>,
    options: SeedOptions,
    json: bool,
) -> Result<ExitStatus, CommandError> {
    let Opened { config, .. } = frontier_access::configuration(collection)?;
    let canon = Canonicaliser::new(config.url.clone());
    let mut urls = Vec::with_capacity(texts.len());
    let mut changes = Vec::new();
    let mut refused = 0_u64;
    for text in texts {
        let parsed = match options.change {
            Some(change) => session::parse_seeds(&canon, [text])
                .map(|urls| urls.into_iter().map(|url| (url, change)).collect()),
            None => session::parse_seed_lines(&canon, [text]),
        };
        match parsed {
            Ok(found) => {
                for (url, change) in found {
                    changes.push((url.site_key(), change));
                    urls.push(url);
                }
            }
            Err(error) if options.lenient => {
                refused += 1;
                error.print_skipped();
            }
            Err(error) => return Err(error),
        }
    }
    if urls.is_empty() {
        return Err(
            CommandError::usage("there are no seeds in the input").hint(
                "write one URL or host name per line; blank lines and lines that begin with # are ignored",
            ),
        );
    }
    warn_about_short_intervals(&changes, config.revisit.every);
    let now = Clock::new().now();
    if !config.frontier.url.is_set() {
        session::check_frontier(&collection.folder)?;
        collection::create(&collection.folder)?;
    }
    let mut frontier = match frontier_access::open_writer(collection, &config)? {
        Err(FrontierError::Locked { .. })
            if options.now && changes.iter().all(|(_, change)| change.is_empty()) =>
        {
            return signal_running_crawl(collection, &urls, now, json);
        }
        opened => opened?,
    };
    let seeds: Vec<_> = urls.iter().map(Seed::of).collect();
    let settings = seed_settings::store(frontier.as_mut(), now, &changes)?;
    let seeded = frontier.seed(now, &seeds)?;
    if options.now {
        let claims: Vec<_> = urls.iter().map(|url| claim(url, now)).collect();
        frontier
            .make_due(now, &seeds)
            .and_then(|()| frontier.claim(now, &claims, |_, _| 1.0))?;
    }
    let mut output = Output::new();
    if json {
        output.json(
            &json!({"added": seeded.added, "known": seeded.known, "refused": refused,
                            "settings": settings}),
        )?;
        output.finish()?;
    } else {
        message(format_args!(
            "{} added, {} already known, {} invalid",
            counted(seeded.added, "seed"),
            grouped(seeded.known),
            grouped(refused)
        ));
        if settings > 0 {
            message(format_args!(
                "settings changed for {}",
                counted(settings, "site")
            ));
        }
    }
    Ok(ExitStatus::Done)
}

/// Warns that a page cannot be visited more than once per round, if an interval is shorter than a round.
fn warn_about_short_intervals(changes: &[(SiteKey, SettingsChange)], round: Duration) {
    let intervals = changes
        .iter()
        .flat_map(|(_, change)| [change.every, change.max_every]);
    let shortest = intervals.filter_map(Change::value).min();
    if let Some(shortest) = shortest.filter(|shortest| *shortest < round) {
        message(format_args!(
            "note: an interval of {} is shorter than a round (revisit.every = {}); pages are visited once per round",
            duration::format(shortest),
            duration::format(round)
        ));
    }
}

/// The user's claim that the page has just changed. Its weight of 1.0 makes the page due immediately.
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

/// Writes the URLs to `signals.jsonl`, which a running crawl reads about once per second.
fn signal_running_crawl(
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
            .hint("you must be allowed to write to the collection")
    })?;
    if json {
        let mut output = Output::new();
        output.json(&json!({"signalled": urls.len(), "told": urls.len()}))?;
        output.finish()?;
    } else {
        message(format_args!(
            "{} passed to the running crawl",
            counted(urls.len() as u64, "URL")
        ));
    }
    Ok(ExitStatus::Done)
}
