//! What is shut out while the crawl runs: the collection's own black list, `blacklist.txt`.
//!
//! One plain file, read at the start and again whenever it changes: `aranha block` adds to it while the crawl runs
//! (D7), the crawl adds the domains it found to have hosts without end (D6), and anybody may edit it. A site that
//! it names is set aside at its next request. Lines taken out count from the next start on.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use aranha_url::BlacklistError;

/// The file and what was last seen of it.
#[derive(Debug)]
pub(crate) struct ShutOut {
    path: PathBuf,
    seen: Mutex<Stamp>,
    /// Moves on whenever entries are added: visits look again whether they may go on.
    generation: AtomicU64,
}

/// How the reason begins why a site is set aside that the black list names.
pub const SHUT_OUT: &str = "shut out by the black list";

type Stamp = Option<(u64, SystemTime)>;

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ShutOutError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A line is no entry.
    #[error("{path}: {source}")]
    Entry {
        /// Which file.
        path: String,
        /// Which line, and what is wrong with it.
        source: BlacklistError,
    },
}

impl ShutOut {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            seen: Mutex::new(None),
            generation: AtomicU64::new(0),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// Its lines, when it is there and has changed since they were last read.
    pub(crate) fn news(&self) -> Result<Option<String>, ShutOutError> {
        let stamp = self.stamp();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return Ok(None);
        }
        *seen = stamp;
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.file(source)),
        }
    }

    /// The entries are in force. Called before the scope is let go: who sees them there sees the generation, too.
    pub(crate) fn move_on(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// Adds an entry, with the reason behind it.
    pub(crate) fn add(&self, entry: &str, reason: &str) -> Result<(), ShutOutError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = *seen != self.stamp();
        append(&self.path, &[entry], reason).map_err(|source| self.file(source))?;
        if !unread {
            *seen = self.stamp();
        }
        Ok(())
    }

    pub(crate) fn entry_error(&self, source: BlacklistError) -> ShutOutError {
        ShutOutError::Entry {
            path: self.path.display().to_string(),
            source,
        }
    }

    fn file(&self, source: io::Error) -> ShutOutError {
        ShutOutError::File {
            path: self.path.display().to_string(),
            source,
        }
    }

    fn stamp(&self) -> Stamp {
        let file = fs::metadata(&self.path).ok()?;
        Some((file.len(), file.modified().ok()?))
    }
}

/// Adds entries to a collection's black list, a line each with the reason behind it. One write: the lines of several
/// writers, a running crawl and `aranha block`, do not mix.
pub fn append(path: &Path, entries: &[&str], reason: &str) -> io::Result<()> {
    let mut lines = String::new();
    for entry in entries {
        lines.extend([entry, "  # ", reason, "\n"]);
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blacklist.txt");
        let list = ShutOut::new(path.clone());
        assert_eq!(list.news().unwrap(), None);
        list.add("*.example.org", "hosts without end").unwrap();
        assert_eq!(list.news().unwrap(), None, "its own words are no news");
        append(&path, &["example.net"], "by hand").unwrap();
        let text = list.news().unwrap().unwrap();
        assert_eq!(
            text,
            "*.example.org  # hosts without end\nexample.net  # by hand\n"
        );
        assert_eq!(list.news().unwrap(), None);
        append(&path, &["example.com"], "by hand").unwrap();
        list.add("*.example.edu", "hosts without end").unwrap();
        assert!(list.news().unwrap().unwrap().contains("example.com"));
    }
}
