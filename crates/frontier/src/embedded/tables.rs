//! The tables of `schema.sql`: all statements on sites and blocks. The writer and the readers use the same operations.
//!
//! In some tables the blocks of a site form a *chain*: the row of the site has the id of its newest block, and each
//! block has the id of the block before it. Newer blocks have greater ids. So a block is damaged if the id of its
//! previous block is not smaller than its own id.
//!
//! The file is long because it is a list of statements, one for each operation of `Tables`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use aranha_url::SiteKey;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};

use super::inbox::Inbox;
use crate::links::run_link::RunLink;
use crate::sites::checkout::AbandonedLease;
use crate::sites::later::WaitKind;
use crate::sites::site_row::{
    FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED, SiteRow, full_origin, short_origin,
};
use crate::sites::store::Store;
use crate::sites::tables::{QueueVisitor, Tables, WindowBlockRow};
use crate::sites::totals::Totals;
use crate::store_error::StoreError;
use crate::{FrontierStatus, LeaseEntry, ProblemSite, Seed, SeedSettings, SiteSettings};

/// The open database of a collection, with cached statements.
#[derive(Debug)]
pub(crate) struct Sqlite {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    /// Name of this node.
    node: String,
    /// Keys of the problem sites. They are in memory so that the end of a visit runs a statement on the table only if the
    /// site of the visit is one of them.
    problem_keys: RefCell<HashSet<i64>>,
}

impl Sqlite {
    pub(super) fn new(db: Connection, path: PathBuf, node: String) -> Sqlite {
        Sqlite {
            db,
            path,
            node,
            problem_keys: RefCell::default(),
        }
    }

    /// Sync all committed transactions to the disk. Syncing the write-ahead log is enough, because SQLite syncs the
    /// database at every checkpoint. Opening and closing the log here does no harm. Closing a file releases all POSIX
    /// locks that the process has on it, but SQLite takes no locks on the log.
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

    /// Whether the site has links in its inbox; `None` for an unknown site.
    pub(super) fn site_inbox(&self, key: i64) -> Result<Option<bool>, StoreError> {
        self.first("SELECT inbox FROM sites WHERE key = ?1", [key], |row| {
            row.get(0)
        })
    }

