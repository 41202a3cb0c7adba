//! A collection on disk: one folder, and the paths of the files in it.

pub(crate) mod census;
pub(crate) mod dns_cache;
pub(crate) mod files;

use std::io;
use std::path::{Path, PathBuf};

/// The paths of a collection. This type opens no files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    root: PathBuf,
}

impl Collection {
    /// The collection in this folder, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `aranha.toml`: the configuration that later crawls use.
    pub fn configuration(&self) -> PathBuf {
        self.root.join("aranha.toml")
    }

    /// `frontier.db`: sites, pages, inbox, leases.
    pub fn frontier(&self) -> PathBuf {
        self.root.join("frontier.db")
    }

    /// `blacklist.txt`: URLs, domains and addresses that are never requested. The user and the crawl add entries.
    pub fn blacklist(&self) -> PathBuf {
        self.root.join("blacklist.txt")
    }

    /// `forgotten.jsonl`: the pages and sites whose contents were deleted.
    pub fn forgotten(&self) -> PathBuf {
        self.root.join("forgotten.jsonl")
    }

    /// `signals.jsonl`: change signals that no crawl has read yet.
    pub fn signals(&self) -> PathBuf {
        self.root.join("signals.jsonl")
    }

    /// `check-ins.spool`: check-ins that wait because the frontier is away.
    pub fn check_in_spool(&self) -> PathBuf {
        self.root.join("check-ins.spool")
    }

    /// `unrecorded.jsonl`: archive records of pages that have no page record, because their lease was lost.
    pub fn unrecorded(&self) -> PathBuf {
        self.root.join("unrecorded.jsonl")
    }

    /// `census`: page counts for the revisit policy `optimal`.
    pub fn census(&self) -> PathBuf {
        self.root.join("census")
    }

    /// `dns`: the addresses of all names.
    pub fn dns_cache(&self) -> PathBuf {
        self.root.join("dns")
    }

    /// `link-rules.toml`: the rules of the last crawl for following links.
    pub fn link_rules(&self) -> PathBuf {
        self.root.join("link-rules.toml")
    }

    /// `logs/crawl.log`: one line per fetch.
    pub fn crawl_log(&self) -> PathBuf {
        self.root.join("logs").join("crawl.log")
    }

    /// `logs/events.jsonl`: one line for each notice and for the end of each crawl.
    pub fn event_log(&self) -> PathBuf {
        self.root.join("logs").join("events.jsonl")
    }

    /// `logs/progress.json`: the state of the running or last crawl.
    pub fn progress(&self) -> PathBuf {
        self.root.join("logs").join("progress.json")
    }

    /// `node.toml`: the crawl whose frontier this folder shares with other folders, and the number of this folder.
    pub fn node_file(&self) -> PathBuf {
        self.root.join("node.toml")
    }

    /// Whether the folder contains a frontier or belongs to a node of a crawl.
    pub fn exists(&self) -> bool {
        self.frontier().exists() || self.node_file().exists()
    }

    /// Creates the folder of the collection, and `logs` in it.
    pub fn create(&self) -> io::Result<()> {
        std::fs::create_dir_all(self.root.join("logs"))
    }
}
