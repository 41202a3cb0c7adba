//! Why the frontier itself could not go on. What the web does is never here: see [`crate::Outcome`].

use std::path::PathBuf;

/// A failure of the store, not of the web.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// Another process crawls this collection.
    #[error("the collection {} is in use by process {pid}", path.display())]
    Locked {
        /// The collection's folder.
        path: PathBuf,
        /// Who holds it; 0 when that cannot be told.
        pid: u32,
    },
    /// A file of the collection cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder holds no frontier.
    #[error("{} holds no crawl", path.display())]
    Missing {
        /// The collection's folder.
        path: PathBuf,
    },
    /// Written by a newer aranha.
    #[error("{} has layout {found}, this aranha reads up to {known}: use a newer one", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The newest layout this program knows.
        known: i64,
    },
    /// The database could not do what it was asked.
    #[error("{}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The disk is full: nothing was lost, the crawl can go on when there is room.
    #[error("{}: the disk is full", path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// A stored block cannot be read.
    #[error("{}: damaged {what}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// Which block.
        what: String,
    },
}

/// A check-in came too late: the lease had expired and its site was given to another visit. Nothing of that entry was
/// stored; the pages will be fetched again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("lease {lease} is no longer in force")]
pub struct LeaseLost {
    /// Which.
    pub lease: u64,
}
