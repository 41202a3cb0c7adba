//! The database connection, with cached statements and the packer.
//!
//! Each table has its own source file, which adds the operations on that table to [`Store`]. The writer and the readers
//! use the same operations.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use super::store_error::StoreError;
use crate::codec::Packer;

/// The open database of a collection.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) db: Connection,
    pub(super) packer: Packer,
    pub(super) path: PathBuf,
    /// Revisits that are due after this time wait for another crawl.
    pub(super) horizon: i64,
}

impl Store {
    pub(super) fn new(db: Connection, packer: Packer, path: PathBuf) -> Store {
        Store {
            db,
            packer,
            path,
            horizon: i64::MAX,
        }
    }

    /// Sync all committed transactions to the disk. Syncing the write-ahead log is enough, because SQLite syncs the
    /// database at every checkpoint. Opening and closing the log here is safe: closing a file releases all POSIX locks
    /// that the process has on it, but SQLite takes no locks on the log.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let folder = self.path.parent().unwrap_or(Path::new("."));
        for path in [Path::new(&log), folder] {
            match File::open(path).and_then(|file| file.sync_all()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::File(path.to_owned(), error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        Ok(self.db.prepare_cached(sql)?)
    }

    /// Run a statement. Returns the number of changed rows.
    pub(super) fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.statement(sql)?.execute(params)?)
    }

    /// Insert a row. Returns its id.
    pub(super) fn insert(&self, sql: &str, params: impl Params) -> Result<i64, StoreError> {
        Ok(self.statement(sql)?.insert(params)?)
    }

    /// Run a query. Returns its first row, if there is one.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.statement(sql)?.query_row(params, read).optional()?)
    }

    /// Run a query. Returns all its rows.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.statement(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
