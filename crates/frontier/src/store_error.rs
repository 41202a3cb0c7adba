//! Errors inside the engines. They do not contain the name of the database; [`StoreError::at`] adds it.

use std::io;
use std::path::{Path, PathBuf};

use tokio_postgres::error::SqlState;

use crate::FrontierError;
use crate::error::Refusal;

#[derive(Debug)]
pub(crate) enum StoreError {
    Sqlite(rusqlite::Error),
    Postgres(tokio_postgres::Error),
    /// The connection to the database was lost and is not open again yet.
    NotConnected,
    /// The connection was lost while a transaction was committed.
    Unanswered,
    /// The transaction conflicted with another one, and the caller must make the call again.
    Interrupted,
    /// An I/O error on a link run or on the write-ahead log.
    File(PathBuf, io::Error),
    Damaged(String),
    /// The layout of the database, and the newest layout that this program can read.
    Newer {
        found: i64,
        known: i64,
    },
    /// The layout of the database, and the one that a reader needs.
    Older {
        found: i64,
        needed: i64,
    },
    /// A database without tables.
    Empty,
    /// The folder stores volumes of another crawl.
    OtherCrawl(PathBuf),
    /// Another process uses the folder.
    Locked(PathBuf, u32),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite(error)
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> StoreError {
        StoreError::Postgres(error)
    }
}

impl StoreError {
    /// Whether the database cannot be reached, or refuses all work for now.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            StoreError::NotConnected | StoreError::Unanswered | StoreError::Interrupted => true,
            StoreError::Postgres(error) => is_away(error),
            _ => false,
        }
    }

    /// Whether the transaction conflicted with another one, so that it may succeed if it is repeated at once.
    pub(crate) fn is_conflict(&self) -> bool {
        let StoreError::Postgres(error) = self else {
            return false;
        };
        let conflicts = [
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::T_R_SERIALIZATION_FAILURE,
            &SqlState::UNIQUE_VIOLATION,
        ];
        error.code().is_some_and(|code| conflicts.contains(&code))
    }

    /// Whether a lock was not taken because another transaction has it.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self, StoreError::Postgres(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// A block that cannot be decoded, or a row that is missing.
    pub(crate) fn damaged(what: &str, id: i64) -> StoreError {
        StoreError::Damaged(format!("{what} {id}"))
    }

    /// The error of a lock that was not taken.
    pub(crate) fn of_lock(error: FrontierError) -> StoreError {
        match error {
            FrontierError::Locked { path, pid } => StoreError::Locked(path, pid),
            FrontierError::File { path, source } => StoreError::File(path, source),
            other => StoreError::Damaged(other.to_string()),
        }
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
            StoreError::Sqlite(source) if is_damaged(&source) => FrontierError::Damaged {
                place,
                what: format!("database ({source})"),
            },
            StoreError::Sqlite(source) => FrontierError::Database {
                place,
                source: source.into(),
            },
            StoreError::Interrupted => FrontierError::Away {
                place,
                source: "another transaction was in the way".into(),
            },
            StoreError::Unanswered => FrontierError::Unanswered { place },
            StoreError::NotConnected => FrontierError::Away {
                place,
                source: "the connection was lost".into(),
            },
            StoreError::Postgres(source) if is_away(&source) => FrontierError::Away {
                place,
                source: sentence(&source).into(),
            },
            StoreError::Postgres(source) if source.code() == Some(&SqlState::DISK_FULL) => {
                FrontierError::Full { place }
            }
            StoreError::Postgres(source) => match refusal(&source) {
                Some(refusal) => FrontierError::Refused {
                    place,
                    refusal,
                    source: sentence(&source).into(),
                },
                None => FrontierError::Database {
                    place,
                    source: sentence(&source).into(),
                },
            },
            StoreError::OtherCrawl(path) => FrontierError::OtherFrontier {
                path,
                frontier: place.display().to_string(),
            },
            StoreError::Locked(path, pid) => FrontierError::Locked { path, pid },
            StoreError::Older { found, needed } => FrontierError::Older {
                place,
                found,
                needed,
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

/// Whether SQLite finds the database file damaged.
fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseCorrupt | NotADatabase)
    )
}

/// Whether an error of PostgreSQL may pass: the connection is lost or cannot be made, or the server is starting,
/// stopping or has too many clients.
fn is_away(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        // Errors without a code come from the connection, or from a value of the wrong type.
        let source = std::error::Error::source(error);
        let io = source.and_then(<dyn std::error::Error>::downcast_ref::<io::Error>);
        // A refused certificate does not count, because it will be refused the next time too.
        let is_tls = |io: &io::Error| {
            let inner = io.get_ref();
            inner
                .and_then(|inner| inner.downcast_ref::<rustls::Error>())
                .is_some()
        };
        return error.is_closed() || io.is_some_and(|io| !is_tls(io));
    };
    is_passing(code)
}

/// Whether PostgreSQL may accept the same statement later. This is the case if the server is starting, stopping, short
/// of memory or connections, or read-only after a failover. It is also the case if the server has cancelled the
/// statement or ended the session because of a time limit.
fn is_passing(code: &SqlState) -> bool {
    let passing = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::OUT_OF_MEMORY,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        &SqlState::IDLE_SESSION_TIMEOUT,
        &SqlState::LOCK_NOT_AVAILABLE,
        &SqlState::QUERY_CANCELED,
    ];
    passing.contains(&code) || code.code().starts_with("08")
}

/// Whether the server wants a password and none is configured. The driver reports this as an error without a code.
fn lacks_password(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    error.code().is_none() && cause.is_some_and(|cause| cause.contains("password missing"))
}

/// If PostgreSQL does not let this program in, the reason.
fn refusal(error: &tokio_postgres::Error) -> Option<Refusal> {
    let logins = [
        &SqlState::INVALID_PASSWORD,
        &SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    ];
    let Some(code) = error.code() else {
        return lacks_password(error).then_some(Refusal::Login);
    };
    if logins.contains(&code) {
        Some(Refusal::Login)
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        Some(Refusal::Rights)
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        Some(Refusal::NoDatabase)
    } else {
        None
    }
}

/// The error of PostgreSQL with its cause. By itself it only says `db error`.
fn sentence(error: &tokio_postgres::Error) -> String {
    if lacks_password(error) {
        return "the server wants a password, and no password was found".to_owned();
    }
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(error), _) => error.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
