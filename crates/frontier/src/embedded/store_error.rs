//! Failures inside the engine, before the path of the database is added to them.

use std::io;
use std::path::{Path, PathBuf};

use crate::FrontierError;

/// What went wrong while the database was at work.
#[derive(Debug)]
pub(super) enum StoreError {
    Database(rusqlite::Error),
    /// A run's file.
    File(PathBuf, io::Error),
    Damaged(String),
    Newer(i64),
    /// A database without tables: laying them out failed, or has not happened yet.
    Empty,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Database(error)
    }
}

impl StoreError {
    /// A block that cannot be read.
    pub(super) fn damaged(what: &str, id: i64) -> StoreError {
        StoreError::Damaged(format!("{what} {id}"))
    }

    /// What became of a file, for `map_err`.
    pub(super) fn at_file(path: &Path) -> impl Fn(io::Error) -> StoreError {
        move |source| StoreError::File(path.to_owned(), source)
    }

    /// A file that is not there.
    pub(super) fn is_missing_file(&self) -> bool {
        matches!(self, StoreError::File(_, source) if source.kind() == io::ErrorKind::NotFound)
    }

    /// The error as callers see it.
    pub(super) fn at(self, path: &Path) -> FrontierError {
        let path = path.to_owned();
        match self {
            StoreError::File(path, source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                FrontierError::Full { path }
            }
            StoreError::File(path, source) => FrontierError::File { path, source },
            StoreError::Database(source) if is_full(&source) => FrontierError::Full { path },
            StoreError::Database(source) => FrontierError::Database { path, source },
            StoreError::Empty => FrontierError::Missing {
                path: path.parent().unwrap_or(&path).to_owned(),
            },
            StoreError::Damaged(what) => FrontierError::Damaged { path, what },
            StoreError::Newer(found) => FrontierError::Newer {
                path,
                found,
                known: super::schema::LAYOUT,
            },
        }
    }
}

/// Also when the file shared with readers cannot grow, which SQLite reports as a failure of its own kind.
fn is_full(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
