//! The database connection with what every table's code needs: statements kept prepared, and the packer.
//!
//! Each table has its file, which extends [`Store`] by the few operations on it. The writer and the reader share
//! them, so that a command sees a block exactly as the crawl does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use super::store_error::StoreError;
use crate::codec::Packer;

/// A database of a collection, open.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) db: Connection,
    pub(super) packer: Packer,
    pub(super) path: PathBuf,
    /// Pages to be visited again after this time wait for another run.
    pub(super) horizon: i64,
}

impl Store {
    /// Returns when every committed transaction is on the disk. All of them are in the log, or in the database, which is
    /// synced whenever the log is emptied into it. (Locks are held on other files than the log.)
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

    pub(super) fn new(db: Connection, packer: Packer, path: PathBuf) -> Store {
        Store {
            db,
            packer,
            path,
            horizon: i64::MAX,
        }
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        Ok(self.db.prepare_cached(sql)?)
    }

    /// Run a statement; returns how many rows it changed.
    pub(super) fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.statement(sql)?.execute(params)?)
    }

    /// Insert a row; answers its number.
    pub(super) fn insert(&self, sql: &str, params: impl Params) -> Result<i64, StoreError> {
        Ok(self.statement(sql)?.insert(params)?)
    }

    /// The first row, if there is one.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.statement(sql)?.query_row(params, read).optional()?)
    }

    /// All rows.
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
