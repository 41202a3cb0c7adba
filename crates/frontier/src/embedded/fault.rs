//! Failures inside the engine, before the path of the database is added to them.

use std::path::Path;

use crate::FrontierError;

/// What went wrong while the database was at work.
#[derive(Debug)]
pub(super) enum Fault {
    Database(rusqlite::Error),
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

    /// The error as callers see it.
    pub(super) fn at(self, path: &Path) -> FrontierError {
        let path = path.to_owned();
        match self {
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
