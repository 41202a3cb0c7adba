//! What is shut out while the crawl runs: the collection's own black list, `blacklist.txt`.
//!
//! One plain file, read at the start and again whenever it changes: `aranha block` adds to it while the crawl runs
//! (D7), the crawl adds the domains it found to have hosts without end (D6), and anybody may edit it. A site that
//! it names is set aside at its next request. Lines taken out count from the next start on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use aranha_url::BlacklistError;

use crate::collection::files;

/// The file and what was last seen of it.
#[derive(Debug)]
pub(crate) struct BlacklistWatch {
    path: PathBuf,
    seen: Mutex<Stamp>,
    /// Moves on whenever entries are added: visits look again whether they may go on.
    generation: AtomicU64,
}

type Stamp = Option<(u64, SystemTime)>;

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum BlacklistWatchError {
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

    /// Its lines, when it is there and has changed since they were last read.
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

    /// The entries are in force. Called before the scope is let go: who sees them there sees the generation, too.
    pub(crate) fn raise_generation(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// Adds an entry, with the reason behind it.
    pub(crate) fn add(&self, entry: &str, reason: &str) -> Result<(), BlacklistWatchError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.stamp();
        let written = append(&self.path, &[entry], reason).map_err(|source| self.file(source))?;
        let length = |stamp: Stamp| stamp.map_or(0, |(length, _)| length);
        let after = self.stamp();
        // Lines that somebody else wrote meanwhile are still to be read.
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

/// Adds entries to a collection's black list, a line each with the reason behind it; the bytes written. Several may write,
/// a running crawl and `aranha block`: one after the other.
pub fn append(path: &Path, entries: &[&str], reason: &str) -> io::Result<u64> {
    let mut lines = String::new();
    for entry in entries {
        lines.extend([entry, "  # ", reason, "\n"]);
    }
    let (file, written) = files::append(path, lines.as_bytes())?;
    file.sync_data()?;
    Ok(written)
}

/// Removes the lines of these entries from a collection's black list; how many there were.
pub fn remove(path: &Path, entries: &[&str]) -> io::Result<u64> {
    if !path.exists() {
        return Ok(0);
    }
    let file = files::lock(path)?;
    let text = io::read_to_string(&file)?;
    let listed = |line: &&str| {
        let entry = line.split_whitespace().next().unwrap_or_default();
        entries.contains(&entry)
    };
    let removed = text.lines().filter(listed).count() as u64;
    if removed > 0 {
        let rest: String = text
            .lines()
            .filter(|line| !listed(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        files::replace(path, &rest)?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blacklist.txt");
        let list = BlacklistWatch::new(path.clone());
        assert_eq!(list.read_if_changed().unwrap(), None);
        list.add("*.example.org", "hosts without end").unwrap();
        assert_eq!(
            list.read_if_changed().unwrap(),
            None,
            "its own words are no news"
        );
        append(&path, &["example.net"], "by hand").unwrap();
        let text = list.read_if_changed().unwrap().unwrap();
        assert_eq!(
            text,
            "*.example.org  # hosts without end\nexample.net  # by hand\n"
        );
        assert_eq!(list.read_if_changed().unwrap(), None);
        append(&path, &["example.com"], "by hand").unwrap();
        list.add("*.example.edu", "hosts without end").unwrap();
        assert!(
            list.read_if_changed()
                .unwrap()
                .unwrap()
                .contains("example.com")
        );
    }

    #[test]
    fn an_open_last_line_stays_a_line() {
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

    /// Whoever adds while another takes out: nothing that was said to be written is lost.
    #[test]
    fn adding_and_removing_at_once_loses_nothing() {
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
