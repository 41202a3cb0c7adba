//! Failures inside the engine, before the path of the database is added to them.

use std::io;
use std::path::{Path, PathBuf};

use crate::FrontierError;

/// What went wrong while the database was at work.
#[derive(Debug)]
pub(super) enum Fault {
    Database(rusqlite::Error),
    /// A run's file.
    File(PathBuf, io::Error),
    Damaged(String),
    Newer(i64),
    /// A database without tables: laying them out failed, or has not happened yet.
    Empty,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Database(error)
    }
}

impl Fault {
    /// A block that cannot be read.
    pub(super) fn damaged(what: &str, id: i64) -> Fault {
        Fault::Damaged(format!("{what} {id}"))
    }

    /// What became of a file, for `map_err`.
    pub(super) fn at_file(path: &Path) -> impl Fn(io::Error) -> Fault {
        move |source| Fault::File(path.to_owned(), source)
    }

    /// A file that is not there.
    pub(super) fn is_missing_file(&self) -> bool {
        matches!(self, Fault::File(_, source) if source.kind() == io::ErrorKind::NotFound)
    }

    /// The error as callers see it.
    pub(super) fn at(self, path: &Path) -> FrontierError {
        let path = path.to_owned();
        match self {
            Fault::File(path, source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                FrontierError::Full { path }
            }
            Fault::File(path, source) => FrontierError::File { path, source },
            Fault::Database(source) if is_full(&source) => FrontierError::Full { path },
            Fault::Database(source) => FrontierError::Database { path, source },
            Fault::Empty => FrontierError::Missing {
                path: path.parent().unwrap_or(&path).to_owned(),
            },
            Fault::Damaged(what) => FrontierError::Damaged { path, what },
            Fault::Newer(found) => FrontierError::Newer {
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
