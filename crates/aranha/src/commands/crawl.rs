//! `aranha crawl`: start a crawl, or continue one.

use std::path::PathBuf;

use aranha_engine::Config;
use aranha_url::Canonicaliser;
use clap::Args;

use crate::display::Voice;
use crate::error::{CommandError, ExitStatus};
use crate::input;
use crate::session::{self, Session};
use crate::settings::{self, Settings};
use crate::shared_args::{CREATED_IF_MISSING, CollectionArg};

const EXAMPLES: &str = "\
Examples:
  aranha crawl https://example.org -c example --contact you@example.org
  aranha crawl -c example                           continue where it stopped; visit what is due again
  aranha crawl -c example --every day               stay, and come back every day
  aranha crawl -i seeds.txt -c national --tld pt --scope any --time 8h
  aranha crawl https://docs.example.org/guide/ --scope prefix --depth 3 --reject 'ext:zip'
  aranha crawl http://localhost:8000 --profile mysite --allow-private

Ctrl-C checks in and stops; the same command continues. Exit status: 0 finished or a limit
was reached, 3 stopped by a full disk, 130 interrupted.";

/// Start a crawl, or continue one
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Arguments {
    /// Where to begin; a collection that exists needs none
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A file with one seed a line, `-` for stdin (repeatable)
    #[arg(short = 'i', long = "seeds", value_name = "FILE")]
    pub(crate) seeds: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) collection: CollectionArg,
    /// Visit every page again now, whether it is due or not
    #[arg(long, help_heading = "Coming back")]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Progress and summary as JSON, one object a line on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress display; complaints only
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let file = arguments.collection.configuration();
    let (config, _) = settings::load(&arguments.settings.layers(file.clone()))?;
    let (lasting, origins) = settings::load(&arguments.settings.lasting().layers(file))?;
    let canon = Canonicaliser::new(config.url.clone());
    let mut texts: Vec<_> = input::named(&arguments.urls).collect();
    for file in &arguments.seeds {
        texts.extend(input::lines(file)?);
    }
    let seeds = session::seeds(&canon, texts)?;
    identify(&config)?;
    let session = Session {
        folder: &arguments.collection.folder,
        kept: lasting.show_own(&origins),
        config,
        seeds,
        again: arguments.again,
        voice: Voice::choose(arguments.json, arguments.quiet),
    };
    runtime()?.block_on(session.run())
}

/// Servers must know whom to write to (N9). Without a contact only private addresses are asked.
fn identify(config: &Config) -> Result<(), CommandError> {
    if config.crawl.contact.is_empty() && !config.fetch.allow_private {
        return Err(CommandError::usage(
            "a contact is needed before anything on the public web is asked for",
        )
        .hint("add --contact with a mail address or a web page of yours"));
    }
    Ok(())
}

/// The threads that visits run on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            CommandError::failed(format!("cannot start the threads of a crawl: {error}"))
        })
}
