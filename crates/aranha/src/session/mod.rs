//! One crawl from opening the collection to the exit status, shared by `crawl` and `demo`.
//!
//! * `seeds` reads the seeds that a user typed.
//! * `preconditions` refuses a folder with an archive but without a frontier, and raises the limit of open files.
//! * `seed_settings` reads the settings of seeds, and stores them.
//! * `stop_signals` stops the crawl cleanly on Ctrl-C, SIGTERM and SIGHUP.
//! * `errors` turns errors of the frontier and the engine into messages for people.
//!
//! The configuration, the seeds and the state of the folder are checked before the first file is created. What can only
//! be found by opening the parts of the collection (another crawl holds the lock, a file is damaged) ends the crawl
//! after that, but before the first request.

mod errors;
mod preconditions;
pub(crate) mod seed_settings;
mod seeds;
mod stop_signals;

use std::path::Path;

use aranha_engine::config::RobotsPolicy;
use aranha_engine::{Clock, Collection, Config, Node, Reason, Source, Stop, Summary, Tally};
use aranha_frontier::{Embedded, Frontier, Seed, VisitOrder};
use aranha_units::calendar;
use aranha_url::{CanonUrl, SiteKey};

use crate::display::{self, OutputMode};
use crate::error::{CommandError, ExitStatus};
use crate::output::message;
use crate::{collection, logging};

use preconditions::PROXY_HINT;
use seed_settings::SettingsChange;

pub(crate) use errors::frontier_error;
pub(crate) use preconditions::{
    check_frontier, has_frontier, raise_open_file_limit, warn_about_missing_files,
};
pub(crate) use seeds::{check_private, parse_seed_lines, parse_seeds};

/// How every page is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// With conditional requests, which the server may answer with 304.
    Conditional,
    /// With unconditional requests.
    Full,
}

impl Again {
    fn flag(self) -> &'static str {
        match self {
            Self::Conditional => "--again",
            Self::Full => "--full",
        }
    }
}

/// A crawl that is ready to start.
pub(crate) struct Session<'a> {
    pub(crate) folder: &'a Path,
    /// The command that continues the crawl: `crawl` or `demo`.
    pub(crate) command: &'static str,
    pub(crate) config: Config,
    /// Content of `aranha.toml` in a new collection.
    pub(crate) saved_config: String,
    /// New content of `aranha.toml` in an existing collection: the old content with the filters of the command line
    /// added. `None` if the file stays as it is.
    pub(crate) changed_config: Option<String>,
    /// The configuration keys with secrets, which a new collection does not save.
    pub(crate) secret_keys: Vec<String>,
    pub(crate) seeds: Vec<CanonUrl>,
    /// Changes of the settings of seeds.
    pub(crate) seed_settings: Vec<(SiteKey, SettingsChange)>,
    /// Request every page now (`--again`, `--full`).
    pub(crate) again: Option<Again>,
    pub(crate) mode: OutputMode,
}

impl Session<'_> {
    /// Crawls until no page is due, a limit is reached, or the user presses Ctrl-C. Must be called within a tokio
    /// runtime.
    pub(crate) async fn run(self) -> Result<ExitStatus, CommandError> {
        let Self {
            folder,
            command,
            config,
            saved_config,
            changed_config,
            secret_keys,
            seeds,
            seed_settings,
            again,
            mode,
        } = self;
        let name = folder.display().to_string();
        let collection = Collection::at(folder);
        check_frontier(folder)?;
        let resumed = collection.exists();
        if !resumed && seeds.is_empty() {
            return Err(CommandError::usage(format!(
                "`{name}` is not a collection, and no seed was given"
            ))
            .hint(format!(
                "give a seed: aranha crawl https://example.org -c {name}"
            )));
        }
        logging::start("log.level", &config.log.level)?;
        preconditions::require_proxies(&config, &seeds).await?;
        raise_open_file_limit();
        warn_about_connections(&config, mode);
        warn_about_robots(&config, mode);
        if !resumed && collection::has_other_files(folder) {
            mode.message(&format!(
                "warning: `{name}` has other files; the collection is created beside them"
            ));
        }
        if !resumed && !matches!(mode, OutputMode::Quiet) {
            for key in secret_keys {
                message(format_args!(
                    "note: the secret in {key} is not stored in aranha.toml; give it again to later crawls, or use @FILE or $NAME"
                ));
            }
        }
        collection::create(folder)?;
        let mut frontier = Embedded::open(folder, config.frontier.clone())?;
        save_configuration(&collection, &saved_config, changed_config.as_deref())?;
        if changed_config.is_some() {
            let file = collection.configuration();
            mode.message(&format!(
                "added the filters to {}; later crawls use them too",
                file.display()
            ));
        }
        let now = Clock::new().now();
        let seeds: Vec<Seed> = seeds.iter().map(Seed::of).collect();
        seed_settings::store(&mut frontier, now, &seed_settings)?;
        frontier.seed(now, &seeds)?;
        frontier.make_due(now, &seeds)?;
        if let Some(again) = again {
            let order = VisitOrder {
                source: Source::User as u8,
                unconditional: again == Again::Full,
                max_age: i64::try_from(config.revisit.every.as_millis()).unwrap_or(i64::MAX),
            };
            let began = frontier.make_all_due(now, &order)?;
            if began < now {
                mode.message(&format!(
                    "continuing the {} of {} UTC; pages requested since then are not requested again",
                    again.flag(),
                    calendar::date_time(began)
                ));
            }
        }
        let stop = Stop::new();
        let mut node = Node::open(
            &collection,
            config,
            Box::new(frontier),
            resumed,
            stop.clone(),
        )
        .map_err(errors::engine_error)?;
        print_repairs(mode, &node);
        warn_about_missing_files(folder);
        stop_signals::listen(stop, mode)?;
        let counters = node.counters();
        let status = node.status();
        let notices = node.notices();
        let summary = tokio::select! {
            summary = node.run() => summary.map_err(errors::engine_error)?,
            () = display::follow(mode, counters, status, notices) => unreachable!("the progress display never ends"),
        };
        let resume = format!("aranha {command} -c {name}");
        display::summary(mode, &summary, &name, &resume);
        exit_status(&summary, &name)
    }
}

