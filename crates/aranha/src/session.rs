//! One crawl from opening the collection to the exit status: what `crawl` and `demo` share.
//!
//! Everything that can be refused is refused before the first file is made.

use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::{Collection, Config, EngineError, Node, Reason, Source, Stop, Summary};
use aranha_frontier::{Embedded, Frontier, FrontierError, Seed};
use aranha_url::{CanonUrl, Canonicaliser, Rejected};

use crate::collection;
use crate::display::{self, Voice};
use crate::error::{CommandError, ExitStatus};
use crate::output::message;

/// A crawl about to begin.
pub(crate) struct Session<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) config: Config,
    /// What a new collection keeps as its `aranha.toml`.
    pub(crate) kept: String,
    pub(crate) seeds: Vec<CanonUrl>,
    /// Every page that was answered is due now.
    pub(crate) again: bool,
    pub(crate) voice: Voice,
}

impl Session<'_> {
    /// Crawls until the end, Ctrl-C, or a limit. Must run within a tokio runtime.
    pub(crate) async fn run(self) -> Result<ExitStatus, CommandError> {
        let Self {
            folder,
            config,
            kept,
            seeds,
            again,
            voice,
        } = self;
        let name = folder.display().to_string();
        let collection = Collection::at(folder);
        check_frontier(folder)?;
        let resumed = collection.exists();
        if !resumed && seeds.is_empty() {
            return Err(CommandError::usage(format!(
                "there is no crawl in {name}, and no URL to begin with"
            ))
            .hint(format!("aranha crawl https://example.org -c {name}")));
        }
        log(&config.log.level)?;
        let config = fit(config, voice);
        collection::create(folder)?;
        let mut frontier =
            Embedded::open(folder, config.frontier.clone()).map_err(|error| refused(&error))?;
        keep_configuration(&collection, &kept)?;
        let now = aranha_engine::Clock::new().now();
        let list: Vec<Seed> = seeds.iter().map(Seed::of).collect();
        frontier.seed(now, &list).map_err(|error| refused(&error))?;
        frontier
            .hasten(now, &list)
            .map_err(|error| refused(&error))?;
        if again {
            frontier
                .hasten_all(now, Source::User as u8)
                .map_err(|error| refused(&error))?;
        }
        let stop = Stop::new();
        let mut node = Node::open(
            &collection,
            config,
            Box::new(frontier),
            resumed,
            stop.clone(),
        )
        .map_err(broken)?;
        tell_repairs(voice, &node);
        listen(stop, voice)?;
        let tally = node.tally();
        let status = node.status();
        let notices = node.notices();
        let summary = tokio::select! {
            summary = node.run() => summary.map_err(broken)?,
            () = display::follow(voice, tally, status, notices) => unreachable!("the display does not end by itself"),
        };
        display::summary(voice, &summary, &name);
        ended(&summary, &name)
    }
}

/// Where a crawl has been, its frontier must be: a new one laid out in its place would know nothing of what is there.
pub(crate) fn check_frontier(folder: &Path) -> Result<(), CommandError> {
    // An empty file is what a failed copy leaves.
    let frontier = Collection::at(folder).frontier();
    if std::fs::metadata(&frontier).is_ok_and(|file| file.len() > 0) {
        return Ok(());
    }
    let what = if holds(&folder.join("archive"), ".warc") {
        "an archive"
    } else if holds(&frontier.with_extension("runs"), ".run") {
        "frontier.runs/"
    } else {
        return Ok(());
    };
    Err(CommandError::failed(format!(
        "{} holds {what}, but its frontier.db is missing or empty",
        folder.display()
    ))
    .hint(format!("{TOGETHER}, or choose another folder with -c")))
}

/// What to do about a frontier of which a part is missing.
const TOGETHER: &str =
    "bring frontier.db and frontier.runs/ back, which belong together, from the same copy";

/// Whether a folder has a file with this in its name.
fn holds(folder: &Path, part: &str) -> bool {
    std::fs::read_dir(folder).is_ok_and(|files| {
        files
            .flatten()
            .any(|file| file.file_name().to_string_lossy().contains(part))
    })
}

