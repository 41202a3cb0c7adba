//! Errors of the store. Failures of the web are not errors: see [`crate::Outcome`].

use std::path::PathBuf;

/// The store failed; the call has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// Another process has this collection open for writing.
    #[error("the collection `{}` is in use by process {pid}", path.display())]
    Locked {
        /// Folder of the collection.
        path: PathBuf,
        /// Process that holds the lock; 0 if unknown.
        pid: u32,
    },
    /// An I/O error on a file of the collection.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The folder has no frontier.
    #[error("`{}` is not a collection", path.display())]
    Missing {
        /// Folder of the collection.
        path: PathBuf,
    },
    /// The database was written by a newer version of aranha.
    #[error("{} has layout {found}, this aranha reads up to {known}: use a newer one", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Layout version of the database.
        found: i64,
        /// Newest layout version that this program can read.
        known: i64,
    },
    /// SQLite returned an error.
    #[error("{}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The disk is full. Nothing is lost; the crawl can continue when there is space.
    #[error("{}: the disk is full", path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// A stored block cannot be decoded, or the tables contradict each other.
    #[error("{}: damaged {what}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The damaged block or table.
        what: String,
    },
}

/// The lease expired or was released. Nothing of a check-in with this lease is stored, so its pages will be fetched
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("lease {lease} is no longer in force")]
pub struct LeaseLost {
    /// Number of the lease.
    pub lease: u64,
}
