//! Errors inside the engines. They do not contain the name of the database; [`StoreError::at`] adds it.

use std::io;
use std::path::{Path, PathBuf};

use crate::FrontierError;

#[derive(Debug)]
pub(crate) enum StoreError {
    Sqlite(rusqlite::Error),
    /// An I/O error on a link run or on the write-ahead log.
    File(PathBuf, io::Error),
    Damaged(String),
    /// The layout of the database, and the newest layout that this program can read.
    Newer {
        found: i64,
        known: i64,
    },
    /// A database without tables.
    Empty,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite(error)
    }
}

impl StoreError {
    /// A block that cannot be decoded, or a row that is missing.
    pub(crate) fn damaged(what: &str, id: i64) -> StoreError {
        StoreError::Damaged(format!("{what} {id}"))
    }

    /// For `map_err`: adds the path to an I/O error.
    pub(crate) fn at_file(path: &Path) -> impl Fn(io::Error) -> StoreError {
        move |source| StoreError::File(path.to_owned(), source)
    }

    /// Whether the cause of the error is a file that does not exist.
    pub(crate) fn is_missing_file(&self) -> bool {
        matches!(self, StoreError::File(_, source) if source.kind() == io::ErrorKind::NotFound)
    }

    /// The error of the public interface, with the path or the address of the database.
    pub(crate) fn at(self, place: &Path) -> FrontierError {
        let place = place.to_owned();
        match self {
            StoreError::File(place, source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                FrontierError::Full { place }
            }
            StoreError::File(path, source) => FrontierError::File { path, source },
            StoreError::Sqlite(source) if is_full(&source) => FrontierError::Full { place },
            StoreError::Sqlite(source) => FrontierError::Database {
                place,
                source: source.into(),
            },
            StoreError::Empty => FrontierError::Missing {
                path: place.parent().unwrap_or(&place).to_owned(),
            },
            StoreError::Damaged(what) => FrontierError::Damaged { place, what },
            StoreError::Newer { found, known } => FrontierError::Newer {
                place,
                found,
                known,
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
