//! `aranha crawl`: start a crawl, or continue one.

use std::path::{Path, PathBuf};

use aranha_engine::config::{Origin, Origins, ProxySetting, Secrets};
use aranha_engine::{Config, Role};
use aranha_frontier::View;
use aranha_url::Canonicaliser;
use clap::Args;

use crate::display::OutputMode;
use crate::error::{CommandError, ExitStatus};
use crate::frontier_access;
use crate::input;
use crate::session::{self, Again, Session};
use crate::settings::{self, Settings};
use crate::shared_args::{CREATED_IF_MISSING, CollectionArg};

const EXAMPLES: &str = "\
Examples:
  aranha crawl https://example.org -c example --contact you@example.org
  aranha crawl -c example                continue; revisit the pages that are due
  aranha crawl -c example --every day    keep running, and revisit pages daily
  aranha crawl -i seeds.txt -c national --tld pt --scope any --time 8h
  aranha crawl https://example.org/guide/ --scope prefix --reject 'ext:zip'
  aranha crawl http://localhost:8000 --profile mysite --allow-private
  aranha crawl -i seeds.txt -c lead --frontier postgres://crawl@db.example.org/national --scope any --tld pt

With --frontier, other machines can join the crawl (aranha node). This process ends when the whole crawl has nothing \
left to do. Limits such as --pages, --time and --size apply to this process only.

Ctrl-C saves the state and stops the crawl; the same command continues it. Exit status: 0 if the crawl \
finished or reached a limit, 3 if a full disk or an unusable proxy stopped it, 4 if no seed could be fetched, 130 if it was \
interrupted.";

/// Start a crawl, or continue one
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("folder", |folder| folder.help(CREATED_IF_MISSING)))]
pub(crate) struct Arguments {
    /// Seeds; optional if the collection exists
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// Read seeds from a file, one per line; `-` is stdin (repeatable)
    #[arg(short = 'i', long = "seeds", value_name = "FILE")]
    pub(crate) seeds: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) collection: CollectionArg,
    /// Request every page now, including pages that are not due, pages that failed, and pages of sites that wait for a retry
    #[arg(long, help_heading = "Revisits")]
    pub(crate) again: bool,
    /// Like --again, but with unconditional requests: the server sends every page in full
    #[arg(long, help_heading = "Revisits")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Print progress and result as JSON, one object per line on stdout (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only, no progress
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitStatus, CommandError> {
    let file = arguments.collection.configuration();
    let LoadedSettings {
        config,
        origins: sources,
        lasting,
        shared,
        secret_keys,
        view,
        ..
    } = load_settings(&arguments.settings, &arguments.collection)?;
    let changed_config = match file {
        Some(file) if arguments.settings.has_filters() => add_filters(&file, &arguments.settings)?,
        _ => None,
    };
    let canon = Canonicaliser::new(config.url.clone());
    let mut seeds = session::parse_seeds(&canon, input::named(&arguments.urls))?;
    let mut seed_settings = Vec::new();
    for file in &arguments.seeds {
        for (seed, change) in session::parse_seed_lines(&canon, input::lines(file)?)? {
            seed_settings.push((seed.site_key(), change));
            seeds.push(seed);
        }
    }
    session::check_private(&config, &seeds)?;
    check_config(&config)?;
    let mode = OutputMode::choose(arguments.json, arguments.quiet);
    print_proxies(&config, &sources, mode);
    let session = Session {
        command: "crawl",
        folder: &arguments.collection.folder,
        role: Role::Crawl,
        saved_config: lasting,
        shared_config: config.frontier.url.is_set().then_some(shared),
        secret_keys,
        changed_config,
        has_crawl: view.is_some(),
        config,
        seeds,
        seed_settings,
        again: again(arguments),
        mode,
    };
    run_session(session)
}

/// Runs a session in a runtime of its own.
pub(crate) fn run_session(session: Session<'_>) -> Result<ExitStatus, CommandError> {
    let runtime = runtime()?;
    let result = runtime.block_on(session.run());
    // Page readers that never return must not delay the end.
    runtime.shutdown_background();
    result
}

/// The settings of a process that crawls.
pub(crate) struct LoadedSettings {
    pub(crate) config: Config,
    origins: Origins,
    /// The text of `aranha.toml` in a new collection.
    lasting: String,
    /// The text of `aranha.toml` in the folder of a new node, without the settings that come from the frontier.
    pub(crate) node_settings: String,
    /// The text of the settings that all nodes share.
    shared: String,
    /// Keys whose secrets are not stored.
    pub(crate) secret_keys: Vec<String>,
    /// A view of the frontier, if the frontier is shared and has tables.
    pub(crate) view: Option<View>,
}

