//! Opens the database. The writer creates the tables of `schema.sql`. Readers can open the database while the writer
//! has it open.

use std::io;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::migrations;
use crate::Options;
use crate::store_error::StoreError;

/// Size of a database page in bytes. A page is large enough for the block of one check-in. It is small enough that a
/// change of one row of `sites` rewrites few other rows.
const PAGE_SIZE: u32 = 8192;

/// Open for writing. Creates the tables in an empty database, unless link runs exist beside it.
pub(super) fn open_writer(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    // This check comes before `Connection::open`, which creates the file.
    if std::fs::metadata(path).map_or(true, |file| file.len() == 0) {
        refuse_beside_runs(path)?;
    }
    let db = Connection::open(path)?;
    db.pragma_update(None, "page_size", PAGE_SIZE)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "cache_size", -((options.cache_size / 1024) as i64))?;
    db.pragma_update(
        None,
        "wal_autocheckpoint",
        (options.wal_size / u64::from(PAGE_SIZE)) as i64,
    )?;
    db.pragma_update(None, "journal_size_limit", options.wal_size as i64)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    keep_plans(&db)?;
    db.set_prepared_statement_cache_capacity(256);
    if migrations::layout(&db)? == 0 {
        refuse_beside_runs(path)?;
    }
    migrations::migrate(&db)?;
    Ok(db)
}

/// Open for reading, also while a writer has the database open.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(std::time::Duration::from_secs(10))?;
    keep_plans(&db)?;
    db.set_prepared_statement_cache_capacity(128);
    migrations::require_current(&db)?;
    Ok(db)
}

/// Fail if link runs exist in `frontier.runs`. The links are stored nowhere else. An engine with a new database would
/// remove the files, because the database does not list them.
fn refuse_beside_runs(path: &Path) -> Result<(), StoreError> {
    let folder = path.with_extension("runs");
    let files = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files.map_err(StoreError::at_file(&folder))?,
    };
    for file in files {
        let path = file.map_err(StoreError::at_file(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "run") {
            let what = "database: missing or empty beside the links in frontier.runs";
            return Err(StoreError::Damaged(what.to_owned()));
        }
    }
    Ok(())
}

/// Keep the query plan of a statement when its parameters change. Without this, planning the five statements of a
/// check-out again took longer than running them.
fn keep_plans(db: &Connection) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
