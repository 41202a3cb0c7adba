//! Errors of the store. Failures of the web are not errors: see [`crate::Outcome`].

use std::path::PathBuf;

/// An error of the database driver of the engine.
pub type DatabaseError = Box<dyn std::error::Error + Send + Sync>;

/// The store failed. The call has changed nothing, except perhaps if the error is [`FrontierError::Unanswered`].
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
    /// The folder or the database has no frontier.
    #[error("`{}` is not a collection", path.display())]
    Missing {
        /// Folder of the collection, or address of the database.
        path: PathBuf,
    },
    /// The database was written by a newer version of aranha.
    #[error("{} has layout {found}, this aranha reads up to {known}: use a newer one", place.display())]
    Newer {
        /// The database.
        place: PathBuf,
        /// Layout version of the database.
        found: i64,
        /// Newest layout version that this program can read.
        known: i64,
    },
    /// The database returned an error.
    #[error("{}: {source}", place.display())]
    Database {
        /// The database.
        place: PathBuf,
        /// The error of the database driver.
        source: DatabaseError,
    },
    /// The database was written by an older version of aranha, and this call only reads.
    #[error("{} has layout {found}, this aranha reads layout {needed}", place.display())]
    Older {
        /// The database.
        place: PathBuf,
        /// Layout version of the database.
        found: i64,
        /// Layout version that this program reads.
        needed: i64,
    },
    /// The database server does not let this program in.
    #[error("{}: {source}", place.display())]
    Refused {
        /// The database.
        place: PathBuf,
        /// Why.
        refusal: Refusal,
        /// The error of the database driver.
        source: DatabaseError,
    },
    /// The folder stores volumes of another crawl.
    #[error("the folder `{}` belongs to another crawl than that of {frontier}", path.display())]
    OtherFrontier {
        /// The folder.
        path: PathBuf,
        /// The address of the frontier.
        frontier: String,
    },
    /// The database cannot be reached, or it refuses all work for now. The same call may succeed later.
    #[error("{} is away: {source}", place.display())]
    Away {
        /// The database.
        place: PathBuf,
        /// The error of the database driver.
        source: DatabaseError,
    },
    /// The connection was lost while a group of check-ins was committed, so it is not known whether the group was
    /// stored.
    #[error("{} is away: the connection was lost before the answer", place.display())]
    Unanswered {
        /// The database.
        place: PathBuf,
    },
    /// The disk is full. Nothing is lost; the crawl can continue when there is space.
    #[error("{}: the disk is full", place.display())]
    Full {
        /// The file or the database that could not grow.
        place: PathBuf,
    },
    /// A stored block cannot be decoded, or the tables contradict each other.
    #[error("{}: damaged {what}", place.display())]
    Damaged {
        /// The database.
        place: PathBuf,
        /// The damaged block or table.
        what: String,
    },
}

/// Why a database server does not let a program in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The name of the role or the password is wrong or missing.
    Login,
    /// The role lacks a right.
    Rights,
    /// There is no database with this name.
    NoDatabase,
}

/// What the caller should do after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// Wait, and make the same call again.
    MayPass,
    /// Give up.
    Final,
}

impl FrontierError {
    /// Whether the same call may succeed later.
    pub fn class(&self) -> ErrorClass {
        match self {
            FrontierError::Away { .. } | FrontierError::Unanswered { .. } => ErrorClass::MayPass,
            FrontierError::Locked { .. }
            | FrontierError::File { .. }
            | FrontierError::Missing { .. }
            | FrontierError::Newer { .. }
            | FrontierError::Older { .. }
            | FrontierError::Refused { .. }
            | FrontierError::OtherFrontier { .. }
            | FrontierError::Database { .. }
            | FrontierError::Full { .. }
            | FrontierError::Damaged { .. } => ErrorClass::Final,
        }
    }
}

/// The lease expired or was released. Nothing of a check-in with this lease is stored, so its pages will be fetched
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("lease {lease} is no longer in force")]
pub struct LeaseLost {
    /// Number of the lease.
    pub lease: u64,
}