/// Reads seeds: every one is good, or nothing begins.
pub(crate) fn seeds(
    canon: &Canonicaliser,
    texts: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<CanonUrl>, CommandError> {
    let mut seeds = Vec::new();
    for (place, text) in texts {
        let url = canon
            .canon(&text)
            .or_else(|rejected| {
                if is_bare_host(&text, &rejected) {
                    // A machine's own name, or a bare address, rarely has a certificate.
                    let own = text.starts_with("localhost")
                        || text.starts_with(|c: char| c.is_ascii_digit() || c == '[');
                    let scheme = if own { "http" } else { "https" };
                    canon
                        .canon(&format!("{scheme}://{text}"))
                        .map_err(|_| rejected)
                } else {
                    Err(rejected)
                }
            })
            .map_err(|rejected| {
                CommandError::usage(format!("{place}: `{text}` is no URL to crawl: {rejected}"))
                    .hint("write it in full, like https://example.org/")
            })?;
        seeds.push(url);
    }
    Ok(seeds)
}

/// People type `example.org` or `localhost:8000` and mean the web; a path or a mail address is no host.
fn is_bare_host(text: &str, rejected: &Rejected) -> bool {
    match rejected {
        Rejected::Malformed(_) => {
            text.starts_with(|c: char| c.is_alphanumeric() || c == '[') && !text.contains("://")
        }
        // What stands before the colon was taken for a scheme.
        Rejected::Scheme(host) => {
            let port = text[host.len()..].trim_start_matches(':');
            (host.contains('.') || host == "localhost")
                && port.starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    }
}

/// Takes as many open files as this process may have, and says what will be otherwise than asked for. Where the limit is
/// below the number of sites, connections are closed between requests (`aranha_fetch`), and no site has to wait for it.
fn fit(config: Config, voice: Voice) -> Config {
    open_files();
    let crawl = &config.crawl;
    if crawl.connections > 1 && !crawl.pause.is_zero() {
        voice.say("note: with a pause there is one connection to a site at a time; --pause 0 allows several");
    }
    config
}

/// Takes as many open files as this process may have: ten thousand sites are ten thousand sockets. Where that is not
/// enough, fewer connections are kept open between requests.
pub(crate) fn open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

/// What the program says of itself, on stderr.
fn log(level: &str) -> Result<(), CommandError> {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    let targets: tracing_subscriber::filter::Targets = level.parse().map_err(|_| {
        CommandError::usage(format!("log.level: `{level}` cannot be read"))
            .hint("write a level such as warn or debug, or aranha_volume=debug,warn")
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    // Only the first crawl of a process can set it, and there is only one.
    let _ = tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .try_init();
    Ok(())
}

fn keep_configuration(collection: &Collection, kept: &str) -> Result<(), CommandError> {
    let path = collection.configuration();
    if path.exists() {
        return Ok(());
    }
    // Half a file, or none of it, would be taken for the whole from then on.
    aranha_engine::replace_file(&path, kept).map_err(|error| {
        let sentence = format!("cannot write {}: {error}", path.display());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                CommandError::stopped(sentence).hint("make room, then run the same command again")
            }
            _ => {
                CommandError::failed(sentence).hint("choose a folder that you may write to with -c")
            }
        }
    })
}

fn tell_repairs(voice: Voice, node: &Node) {
    for volume in &node.repairs().repaired {
        voice.say(&format!(
            "repaired {}: {} records kept, {} bytes of a torn record cut off",
            volume.path.display(),
            volume.records,
            volume.bytes_cut
        ));
    }
    for path in &node.repairs().damaged {
        message(format_args!(
            "warning: {} cannot be read; it was set aside, not deleted",
            path.display()
        ));
    }
}

/// The first Ctrl-C asks everybody to check in; the second ends the process at once, which loses nothing either.
fn listen(stop: Stop, voice: Voice) -> Result<(), CommandError> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error| CommandError::failed(format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if asked {
                std::process::exit(ExitStatus::Interrupted as i32);
            }
            asked = true;
            voice.say("\nstopping: visits are checking in (Ctrl-C again ends at once)");
            stop.ask(Reason::Interrupted);
        }
    });
    Ok(())
}

fn ended(summary: &Summary, name: &str) -> Result<ExitStatus, CommandError> {
    match &summary.reason {
        Reason::Finished | Reason::Limit(_) => Ok(ExitStatus::Done),
        Reason::Interrupted => Ok(ExitStatus::Interrupted),
        Reason::DiskFull(detail) => Err(CommandError::stopped(detail.clone()).hint(format!(
            "make room, then go on with `aranha crawl -c {name}`: nothing is lost"
        ))),
        Reason::Failed(detail) => Err(CommandError::failed(detail.clone()).hint(format!(
            "what was checked in is safe; `aranha crawl -c {name}` goes on from there"
        ))),
    }
}

/// Why the frontier would not open.
pub(crate) fn refused(error: &FrontierError) -> CommandError {
    let sentence = error.to_string();
    match error {
        FrontierError::Locked { .. } => CommandError::failed(sentence)
            .hint("wait for it to end, stop it with Ctrl-C, or choose another folder with -c"),
        FrontierError::Missing { .. } => CommandError::usage(sentence)
            .hint("name a collection with -c, or make one with `aranha crawl`"),
        FrontierError::Full { .. } => {
            CommandError::stopped(sentence).hint("make room, then run the same command again")
        }
        FrontierError::File { path, source } if is_lost_run(path, source) => {
            CommandError::failed(sentence).hint(TOGETHER)
        }
        FrontierError::File { .. } => CommandError::failed(sentence)
            .hint("the collection must be yours to write to; or choose another folder with -c"),
        FrontierError::Newer { .. } => CommandError::failed(sentence)
            .hint("crawl it with the version that wrote it, or choose another folder with -c"),
        FrontierError::Database { .. } | FrontierError::Damaged { .. } => {
            CommandError::failed(sentence).hint(format!(
                "the pages in archive/ are safe; {TOGETHER}, or begin again in another folder"
            ))
        }
    }
}

/// A file that the database names is not there.
fn is_lost_run(path: &Path, source: &std::io::Error) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    source.kind() == ErrorKind::NotFound && folder.is_some_and(|name| name == "frontier.runs")
}

fn broken(error: EngineError) -> CommandError {
    match error {
        EngineError::Frontier(error) => refused(&error),
        EngineError::Config(error) => error.into(),
        EngineError::Volume(aranha_volume::VolumeError::DiskFull { path }) => {
            CommandError::stopped(format!(
                "no space left on the disk that holds {}",
                path.display()
            ))
            .hint("make room, then run the same command again")
        }
        other => CommandError::failed(other.to_string())
            .hint("what was checked in is safe; the same command goes on once this is put right"),
    }
}
