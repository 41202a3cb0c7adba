//! A collection on disk: one directory, named places in it.

pub(crate) mod census;
pub(crate) mod files;

use std::io;
use std::path::{Path, PathBuf};

/// The directory of a crawl. Knows where things are; opens none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    root: PathBuf,
}

impl Collection {
    /// A collection at this path, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `aranha.toml`, the configuration in force.
    pub fn configuration(&self) -> PathBuf {
        self.root.join("aranha.toml")
    }

    /// `frontier.db`: sites, pages, inbox, leases.
    pub fn frontier(&self) -> PathBuf {
        self.root.join("frontier.db")
    }

    /// `blacklist.txt`: what is never asked for in this collection. People and the crawl itself add to it.
    pub fn blacklist(&self) -> PathBuf {
        self.root.join("blacklist.txt")
    }

    /// `signals.jsonl`: what others say has changed, until a crawl takes it up.
    pub fn signals(&self) -> PathBuf {
        self.root.join("signals.jsonl")
    }

    /// `census`: what the revisit policy `optimal` knows of all pages together.
    pub fn census(&self) -> PathBuf {
        self.root.join("census")
    }

    /// `logs/crawl.log`, one line a fetch.
    pub fn crawl_log(&self) -> PathBuf {
        self.root.join("logs").join("crawl.log")
    }

    /// `logs/events.jsonl`, one line per notice or end of a crawl.
    pub fn event_log(&self) -> PathBuf {
        self.root.join("logs").join("events.jsonl")
    }

    /// Whether a crawl has been here.
    pub fn exists(&self) -> bool {
        self.frontier().exists()
    }

    /// Makes the directories.
    pub fn create(&self) -> io::Result<()> {
        std::fs::create_dir_all(self.root.join("logs"))
    }
}
