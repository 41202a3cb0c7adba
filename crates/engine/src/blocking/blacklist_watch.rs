//! The black list of a collection, `blacklist.txt`.
//!
//! A crawl reads this text file at its start and whenever the file changes. `aranha block` adds entries while the crawl
//! runs (D7), the crawl adds wildcard domains that are traps (D6), and users may edit the file. If an entry names a
//! site, the site is blocked before its next request. If an entry is removed, this takes effect in the next crawl.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use aranha_url::{BlacklistError, blacklist};

use crate::collection::files;

/// The file, and the state that it had when it was last read.
#[derive(Debug)]
pub(crate) struct BlacklistWatch {
    path: PathBuf,
    seen: Mutex<Stamp>,
    /// Incremented whenever entries are added. A visit that sees a new generation compares its site with the black list
    /// again.
    generation: AtomicU64,
}

type Stamp = Option<(u64, SystemTime)>;

/// An error in reading or writing the black list file.
#[derive(Debug, thiserror::Error)]
pub enum BlacklistWatchError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A line is not a valid entry.
    #[error("{path}: {source}")]
    Entry {
        /// Path of the file.
        path: String,
        /// The number of the line, and the problem.
        source: BlacklistError,
    },
}

impl BlacklistWatch {
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

    /// The contents of the file if it exists and has changed since the last call.
    pub(crate) fn read_if_changed(&self) -> Result<Option<String>, BlacklistWatchError> {
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

    /// The contents of the file; empty if it does not exist.
    pub(crate) fn read(&self) -> Result<String, BlacklistWatchError> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            text => text.map_err(|source| self.file(source)),
        }
    }

    /// Tells visits that entries were added to the scope. The caller must hold the lock of the scope. Then a visit that
    /// sees the new entries also sees the new generation.
    pub(crate) fn raise_generation(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// Adds an entry, with the reason as a comment.
    pub(crate) fn add(&self, entry: &str, reason: &str) -> Result<(), BlacklistWatchError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.stamp();
        let written = append(&self.path, &[entry], reason).map_err(|source| self.file(source))?;
        let length = |stamp: Stamp| stamp.map_or(0, |(length, _)| length);
        let after = self.stamp();
        // The crawl need not read its own entry again. If another process has written to the file in the meantime, the
        // crawl must read the lines of that process.
        if *seen == before && length(after) == length(before) + written {
            *seen = after;
        }
        Ok(())
    }

    pub(crate) fn entry_error(&self, source: BlacklistError) -> BlacklistWatchError {
        BlacklistWatchError::Entry {
            path: self.path.display().to_string(),
            source,
        }
    }

    fn file(&self, source: io::Error) -> BlacklistWatchError {
        BlacklistWatchError::File {
            path: self.path.display().to_string(),
            source,
        }
    }

    fn stamp(&self) -> Stamp {
        let file = fs::metadata(&self.path).ok()?;
        Some((file.len(), file.modified().ok()?))
    }
}

/// Adds entries to a black list file. Each entry is a line with the reason as a comment. Returns the number of bytes
/// written. A file lock serialises writers, for example a running crawl and `aranha block`.
pub fn append(path: &Path, entries: &[&str], reason: &str) -> io::Result<u64> {
    let mut lines = String::new();
    for entry in entries {
        lines.extend([entry, "  # ", reason, "\n"]);
    }
    let (file, written) = files::append(path, lines.as_bytes())?;
    file.sync_data()?;
    Ok(written)
}

/// Removes the lines of these entries from a black list file. Returns the number of removed lines.
pub fn remove(path: &Path, entries: &[&str]) -> io::Result<u64> {
    if !path.exists() {
        return Ok(0);
    }
    let file = files::lock(path)?;
    let text = io::read_to_string(&file)?;
    let (rest, removed) = without_entries(&text, entries);
    if removed > 0 {
        files::replace(path, &rest)?;
    }
    Ok(removed)
}

/// The text of a black list without the lines of these entries, and the number of these lines.
pub fn without_entries(text: &str, entries: &[&str]) -> (String, u64) {
    let listed = |line: &&str| entries.contains(&blacklist::entry_of(line));
    let removed = text.lines().filter(listed).count() as u64;
    let rest = text.lines().filter(|line| !listed(line));
    (rest.flat_map(|line| [line, "\n"]).collect(), removed)
}

/// The text of a black list with these entries, each with the reason as a comment.
pub fn with_entries(text: &str, entries: &[&str], reason: &str) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for entry in entries {
        text.extend([entry, "  # ", reason, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blacklist.txt");
        let list = BlacklistWatch::new(path.clone());
        assert_eq!(list.read_if_changed().unwrap(), None);
        list.add("*.example.org", "wildcard").unwrap();
        assert_eq!(
            list.read_if_changed().unwrap(),
            None,
            "an entry added by the crawl is not read again"
        );
        append(&path, &["example.net"], "by hand").unwrap();
        let text = list.read_if_changed().unwrap().unwrap();
        assert_eq!(text, "*.example.org  # wildcard\nexample.net  # by hand\n");
        assert_eq!(list.read_if_changed().unwrap(), None);
        append(&path, &["example.com"], "by hand").unwrap();
        list.add("*.example.edu", "wildcard").unwrap();
        assert!(
            list.read_if_changed()
                .unwrap()
                .unwrap()
                .contains("example.com")
        );
    }

    #[test]
    fn an_entry_after_an_unterminated_line_gets_its_own_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blacklist.txt");
        fs::write(&path, "a.example # spam").unwrap();
        append(&path, &["b.example"], "by hand").unwrap();
        append(&path, &["c.example"], "by hand").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "a.example # spam\nb.example  # by hand\nc.example  # by hand\n"
        );
        assert_eq!(remove(&path, &["a.example", "d.example"]).unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "b.example  # by hand\nc.example  # by hand\n");
        assert_eq!(
            remove(&folder.path().join("none"), &["a.example"]).unwrap(),
            0
        );
    }

    #[test]
    fn concurrent_writers_lose_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blacklist.txt");
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for n in 0..50 {
                    append(&path, &[&format!("old{n}.example")], "by hand").unwrap();
                    remove(&path, &[&format!("old{n}.example")]).unwrap();
                }
            });
            threads.spawn(|| {
                for n in 0..50 {
                    append(&path, &[&format!("new{n}.example")], "by hand").unwrap();
                }
            });
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 50, "{text}");
        assert!(text.lines().all(|line| line.starts_with("new")));
    }
}
