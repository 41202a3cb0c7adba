//! One crawl from opening the collection to the exit status, shared by `crawl` and `demo`.
//!
//! * `seeds` reads the seeds that a user typed.
//! * `preconditions` refuses a folder with an archive but without a frontier, and raises the limit of open files.
//! * `seed_settings` reads the settings of seeds, and stores them.
//! * `stop_signals` stops the crawl cleanly on Ctrl-C, SIGTERM and SIGHUP.
//! * `errors` turns errors of the frontier and the engine into messages for people.
//!
//! The configuration, the seeds and the state of the folder are checked before the first file is created. Some problems
//! are found only when the parts of the collection are opened, such as a lock of another crawl or a damaged file. They
//! end the crawl later, but still before the first request.

mod errors;
mod preconditions;
pub(crate) mod seed_settings;
mod seeds;
mod stop_signals;

use std::path::Path;

use aranha_engine::config::RobotsPolicy;
use aranha_engine::{Clock, Collection, Config, Node, Reason, Role, Source, Stop, Summary};
use aranha_frontier::shared::SETTINGS;
use aranha_frontier::{Seed, VisitOrder};
use aranha_units::calendar;
use aranha_url::{CanonUrl, SiteKey};

use crate::display::{self, OutputMode};
use crate::error::{CommandError, ExitStatus};
use crate::output::message;
use crate::{collection, frontier_access, logging};

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
    /// The role of this process in a crawl of several nodes.
    pub(crate) role: Role,
    pub(crate) config: Config,
    /// The settings that all nodes share, if this process begins or leads their crawl.
    pub(crate) shared_config: Option<String>,
    /// Whether the shared frontier has tables.
    pub(crate) has_crawl: bool,
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
    /// If set, every page is requested now (`--again`, `--full`).
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
            role,
            config,
            shared_config,
            has_crawl,
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
        let is_shared = config.frontier.url.is_set();
        if !is_shared {
            check_frontier(folder)?;
        }
        // Other nodes may have sent requests just before.
        let resumed = if is_shared {
            has_crawl
        } else {
            collection.exists()
        };
        let is_new_folder = !collection.exists();
        if !resumed && seeds.is_empty() {
            let place = if is_shared {
                format!("there is no crawl at {}", config.frontier.url)
            } else {
                format!("`{name}` is not a collection")
            };
            return Err(
                CommandError::usage(format!("{place}, and no seed was given")).hint(format!(
                    "give a seed: aranha crawl https://example.org -c {name}"
                )),
            );
        }
        logging::start("log.level", &config.log.level)?;
        preconditions::require_proxies(&config, &seeds).await?;
        raise_open_file_limit();
        warn_about_connections(&config, mode);
        warn_about_robots(&config, mode);
        if is_new_folder && collection::has_other_files(folder) {
            mode.message(&format!(
                "warning: `{name}` has other files; the collection is created beside them"
            ));
        }
        if is_new_folder && !matches!(mode, OutputMode::Quiet) {
            for key in secret_keys {
                message(format_args!(
                    "note: the secret in {key} is not stored in aranha.toml; give it again to later crawls, or use @FILE or $NAME"
                ));
            }
        }
        if is_shared && is_new_folder && has_crawl && role == Role::Crawl {
            let url = &config.frontier.url;
            mode.message(&format!(
                "note: there is a crawl at {url} already; this process joins it and adds its seeds and settings. For a crawl of its own, \
                 name another schema (?schema=NAME)"
            ));
        }
        collection::create(folder)?;
        let mut frontier = frontier_access::node(&collection, &config)?;
        save_configuration(&collection, &saved_config, changed_config.as_deref())?;
        if is_shared {
            remember_frontier(&collection, &config)?;
        }
        if changed_config.is_some() {
            let file = collection.configuration();
            mode.message(&format!(
                "added the filters to {}; later crawls use them too",
                file.display()
            ));
        }
        let now = Clock::new().now();
        let seeds: Vec<Seed> = seeds.iter().map(Seed::of).collect();
        if let (Some(settings), Some(shared)) = (shared_config, frontier.shared()) {
            shared.change_text(SETTINGS, &mut |text| {
                (text != settings).then(|| settings.clone())
            })?;
        }
        seed_settings::store(frontier.as_mut(), now, &seed_settings)?;
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
        let mut node = Node::open(&collection, config, frontier, resumed, stop.clone())
            .map_err(errors::engine_error)?;
        node.set_role(role);
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
        exit_status(&summary, &name, command)
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

/// Writes `aranha.toml` if the collection has none, or replaces it by `changed`. After a crash, the file has either its
/// old content or its complete new content.
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

/// Writes the address of the shared frontier into `aranha.toml`, unless it is already there.
fn remember_frontier(collection: &Collection, config: &Config) -> Result<(), CommandError> {
    let path = collection.configuration();
    let fault = |error: std::io::Error| {
        CommandError::cannot_write(
            &path,
            &error,
            "you must be allowed to write to the collection",
        )
    };
    let text = std::fs::read_to_string(&path).map_err(fault)?;
    match config.with_frontier(&text) {
        Some(changed) if changed != text => {
            aranha_engine::replace_file(&path, &changed).map_err(fault)
        }
        Some(_) => Ok(()),
        None => {
            message(format_args!(
                "warning: the frontier was not added to {}; give --frontier again to later commands",
                path.display()
            ));
            Ok(())
        }
    }
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

fn exit_status(summary: &Summary, name: &str, command: &str) -> Result<ExitStatus, CommandError> {
    match &summary.reason {
        Reason::Finished | Reason::Limit(_)
            if command != "node" && no_seed_was_fetched(summary) =>
        {
            Err(no_seed_error(summary, name))
        }
        Reason::Finished | Reason::Limit(_) | Reason::Drained => Ok(ExitStatus::Done),
        Reason::Interrupted => Ok(ExitStatus::Interrupted),
        Reason::Proxy(detail) => Err(CommandError::stopped(detail.clone()).hint(format!(
            "{PROXY_HINT}; then continue with `aranha {command} -c {name}`. No page counts as failed"
        ))),
        Reason::DiskFull(detail) => Err(CommandError::stopped(detail.clone()).hint(format!(
            "free some disk space, then continue with `aranha {command} -c {name}`; no fetched page is lost"
        ))),
        Reason::Failed(detail) => Err(CommandError::failed(detail.clone()).hint(format!(
            "pages that were checked in are safe; continue with `aranha {command} -c {name}`"
        ))),
    }
}

/// Whether seeds failed and nothing else was fetched, apart from redirects of seeds.
fn no_seed_was_fetched(summary: &Summary) -> bool {
    summary.tally.seeds_failed > 0 && summary.tally.pages <= summary.seed_redirects
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
