//! Conditions that must hold before a crawl starts.

use std::path::Path;

use aranha_engine::config::{FetchSetupError, check_proxies};
use aranha_engine::{Collection, Config};
use aranha_url::CanonUrl;

use super::errors::RESTORE_BOTH;
use crate::error::CommandError;
use crate::output::{counted, message};

/// What to do about a proxy that cannot be used.
pub(super) const PROXY_HINT: &str = "check scheme, host, port and login of the proxy (--proxy http://USER:PASSWORD@HOST:PORT), and \
     that it is running; `--proxy none` connects directly";

/// Connects to each proxy for the seeds (or to all proxies if there are no seeds), so that a wrong proxy URL is found
/// before anything is written.
pub(crate) async fn require_proxies(
    config: &Config,
    seeds: &[CanonUrl],
) -> Result<(), CommandError> {
    let checked = check_proxies(&config.fetch, seeds).await;
    checked.map_err(|error| match error {
        FetchSetupError::ProxyUnusable(problem) => CommandError::stopped(problem).hint(PROXY_HINT),
        error => {
            CommandError::usage(error.to_string()).hint("see \"Proxies\" in docs/configuration.md")
        }
    })
}

/// Refuses a folder that has an archive or link runs, but no frontier. A new frontier would not know the pages that
/// were already fetched.
pub(crate) fn check_frontier(folder: &Path) -> Result<(), CommandError> {
    if has_frontier(folder) {
        return Ok(());
    }
    let archive = folder.join("archive");
    let has_volumes = has_file(&archive, ".warc") || archive.join("stores.jsonl").exists();
    let (found, hint) = if has_volumes {
        let repair = format!("`aranha check --repair -c {}`", folder.display());
        let hint = format!("{RESTORE_BOTH}, or rebuild it from the archive with {repair}");
        ("an archive", hint)
    } else if has_file(
        &Collection::at(folder).frontier().with_extension("runs"),
        ".run",
    ) {
        let hint = format!("{RESTORE_BOTH}, or choose another folder with -c");
        ("frontier.runs/", hint)
    } else {
        return Ok(());
    };
    Err(CommandError::failed(format!(
        "{} contains {found}, but its frontier.db is missing or empty",
        folder.display()
    ))
    .hint(hint))
}

/// Whether the folder has a frontier. An empty file counts as missing, because a failed copy leaves an empty file.
pub(crate) fn has_frontier(folder: &Path) -> bool {
    let frontier = Collection::at(folder).frontier();
    std::fs::metadata(frontier).is_ok_and(|file| file.len() > 0)
}

/// Warns if indexes or volumes of the archive are missing.
pub(crate) fn warn_about_missing_files(folder: &Path) {
    let Ok(missing) = aranha_volume::missing_files(folder) else {
        return;
    };
    let name = folder.display();
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let (indexes, volumes) = (missing.indexes.len(), missing.without_volume.len());
    if indexes > 0 {
        message(format_args!(
            "warning: {} {} missing; `aranha check --repair -c {name}` rebuilds them",
            counted(indexes as u64, "index file"),
            are(indexes)
        ));
    }
    if volumes > 0 {
        message(format_args!(
            "warning: {} {} missing, and the pages in it cannot be read; after `aranha check --repair -c {name}` a crawl \
             fetches them again",
            counted(volumes as u64, "volume"),
            are(volumes)
        ));
    }
}

/// Whether a folder has a file whose name contains `part`.
fn has_file(folder: &Path, part: &str) -> bool {
    std::fs::read_dir(folder).is_ok_and(|files| {
        files
            .flatten()
            .any(|file| file.file_name().to_string_lossy().contains(part))
    })
}

/// Raises the limit of open files as far as the system allows, because a crawl of 10,000 sites uses 10,000 sockets. If
/// the limit is still too low, `aranha_fetch` closes connections between requests.
pub(crate) fn raise_open_file_limit() {
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
