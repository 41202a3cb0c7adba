//! Errors inside the engine. They do not contain the path of the database; [`StoreError::at`] adds it.

use std::io;
use std::path::{Path, PathBuf};

use crate::FrontierError;

#[derive(Debug)]
pub(super) enum StoreError {
    Database(rusqlite::Error),
    /// An I/O error on a link run or on the write-ahead log.
    File(PathBuf, io::Error),
    Damaged(String),
    Newer(i64),
    /// A database without tables.
    Empty,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Database(error)
    }
}

impl StoreError {
    /// A block that cannot be decoded, or a row that is missing.
    pub(super) fn damaged(what: &str, id: i64) -> StoreError {
        StoreError::Damaged(format!("{what} {id}"))
    }

    /// For `map_err`: adds the path to an I/O error.
    pub(super) fn at_file(path: &Path) -> impl Fn(io::Error) -> StoreError {
        move |source| StoreError::File(path.to_owned(), source)
    }

    /// Whether the cause of the error is a file that does not exist.
    pub(super) fn is_missing_file(&self) -> bool {
        matches!(self, StoreError::File(_, source) if source.kind() == io::ErrorKind::NotFound)
    }

    /// The error of the public interface, with the path of the database.
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
                known: super::migrations::LAYOUT,
            },
        }
    }
}

/// Whether the disk is full. SQLite has a separate error code for a shared memory file that cannot grow.
fn is_full(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
