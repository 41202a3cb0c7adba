//! The file `dns` keeps the addresses of all names between crawls (N3), so that the next crawl does not query them again.
//!
//! It is written every few minutes and when a crawl ends. A crash loses the answers since the last write. A file that
//! cannot be read is ignored. While a crawl runs, expired answers are refreshed when the resolver is idle.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aranha_fetch::{Fetcher, Resolved};

/// Time between two refreshes of expired answers.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Number of refreshes between two writes of the file.
const REFRESHES_PER_SAVE: u32 = 30;

/// Puts the answers of an earlier crawl into the DNS cache.
pub(crate) fn restore(fetcher: &Fetcher, path: &Path) {
    let saved = fs::read(path)
        .ok()
        .and_then(|bytes| postcard::from_bytes::<Vec<(String, Resolved)>>(&bytes).ok());
    for (name, resolved) in saved.unwrap_or_default() {
        fetcher.restore_dns(&name, &resolved);
    }
}

/// Writes all answers to a temporary file and renames it, so that the file is never partial.
pub(crate) fn save(fetcher: &Fetcher, path: &Path) -> io::Result<()> {
    let bytes = postcard::to_stdvec(&fetcher.dns_answers()).map_err(io::Error::other)?;
    let temporary = path.with_extension("new");
    fs::write(&temporary, bytes)?;
    fs::rename(temporary, path)
}

/// Refreshes expired answers and writes the file, until the crawl ends.
pub(crate) async fn keep(fetcher: Fetcher, path: PathBuf) {
    loop {
        for _ in 0..REFRESHES_PER_SAVE {
            tokio::time::sleep(REFRESH_INTERVAL).await;
            fetcher.refresh_stale_dns();
        }
        let (fetcher, path) = (fetcher.clone(), path.clone());
        // The file is needed only to avoid queries, so an error in writing it is ignored.
        let _ = tokio::task::spawn_blocking(move || save(&fetcher, &path)).await;
    }
}