fn warn_about_connections(config: &Config, mode: OutputMode) {
    let crawl = &config.crawl;
    if crawl.connections > 1 && !crawl.pause.is_zero() {
        mode.message("warning: crawl.connections has no effect with a pause; set --pause 0");
    }
}

fn warn_about_robots(config: &Config, mode: OutputMode) {
    if config.crawl.robots == RobotsPolicy::Ignore {
        let hosts = config.crawl.own_hosts.join(", ");
        mode.message(&format!("warning: robots.txt is ignored on {hosts}"));
    }
}

/// Writes `aranha.toml` if the collection has none, or replaces it by `changed`. Even after a crash, the file has either its
/// old content or the whole new content.
fn save_configuration(
    collection: &Collection,
    text: &str,
    changed: Option<&str>,
) -> Result<(), CommandError> {
    let path = collection.configuration();
    let text = match changed {
        Some(changed) => changed,
        None if path.exists() => return Ok(()),
        None => text,
    };
    aranha_engine::replace_file(&path, text).map_err(|error| {
        CommandError::cannot_write(
            &path,
            &error,
            "with -c, choose a folder that you are allowed to write to",
        )
    })
}

fn print_repairs(mode: OutputMode, node: &Node) {
    for volume in &node.repairs().repaired {
        mode.message(&format!(
            "repaired {}: {} records kept, {} bytes of an incomplete record removed",
            volume.path.display(),
            volume.records,
            volume.bytes_cut
        ));
    }
    for path in &node.repairs().damaged {
        message(format_args!(
            "warning: {} is damaged; it was renamed and not deleted",
            path.display()
        ));
    }
}

fn exit_status(summary: &Summary, name: &str) -> Result<ExitStatus, CommandError> {
    match &summary.reason {
        Reason::Finished | Reason::Limit(_) if no_seed_was_fetched(&summary.tally) => {
            Err(no_seed_error(summary, name))
        }
        Reason::Finished | Reason::Limit(_) => Ok(ExitStatus::Done),
        Reason::Interrupted => Ok(ExitStatus::Interrupted),
        Reason::Proxy(detail) => Err(CommandError::stopped(detail.clone()).hint(format!(
            "{PROXY_HINT}; then continue with `aranha crawl -c {name}`. No page counts as failed"
        ))),
        Reason::DiskFull(detail) => Err(CommandError::stopped(detail.clone()).hint(format!(
            "free some disk space, then continue with `aranha crawl -c {name}`; no fetched page is lost"
        ))),
        Reason::Failed(detail) => Err(CommandError::failed(detail.clone()).hint(format!(
            "pages that were checked in are safe; continue with `aranha crawl -c {name}`"
        ))),
    }
}

/// Whether seeds failed and nothing else was fetched.
fn no_seed_was_fetched(tally: &Tally) -> bool {
    tally.seeds_failed > 0 && tally.pages == 0
}

/// The error for a crawl in which no seed could be fetched. It gives the reason of the first seed that failed.
fn no_seed_error(summary: &Summary, name: &str) -> CommandError {
    let (url, reason) = match &summary.failed_seed {
        Some(failure) => (failure.url.as_str(), failure.reason.as_str()),
        None => ("URL", "unknown"),
    };
    let sentence = match summary.tally.seeds_failed {
        1 => format!("the seed could not be fetched: {url}: {reason}"),
        _ => format!("no seed could be fetched; the first: {url}: {reason}"),
    };
    CommandError::no_seed(sentence).hint(format!(
        "`aranha why {url} -c {name}` shows every decision about it"
    ))
}
