//! Conditions that must hold before a crawl starts.

use std::path::Path;

use aranha_engine::Collection;

use super::errors::RESTORE_BOTH;
use crate::error::CommandError;

/// Refuses a folder that holds an archive or link runs but no frontier. A new frontier there would not know the pages
/// that were already fetched.
pub(crate) fn check_frontier(folder: &Path) -> Result<(), CommandError> {
    let frontier = Collection::at(folder).frontier();
    // An empty file counts as missing, because a failed copy leaves one.
    if std::fs::metadata(&frontier).is_ok_and(|file| file.len() > 0) {
        return Ok(());
    }
    let found = if has_file(&folder.join("archive"), ".warc") {
        "an archive"
    } else if has_file(&frontier.with_extension("runs"), ".run") {
        "frontier.runs/"
    } else {
        return Ok(());
    };
    Err(CommandError::failed(format!(
        "{} contains {found}, but its frontier.db is missing or empty",
        folder.display()
    ))
    .hint(format!("{RESTORE_BOTH}, or choose another folder with -c")))
}

/// Whether a folder has a file whose name contains `part`.
fn has_file(folder: &Path, part: &str) -> bool {
    std::fs::read_dir(folder).is_ok_and(|files| {
        files
            .flatten()
            .any(|file| file.file_name().to_string_lossy().contains(part))
    })
}

/// Raises the limit of open files as far as the system allows: a crawl of 10,000 sites uses 10,000 sockets. If the
/// limit is still too low, `aranha_fetch` closes connections between requests.
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
