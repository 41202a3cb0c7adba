//! The tables, and how a database is opened. Every blob is drawn in `docs/decisions/0002-frontier-layout.md`,
//! the journal's in 0007-runs.md.
//!
//! Not here: the runs of the inbox, which are files beside the database (see `link_run_file.rs`).

use std::io;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::store_error::StoreError;
use crate::Options;

/// The layout this program writes, in `PRAGMA user_version`.
pub(super) const LAYOUT: i64 = 4;

/// Large enough that a check-in's block fits a page, small enough that a site's row is not copied with a crowd.
const PAGE: u32 = 8192;

const TABLES: &str = "
CREATE TABLE sites (            -- one row a site; keys are the signed reading of the 64-bit hash
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,       -- preferred origin; one that ends in '/' or '.' goes on with the name
    class INTEGER NOT NULL,     -- 0 a seed never visited, 1 found by links, 4 a seed; 2, 3: only pages answered before wait
    due INTEGER,                -- may be handed out from then on; NULL when leased, idle or blocked
    free INTEGER NOT NULL,      -- courtesy: not before
    lease INTEGER,
    blocked INTEGER NOT NULL,
    inbox INTEGER NOT NULL,     -- 1: links newer than `consumed` wait in the runs
    consumed INTEGER NOT NULL,  -- newest run whose links were merged
    held INTEGER NOT NULL,      -- pages in the window
    queued INTEGER NOT NULL,    -- pages in `pending`
    later INTEGER NOT NULL,     -- pages in `later`
    later_due INTEGER,          -- earliest of them
    known INTEGER NOT NULL,     -- pages ever admitted
    records INTEGER NOT NULL,   -- history entries
    pages INTEGER NOT NULL,     -- newest block in `pages`, 0 none
    keys INTEGER NOT NULL,      -- newest block in `keys`, 0 none
    key_blocks INTEGER NOT NULL, -- blocks of keys ever appended
    again INTEGER NOT NULL,     -- pages answered before that are to be visited again, in `later` too
    again_due INTEGER,          -- earliest of them
    window INTEGER NOT NULL,    -- newest block in `held`, 0 none
    window_blocks INTEGER NOT NULL, -- blocks of that chain
    window_pages INTEGER NOT NULL -- pages in them, those included that have left the window
);
CREATE INDEX sites_due ON sites (class, due) WHERE due IS NOT NULL;
CREATE TABLE facts (site INTEGER PRIMARY KEY, facts BLOB NOT NULL);
CREATE TABLE pages (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, previous INTEGER NOT NULL, records BLOB NOT NULL);
CREATE TABLE keys (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, previous INTEGER NOT NULL, keys BLOB NOT NULL);
CREATE TABLE held (             -- a block of the window, which is the last `sites.held` pages of the chain
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    previous INTEGER NOT NULL,  -- the block before it, 0 none
    count INTEGER NOT NULL,     -- its pages
    pages BLOB NOT NULL
);
CREATE TABLE pending (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, pages BLOB NOT NULL);
CREATE INDEX pending_site ON pending (site);
CREATE TABLE later (            -- a block of pages of one kind; `again`: 0 to be tried again, 1 to be visited again
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    again INTEGER NOT NULL,
    due INTEGER NOT NULL,       -- the earliest of the block
    pages BLOB NOT NULL
);
CREATE INDEX later_site ON later (site, again, due);
CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, site INTEGER NOT NULL, node TEXT NOT NULL,
                     since INTEGER NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX leases_expires ON leases (expires);
CREATE TABLE seeds (id INTEGER PRIMARY KEY, url TEXT NOT NULL, site INTEGER NOT NULL, path INTEGER NOT NULL,
                    time INTEGER NOT NULL, UNIQUE (site, path));
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, links BLOB NOT NULL);
CREATE TABLE runs (             -- one row a file
    run INTEGER PRIMARY KEY AUTOINCREMENT,
    level INTEGER NOT NULL,
    last INTEGER NOT NULL,      -- newest run of level 0 whose links it holds
    links INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    journal INTEGER NOT NULL,   -- while it is written: newest journal entry that goes into it
    upto INTEGER                -- while it is written: done up to this site key; NULL when whole
);
CREATE TABLE totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY, count INTEGER NOT NULL); -- code * 65536 + status
";

/// Open for writing; create the tables in an empty database, but not where it must be somebody's loss.
pub(super) fn open_writer(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    // Looked at first: opening makes the file.
    if std::fs::metadata(path).map_or(true, |file| file.len() == 0) {
        refuse_beside_runs(path)?;
    }
    let db = Connection::open(path)?;
    db.pragma_update(None, "page_size", PAGE)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "cache_size", -((options.cache_size / 1024) as i64))?;
    db.pragma_update(
        None,
        "wal_autocheckpoint",
        (options.wal_size / u64::from(PAGE)) as i64,
    )?;
    db.pragma_update(None, "journal_size_limit", options.wal_size as i64)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    keep_plans(&db)?;
    db.set_prepared_statement_cache_capacity(256);
    match version(&db)? {
        0 => {
            refuse_beside_runs(path)?;
            db.execute_batch("BEGIN IMMEDIATE")?;
            db.execute_batch(TABLES)?;
            db.pragma_update(None, "user_version", LAYOUT)?;
            db.execute_batch("COMMIT")?;
        }
        LAYOUT => {}
        found => return Err(other_layout(found)),
    }
    Ok(db)
}

/// Runs belong to a database: beside a new one they would be removed as rubbish, and the links in them are nowhere else.
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

/// No statement is planned anew because its values are others: looking for sites that are due, five statements for each
/// check-out, took longer to plan than to run.
fn keep_plans(db: &Connection) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Open for reading, beside a writer.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(std::time::Duration::from_secs(10))?;
    keep_plans(&db)?;
    db.set_prepared_statement_cache_capacity(128);
    match version(&db)? {
        LAYOUT => Ok(db),
        0 => Err(StoreError::Empty),
        found => Err(other_layout(found)),
    }
}

fn other_layout(found: i64) -> StoreError {
    if found > LAYOUT {
        StoreError::Newer(found)
    } else {
        StoreError::Damaged(format!(
            "layout {found}, which no released aranha wrote: begin the crawl anew"
        ))
    }
}

fn version(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