/// Reads all layers of the settings.
pub(crate) fn load_settings(
    settings: &Settings,
    collection: &CollectionArg,
) -> Result<LoadedSettings, CommandError> {
    let file = collection.configuration();
    let settings = settings.with_frontier_of(collection);
    let mut layers = settings.layers(file.clone());
    let view = frontier_access::add_shared_settings(&mut layers, collection)?;
    let (config, origins) = settings::load(&layers)?;
    let mut lasting_layers = settings.lasting().layers(file);
    let (node, node_origins) = settings::load(&lasting_layers)?;
    lasting_layers.shared = layers.shared;
    let (lasting, lasting_origins) = settings::load(&lasting_layers)?;
    let mut secret_keys = lasting.secret_keys(&lasting_origins);
    if lasting.frontier.url.has_password() {
        secret_keys.push("frontier.url".to_owned());
    }
    Ok(LoadedSettings {
        config,
        origins,
        lasting: lasting.show_own(&lasting_origins),
        node_settings: node.show_own(&node_origins),
        shared: lasting.show_shared(&lasting_origins),
        secret_keys,
        view,
    })
}

/// Checks the configuration before a process crawls.
pub(crate) fn check_config(config: &Config) -> Result<(), CommandError> {
    require_contact(config)?;
    check_source_addresses(config)?;
    let secrets = Secrets::load(&config.fetch);
    secrets.map(drop).map_err(|problem| {
        CommandError::usage(problem)
            .hint("see \"Headers, logins and cookies\" in docs/configuration.md")
    })
}

fn again(arguments: &Arguments) -> Option<Again> {
    match (arguments.full, arguments.again) {
        (true, _) => Some(Again::Full),
        (false, true) => Some(Again::Conditional),
        (false, false) => None,
    }
}

/// The text of the collection's configuration file `file` with the filters of the command line added; `None` if the
/// file already has them.
fn add_filters(file: &Path, settings: &Settings) -> Result<Option<String>, CommandError> {
    let (config, _) = settings::load(&settings.filters_only().layers(Some(file.to_owned())))?;
    let text = std::fs::read_to_string(file).map_err(|error| {
        CommandError::failed(format!("cannot read {}: {error}", file.display()))
    })?;
    let changed = config.with_filters(&text).ok_or_else(|| {
        CommandError::usage(format!("cannot add the filters to {}", file.display())).hint(
            "write them into the section [crawl] of that file, and omit --accept, --reject and --keep",
        )
    })?;
    Ok(Some(changed).filter(|changed| *changed != text))
}

/// Refuses source addresses that this machine does not have.
fn check_source_addresses(config: &Config) -> Result<(), CommandError> {
    for address in &config.fetch.source_addresses {
        std::net::UdpSocket::bind((*address, 0)).map_err(|error| {
            CommandError::usage(format!(
                "fetch.source_addresses: cannot use {address}: {error}"
            ))
            .hint("name addresses of this machine; `ip address` lists them")
        })?;
    }
    Ok(())
}

/// Prints the proxies that are used because environment variables name them.
fn print_proxies(config: &Config, origins: &Origins, mode: OutputMode) {
    let fetch = &config.fetch;
    let both = fetch.https_proxy == ProxySetting::Unset;
    for (key, proxy, requests) in [
        (
            "fetch.proxy",
            &fetch.proxy,
            if both {
                "requests"
            } else {
                "requests for http URLs"
            },
        ),
        (
            "fetch.https_proxy",
            &fetch.https_proxy,
            "requests for https URLs",
        ),
    ] {
        if let (Origin::Variable(name), ProxySetting::Url(url)) = (origins.of(key), proxy) {
            mode.message(&format!(
                "note: {requests} go through the proxy {url} (environment variable {name}); --proxy none connects directly"
            ));
        }
    }
}

/// Requires a contact, which is sent with every request (N9). With `--allow-private` the contact is optional.
fn require_contact(config: &Config) -> Result<(), CommandError> {
    if config.crawl.contact.is_empty() && !config.fetch.allow_private {
        return Err(
            CommandError::usage("a crawl of the public web needs a contact")
                .hint("add --contact with your mail address or a web page about the crawl"),
        );
    }
    Ok(())
}

/// The tokio runtime of a crawl: one worker thread per core, and one more, because one worker thread never reads pages
/// (docs/decisions/0012-faults.md).
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores + 1)
        .enable_all()
        .build()
        .map_err(|error| CommandError::failed(format!("cannot start the worker threads: {error}")))
}