    /// Up to `count` sites with keys from `from` on, in order of key, each with the newest link run that it has
    /// consumed.
    pub(super) fn sites_consumed(
        &self,
        from: i64,
        count: usize,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        self.all(
            "SELECT key, consumed FROM sites WHERE key >= ?1 ORDER BY key LIMIT ?2",
            (from, count as i64),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Up to `count` sites to lease next: seed sites that were never visited or, if there are none, the sites that have
    /// waited longest.
    pub(super) fn sites_due(
        &self,
        now: i64,
        horizon: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let sql = "SELECT * FROM sites WHERE class = ?1 AND due <= ?2 ORDER BY due LIMIT ?3";
        let of = |class: i64, until| self.all(sql, (class, until, count as i64), read_site);
        let mut found = of(SEED_NEW, now)?;
        if found.is_empty() {
            for (class, until) in [
                (FOUND, now),
                (SEED_VISITED, now),
                (SEED_REVISIT, now.min(horizon)),
                (FOUND_REVISIT, now.min(horizon)),
            ] {
                found.append(&mut of(class, until)?);
            }
            found.sort_by_key(|site| site.due);
            found.truncate(count);
        }
        Ok(found)
    }

    /// Recompute `due` and `class` of all sites after the horizon changed.
    ///
    /// The first statement is [`SiteRow::schedule`] in SQL. The horizon affects `due` only for sites that have both
    /// retries and revisits, and no other pages to fetch. Sites that are already due need no change, so the statement
    /// uses the index to find the few sites that are due later. The second statement is [`SiteRow::class`] in SQL. It
    /// scans the table, which takes 0.15 s per million sites; with the index it took 4 s.
    pub(super) fn sites_reschedule(&self, now: i64, horizon: i64) -> Result<(), StoreError> {
        self.run(
            "UPDATE sites SET due = max(free, iif(again_due <= ?2, min(again_due, later_due), later_due)) \
             WHERE class IN (?3, ?4, ?5) AND due > ?1 AND later_due IS NOT NULL AND again_due IS NOT NULL \
             AND held + queued = 0 AND NOT inbox",
            (now, horizon, SEED_NEW, FOUND, SEED_VISITED),
        )?;
        self.run(
            "UPDATE sites NOT INDEXED SET class = iif(class = ?2, ?4, ?5) \
             WHERE class IN (?2, ?3) AND due > ?1 AND again_due <= ?1",
            (horizon, SEED_REVISIT, FOUND_REVISIT, SEED_VISITED, FOUND),
        )?;
        Ok(())
    }

    /// The earliest time at which a site can be leased in this crawl, and the earliest due time among the sites that
    /// have only revisits to do.
    fn sites_next(&self, horizon: i64) -> Result<(Option<i64>, Option<i64>), StoreError> {
        let sql = "SELECT min(due) FROM sites WHERE class = ?1 AND due IS NOT NULL";
        let first = |classes: &[i64]| {
            let mut first: Option<i64> = None;
            for class in classes {
                let due = self.first(sql, [class], |row| row.get(0))?.flatten();
                first = first.into_iter().chain(due).min();
            }
            Ok::<_, StoreError>(first)
        };
        let work = first(&[SEED_NEW, FOUND, SEED_VISITED])?;
        let revisit = first(&[SEED_REVISIT, FOUND_REVISIT])?;
        let within_horizon = revisit.filter(|due| *due <= horizon);
        Ok((work.into_iter().chain(within_horizon).min(), revisit))
    }

    /// Returns two times: the earliest time at which a check-out can return a lease, because a site is due or a lease
    /// expires, and the earliest due time among the sites that have only revisits to do.
    fn next_due(&self, horizon: i64) -> Result<(Option<i64>, Option<i64>), StoreError> {
        let expires = self
            .first("SELECT min(expires) FROM leases", [], |row| row.get(0))?
            .flatten();
        let (due, revisit) = self.sites_next(horizon)?;
        let due = match (due, expires) {
            (Some(due), Some(expires)) => Some(due.min(expires)),
            (due, expires) => due.or(expires),
        };
        Ok((due, revisit))
    }

    /// Total size of the database, its write-ahead log and the link runs, in bytes.
    fn disk(&self) -> Result<u64, StoreError> {
        let files = ["", "-wal"].iter().filter_map(|suffix| {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            Some(std::fs::metadata(path).ok()?.len())
        });
        let runs: Option<i64> = self
            .first("SELECT sum(bytes) FROM runs", [], |row| row.get(0))?
            .flatten();
        Ok(files.sum::<u64>() + runs.unwrap_or(0) as u64)
    }

    fn site_write(&self, sql: &str, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        self.run(
            sql,
            params![
                site.key,
                site.name,
                short_origin(&site.origin, &site.name),
                class,
                site.due,
                site.free,
                site.lease,
                site.blocked,
                site.inbox,
                site.consumed,
                site.held,
                site.queued,
                site.later,
                site.later_due,
                site.known,
                site.records,
                site.pages,
                site.keys,
                site.key_blocks,
                site.again,
                site.again_due,
                site.window,
                site.window_blocks,
                site.window_pages,
            ],
        )?;
        Ok(())
    }

    pub(super) fn totals_read(&self) -> Result<Totals, StoreError> {
        let rows = self.all("SELECT name, value FROM totals", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(Totals::from_rows(rows))
    }

    /// Write the changed counters.
    pub(super) fn totals_write(&self, totals: &mut Totals) -> Result<(), StoreError> {
        for (name, value, _) in totals.take_changes() {
            self.set_value(name, Some(value))?;
        }
        for (outcome, change) in totals.take_outcomes() {
            self.run(
                "INSERT INTO outcomes VALUES (?1, ?2) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                (outcome, change),
            )?;
        }
        Ok(())
    }

    /// Whether the database has this table. A database of an earlier layout may lack it, and a reader does not migrate
    /// the database.
    fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
        Ok(self.first(sql, [name], |_| Ok(()))?.is_some())
    }

    /// Read the keys of the problem sites, after opening and after a failed transaction.
    pub(super) fn reload_problems(&self) -> Result<(), StoreError> {
        let problems = self.problems()?;
        let keys = problems.iter().map(|site| site.key.0 as i64);
        *self.problem_keys.borrow_mut() = keys.collect();
        Ok(())
    }

    /// Number of problem sites.
    pub(super) fn problem_count(&self) -> u64 {
        self.problem_keys.borrow().len() as u64
    }

    /// Expired leases, the earliest expiry first.
    pub(super) fn leases_expired(
        &self,
        now: i64,
        count: usize,
    ) -> Result<Vec<AbandonedLease>, StoreError> {
        self.all(
            "SELECT id, site, since FROM leases WHERE expires <= ?1 ORDER BY expires LIMIT ?2",
            (now, count as i64),
            read_lease,
        )
    }

    /// All leases.
    pub(super) fn leases(&self) -> Result<Vec<AbandonedLease>, StoreError> {
        self.all("SELECT id, site, since FROM leases", [], read_lease)
    }
}

fn read_lease(row: &Row<'_>) -> rusqlite::Result<AbandonedLease> {
    Ok(AbandonedLease {
        id: row.get(0)?,
        site: row.get(1)?,
        since: row.get(2)?,
    })
}

/// The smallest key after `after`; `None` if there is none.
fn key_after(after: Option<i64>) -> Option<i64> {
    after.map_or(Some(i64::MIN), |key| key.checked_add(1))
}

fn read_site(row: &Row<'_>) -> rusqlite::Result<SiteRow> {
    let name: String = row.get(1)?;
    let origin = full_origin(row.get_ref(2)?.as_str()?, &name);
    Ok(SiteRow {
        key: row.get(0)?,
        name,
        origin,
        seed: row.get::<_, i64>(3)? % 2 == 0,
        due: row.get(4)?,
        free: row.get(5)?,
        lease: row.get(6)?,
        blocked: row.get(7)?,
        inbox: row.get(8)?,
        consumed: row.get(9)?,
        held: row.get(10)?,
        queued: row.get(11)?,
        later: row.get(12)?,
        later_due: row.get(13)?,
        known: row.get(14)?,
        records: row.get(15)?,
        pages: row.get(16)?,
        keys: row.get(17)?,
        key_blocks: row.get(18)?,
        again: row.get(19)?,
        again_due: row.get(20)?,
        window: row.get(21)?,
        window_blocks: row.get(22)?,
        window_pages: row.get(23)?,
    })
}

impl Tables for Sqlite {
    type Inbox = Inbox;

    fn snapshot<R>(
        &self,
        mut work: impl FnMut() -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        /// Maximum number of times that reading is repeated because a merge removed the file of a link run in the
        /// meantime.
        const MAX_RETRIES: usize = 5;
        for _ in 0..MAX_RETRIES {
            let snapshot = self.db.unchecked_transaction()?;
            match work() {
                // The writer has merged a link run and removed its file. Try again with the new list of link runs.
                Err(error) if error.is_missing_file() => {}
                result => return result,
            }
            drop(snapshot);
        }
        let _snapshot = self.db.unchecked_transaction()?;
        work()
    }

    fn status(&self, horizon: i64) -> Result<FrontierStatus, StoreError> {
        let sql = "SELECT outcome, count FROM outcomes ORDER BY outcome";
        let outcomes = self.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (next, disk) = (self.next_due(horizon)?, self.disk()?);
        Ok(self.totals_read()?.status(outcomes, next, disk))
    }

    fn site(&self, key: i64) -> Result<Option<SiteRow>, StoreError> {
        self.first("SELECT * FROM sites WHERE key = ?1", [key], read_site)
    }

    fn site_insert(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        self.site_write(
            "INSERT INTO sites VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
             ?19, ?20, ?21, ?22, ?23, ?24)",
            site,
            class,
        )
    }

    fn site_update(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        self.site_write(
            "UPDATE sites SET name = ?2, origin = ?3, class = ?4, due = ?5, free = ?6, lease = ?7, blocked = ?8, \
             inbox = ?9, consumed = ?10, held = ?11, queued = ?12, later = ?13, later_due = ?14, known = ?15, \
             records = ?16, pages = ?17, keys = ?18, key_blocks = ?19, again = ?20, again_due = ?21, \
             window = ?22, window_blocks = ?23, window_pages = ?24 WHERE key = ?1",
            site,
            class,
        )
    }

    fn sites_after(&self, after: Option<i64>, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let Some(from) = key_after(after) else {
            return Ok(Vec::new());
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 ORDER BY key LIMIT ?2";
        self.all(sql, (from, count as i64), read_site)
    }

    fn site_with_records(&self, after: Option<i64>) -> Result<Option<SiteRow>, StoreError> {
        let Some(from) = key_after(after) else {
            return Ok(None);
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 AND pages <> 0 ORDER BY key LIMIT 1";
        self.first(sql, [from], read_site)
    }

    fn sites_with_revisits(
        &self,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let Some(from) = key_after(after) else {
            return Ok(Vec::new());
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 AND again_due <= ?2 ORDER BY key LIMIT ?3";
        self.all(sql, (from, until, count as i64), read_site)
    }

    fn facts(&self, site: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT facts FROM facts WHERE site = ?1";
        self.first(sql, [site], |row| row.get(0))
    }

    fn facts_write(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO facts VALUES (?1, ?2) ON CONFLICT DO UPDATE SET facts = excluded.facts",
            params![site, sealed],
        )?;
        Ok(())
    }

    fn pages_insert(&self, site: i64, previous: i64, sealed: Vec<u8>) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO pages (site, previous, records) VALUES (?1, ?2, ?3)",
            params![site, previous, sealed],
        )
    }

    fn pages_block(&self, id: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let sql = "SELECT previous, records FROM pages WHERE id = ?1";
        let found = self.first(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.filter(|(previous, _)| *previous < id))
    }

    fn keys_insert(&self, site: i64, previous: i64, bytes: Vec<u8>) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO keys (site, previous, keys) VALUES (?1, ?2, ?3)",
            params![site, previous, bytes],
        )
    }

    fn keys_take(&self, _site: i64, id: i64) -> Result<(i64, Vec<u8>), StoreError> {
        let sql = "SELECT previous, keys FROM keys WHERE id = ?1";
        let found = self.first(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found = found.ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
        self.run("DELETE FROM keys WHERE id = ?1", [id])?;
        Ok(found)
    }

    fn keys_walk(
        &self,
        site: &SiteRow,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let mut id = site.keys;
        let mut statement = self.statement("SELECT previous, keys FROM keys WHERE id = ?1")?;
        while id != 0 {
            let mut rows = statement.query([id])?;
            let row = rows
                .next()?
                .ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
            let previous: i64 = row.get(0)?;
            let keys = row.get_ref(1)?.as_blob().unwrap_or_default();
            if !visit(keys) || previous >= id {
                return Err(StoreError::damaged("block of keys", id));
            }
            id = previous;
        }
        Ok(())
    }

    fn window_insert(
        &self,
        site: i64,
        previous: i64,
        count: i64,
        sealed: Vec<u8>,
    ) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO held (site, previous, count, pages) VALUES (?1, ?2, ?3, ?4)",
            params![site, previous, count, sealed],
        )
    }

    fn window_block(&self, _site: i64, id: i64) -> Result<Option<WindowBlockRow>, StoreError> {
        let sql = "SELECT previous, count, pages FROM held WHERE id = ?1";
        let found = self.first(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(found.filter(|(previous, ..)| *previous < id))
    }

    fn window_previous(&self, _site: i64, id: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT previous FROM held WHERE id = ?1";
        let found = self.first(sql, [id], |row| row.get(0))?;
        Ok(found.filter(|previous| *previous < id))
    }

    fn window_delete(&self, _site: i64, id: i64) -> Result<bool, StoreError> {
        Ok(self.run("DELETE FROM held WHERE id = ?1", [id])? > 0)
    }

    fn queue_insert(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let sql = "INSERT INTO pending (site, pages) VALUES (?1, ?2)";
        self.run(sql, params![site, sealed])?;
        Ok(())
    }

    fn queue_front(&self, site: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let sql = "SELECT id, pages FROM pending WHERE site = ?1 ORDER BY id LIMIT 1";
        self.first(sql, [site], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn queue_update(&self, _site: i64, id: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let sql = "UPDATE pending SET pages = ?2 WHERE id = ?1";
        self.run(sql, params![id, sealed])?;
        Ok(())
    }

    fn queue_delete(&self, _site: i64, id: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM pending WHERE id = ?1", [id])?;
        Ok(())
    }

    fn queue_walk(&self, site: i64, visit: &mut QueueVisitor<'_>) -> Result<(), StoreError> {
        let mut statement = self.statement("SELECT id, pages FROM pending WHERE site = ?1")?;
        let mut rows = statement.query([site])?;
        while let Some(row) = rows.next()? {
            let pages = row.get_ref(1)?.as_blob().unwrap_or_default();
            if !visit(row.get(0)?, pages)? {
                break;
            }
        }
        Ok(())
    }

    fn later_insert(
        &self,
        site: i64,
        kind: WaitKind,
        due: i64,
        sealed: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO later (site, again, due, pages) VALUES (?1, ?2, ?3, ?4)",
            params![site, kind as i64, due, sealed],
        )?;
        Ok(())
    }

    fn later_first(&self, site: i64, kind: WaitKind) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        self.first(
            "SELECT id, pages FROM later WHERE site = ?1 AND again = ?2 ORDER BY due LIMIT 1",
            params![site, kind as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    fn later_due(&self, site: i64, kind: WaitKind) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(due) FROM later WHERE site = ?1 AND again = ?2";
        let found = self.first(sql, params![site, kind as i64], |row| row.get(0))?;
        Ok(found.flatten())
    }

    fn later_ids(&self, site: i64, kind: WaitKind) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT id FROM later WHERE site = ?1 AND again = ?2";
        self.all(sql, params![site, kind as i64], |row| row.get(0))
    }

    fn later_block(&self, _site: i64, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT pages FROM later WHERE id = ?1";
        self.first(sql, [id], |row| row.get(0))
    }

    fn later_delete(&self, _site: i64, id: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM later WHERE id = ?1", [id])?;
        Ok(())
    }

    fn lease_insert(&self, site: i64, now: i64, expires: i64) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO leases (site, node, since, expires) VALUES (?1, ?2, ?3, ?4)",
            (site, &self.node, now, expires),
        )
    }

    fn lease_site(&self, id: i64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT site FROM leases WHERE id = ?1";
        self.first(sql, [id], |row| row.get(0))
    }

    fn lease_renew(&self, id: i64, expires: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE leases SET expires = ?2 WHERE id = ?1";
        Ok(self.run(sql, (id, expires))? > 0)
    }

    fn lease_delete(&self, id: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM leases WHERE id = ?1", [id])?;
        Ok(())
    }

    fn lease_entry(&self, site: &SiteRow) -> Result<Option<LeaseEntry>, StoreError> {
        let Some(id) = site.lease else {
            return Ok(None);
        };
        self.first(
            "SELECT id, node, since, expires FROM leases WHERE id = ?1",
            [id],
            |row| {
                Ok(LeaseEntry {
                    id: row.get::<_, i64>(0)? as u64,
                    node: row.get(1)?,
                    since: row.get(2)?,
                    expires: row.get(3)?,
                })
            },
        )
    }

    fn problem_write(&self, site: i64, now: i64, problem: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO problems VALUES (?1, 1, ?2, ?3) ON CONFLICT DO UPDATE SET faults = faults + 1, \
             time = excluded.time, problem = excluded.problem",
            (site, now, problem),
        )?;
        self.problem_keys.borrow_mut().insert(site);
        Ok(())
    }

    fn problem_end(&self, site: i64) -> Result<(), StoreError> {
        if self.problem_keys.borrow_mut().remove(&site) {
            self.run("DELETE FROM problems WHERE site = ?1", [site])?;
        }
        Ok(())
    }

    fn problems(&self) -> Result<Vec<ProblemSite>, StoreError> {
        if !self.has_table("problems")? {
            return Ok(Vec::new());
        }
        self.all(
            "SELECT key, name, faults, time, problem FROM problems JOIN sites ON key = site ORDER BY time DESC, key",
            [],
            |row| {
                Ok(ProblemSite {
                    key: SiteKey(row.get::<_, i64>(0)? as u64),
                    site: row.get(1)?,
                    faults: row.get(2)?,
                    time: row.get(3)?,
                    problem: row.get(4)?,
                })
            },
        )
    }

    fn seed_insert(&self, now: i64, seed: &Seed) -> Result<bool, StoreError> {
        let changed = self.run(
            "INSERT INTO seeds (url, site, path, time) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            (
                format!("{}{}", seed.origin, seed.path),
                seed.site_key.0 as i64,
                seed.path_key.0 as i64,
                now,
            ),
        )?;
        Ok(changed > 0)
    }

    fn seeds(&self) -> Result<Vec<String>, StoreError> {
        self.all("SELECT url FROM seeds ORDER BY id", [], |row| row.get(0))
    }

    fn seeds_has(&self, site: i64, path: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM seeds WHERE site = ?1 AND path = ?2";
        Ok(self.first(sql, (site, path), |_| Ok(()))?.is_some())
    }

    fn seed_settings_write(&self, site: i64, settings: &SeedSettings) -> Result<(), StoreError> {
        self.run("DELETE FROM seed_settings WHERE site = ?1", [site])?;
        if !settings.is_empty() {
            let [depth, every, max_every] = settings.columns();
            let sql = "INSERT INTO seed_settings VALUES (?1, ?2, ?3, ?4)";
            self.run(sql, (site, depth, every, max_every))?;
        }
        Ok(())
    }

    fn seed_settings(&self, site: Option<i64>) -> Result<Vec<SiteSettings>, StoreError> {
        if !self.has_table("seed_settings")? {
            return Ok(Vec::new());
        }
        self.all(
            "SELECT site, depth, every, max_every FROM seed_settings WHERE ?1 IS NULL OR site = ?1 ORDER BY site",
            [site],
            |row| {
                let columns = [row.get(1)?, row.get(2)?, row.get(3)?];
                let site = SiteKey(row.get::<_, i64>(0)? as u64);
                Ok((site, SeedSettings::of_columns(columns)))
            },
        )
    }

    fn value(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT value FROM totals WHERE name = ?1";
        self.first(sql, [name], |row| row.get(0))
    }

    fn set_value(&self, name: &str, value: Option<i64>) -> Result<(), StoreError> {
        match value {
            Some(value) => self.run(
                "INSERT INTO totals VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value",
                (name, value),
            )?,
            None => self.run("DELETE FROM totals WHERE name = ?1", [name])?,
        };
        Ok(())
    }

    fn unread_links(
        store: &Store<Sqlite>,
        site: &SiteRow,
        visit: &mut dyn FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        // The links of a link run that is being written are not passed here (`None`), because they are still in the
        // journal, which `is_gathered` searches.
        let mut runs = store.runs_read()?;
        store.runs_open(&mut runs)?;
        store.inbox_walk(&runs, None, site.key, site.consumed, visit)?;
        Ok(())
    }

    fn is_gathered(store: &Store<Sqlite>, site: i64, path: u64) -> Result<bool, StoreError> {
        let gather = store.journal_read(0, i64::MAX)?;
        let mut links = gather.links.iter();
        Ok(links.any(|link| link.site == site && link.key == path))
    }
}
