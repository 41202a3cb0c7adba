//! The rows of the table `sites`, and the computation of the time at which a site is due.
//!
//! Invariant: `due` is set if and only if the site is neither leased nor blocked and has pages to fetch, now or at a
//! known time. The index on `(class, due)` gives the order of check-out: first seed sites that were never visited (F6),
//! then the sites that have waited longest (KLWF, F7).

use aranha_url::SiteKey;
use rusqlite::{Row, params};

use super::store::Store;
use super::store_error::StoreError;
use crate::{SiteEntry, SiteState};

/// Class of a seed site that was never visited. The classes of seed sites have even numbers.
const SEED_NEW: i64 = 0;
/// Class of a site that was found by links.
const FOUND: i64 = 1;
/// Class of a seed site that has only revisits to do.
const SEED_REVISIT: i64 = 2;
/// Class of a site that was found by links and has only revisits to do.
const FOUND_REVISIT: i64 = 3;
/// Class of a seed site that was visited and has pages to fetch besides revisits.
const SEED_VISITED: i64 = 4;

/// One row of `sites`. The columns are described in `schema.sql`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SiteRow {
    pub(super) key: i64,
    pub(super) name: String,
    pub(super) origin: String,
    pub(super) seed: bool,
    pub(super) due: Option<i64>,
    pub(super) free: i64,
    pub(super) lease: Option<i64>,
    pub(super) blocked: bool,
    pub(super) inbox: bool,
    pub(super) consumed: i64,
    pub(super) held: i64,
    pub(super) queued: i64,
    pub(super) later: i64,
    pub(super) later_due: Option<i64>,
    pub(super) known: i64,
    pub(super) records: i64,
    pub(super) pages: i64,
    pub(super) keys: i64,
    pub(super) key_blocks: i64,
    pub(super) again: i64,
    pub(super) again_due: Option<i64>,
    pub(super) window: i64,
    pub(super) window_blocks: i64,
    pub(super) window_pages: i64,
}

impl SiteRow {
    /// A new site without pages.
    pub(super) fn new(key: i64, name: &str, origin: &str, consumed: i64) -> SiteRow {
        SiteRow {
            key,
            name: name.to_owned(),
            origin: origin.to_owned(),
            seed: false,
            due: None,
            free: 0,
            lease: None,
            blocked: false,
            inbox: false,
            consumed,
            held: 0,
            queued: 0,
            later: 0,
            later_due: None,
            known: 0,
            records: 0,
            pages: 0,
            keys: 0,
            key_blocks: 0,
            again: 0,
            again_due: None,
            window: 0,
            window_blocks: 0,
            window_pages: 0,
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<SiteRow> {
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

    pub(super) fn state(&self) -> SiteState {
        if self.lease.is_some() {
            SiteState::Leased
        } else if self.blocked {
            SiteState::Blocked
        } else if self.due.is_some() {
            SiteState::Waiting
        } else {
            SiteState::Idle
        }
    }

    /// Whether the site has nothing to fetch except revisits.
    fn has_only_revisits(&self) -> bool {
        self.held + self.queued == 0 && !self.inbox && self.later_due.is_none()
    }

    /// The class for the order of check-out. A seed site has precedence only until its first visit; otherwise many
    /// large seed sites would exclude all other sites. A site in a revisit class is not leased if it is due after the
    /// horizon. If a revisit is due by the horizon but the courtesy pause ends after the horizon, the site gets another
    /// class, so that the revisit is still done in this crawl.
    fn class(&self, horizon: i64) -> i64 {
        let paused = self.free > horizon && self.again_due.is_some_and(|due| due <= horizon);
        match (self.seed, self.has_only_revisits() && !paused) {
            (true, false) if self.records == 0 => SEED_NEW,
            (true, false) => SEED_VISITED,
            (false, false) => FOUND,
            (true, true) => SEED_REVISIT,
            (false, true) => FOUND_REVISIT,
        }
    }

    /// Record that links have arrived in the inbox. If the site had only revisits after the horizon, its wait begins
    /// now: the due time of the revisits must not give it precedence over sites that have waited longer.
    pub(super) fn receive_links(&mut self, now: i64, horizon: i64) {
        if self.has_only_revisits() && self.due.is_some_and(|due| due > horizon) {
            self.due = None;
        }
        self.inbox = true;
        self.schedule(now, horizon);
    }

    /// Compute `due` from the pages to fetch. A site with new links in its inbox is due from `now` on. If the site has
    /// retries, revisits after the horizon are ignored. If it has only revisits, `due` is the time of the first
    /// revisit, even if that is after the horizon.
    pub(super) fn schedule(&mut self, now: i64, horizon: i64) {
        let before = self.due;
        self.due = if self.lease.is_some() || self.blocked {
            None
        } else if self.held + self.queued > 0 {
            Some(self.free)
        } else if self.inbox {
            // A site that waits already keeps its due time.
            let arrived = before.map_or(now, |due| due.min(now));
            Some(arrived.max(self.free))
        } else {
            let again = self.again_due;
            let due = match self.later_due {
                Some(later) => Some(
                    again
                        .filter(|due| *due <= horizon)
                        .map_or(later, |due| due.min(later)),
                ),
                None => again,
            };
            due.map(|due| due.max(self.free))
        };
    }

    pub(super) fn entry(&self) -> SiteEntry {
        SiteEntry {
            site: self.name.clone(),
            key: SiteKey(self.key as u64),
            seed: self.seed,
            state: self.state(),
            due: self.due,
            known: self.known as u64,
            queued: (self.held + self.queued) as u64,
            retry: self.later as u64,
            revisit: self.again as u64,
            records: self.records as u64,
            inbox: self.inbox,
        }
    }
}

/// The origin without the name of the site, such as `https://www.`. The name is not stored twice, because the row has
/// it in another column. [`full_origin`] is the inverse.
fn short_origin<'a>(origin: &'a str, name: &str) -> &'a str {
    match origin.strip_suffix(name) {
        Some(prefix) if prefix.ends_with(['/', '.']) => prefix,
        _ => origin,
    }
}

fn full_origin(short: &str, name: &str) -> String {
    if short.ends_with(['/', '.']) {
        format!("{short}{name}")
    } else {
        short.to_owned()
    }
}

impl Store {
    pub(super) fn site(&self, key: i64) -> Result<Option<SiteRow>, StoreError> {
        self.first("SELECT * FROM sites WHERE key = ?1", [key], SiteRow::read)
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

    pub(super) fn site_insert(&self, site: &SiteRow) -> Result<(), StoreError> {
        self.site_write(
            "INSERT INTO sites VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
             ?19, ?20, ?21, ?22, ?23, ?24)",
            site,
        )
    }

    pub(super) fn site_update(&self, site: &SiteRow) -> Result<(), StoreError> {
        self.site_write(
            "UPDATE sites SET name = ?2, origin = ?3, class = ?4, due = ?5, free = ?6, lease = ?7, blocked = ?8, \
             inbox = ?9, consumed = ?10, held = ?11, queued = ?12, later = ?13, later_due = ?14, known = ?15, \
             records = ?16, pages = ?17, keys = ?18, key_blocks = ?19, again = ?20, again_due = ?21, \
             window = ?22, window_blocks = ?23, window_pages = ?24 WHERE key = ?1",
            site,
        )
    }

    fn site_write(&self, sql: &str, site: &SiteRow) -> Result<(), StoreError> {
        self.run(
            sql,
            params![
                site.key,
                site.name,
                short_origin(&site.origin, &site.name),
                site.class(self.horizon),
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

    /// The next sites to lease, at most `count`: seed sites that were never visited, or, if there are none, the sites
    /// that have waited longest.
    pub(super) fn sites_due(&self, now: i64, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let sql = "SELECT * FROM sites WHERE class = ?1 AND due <= ?2 ORDER BY due LIMIT ?3";
        let of = |class: i64, until| self.all(sql, (class, until, count as i64), SiteRow::read);
        let mut found = of(SEED_NEW, now)?;
        if found.is_empty() {
            for (class, until) in [
                (FOUND, now),
                (SEED_VISITED, now),
                (SEED_REVISIT, now.min(self.horizon)),
                (FOUND_REVISIT, now.min(self.horizon)),
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
    /// The first statement is [`SiteRow::schedule`] in SQL. The horizon affects `due` only for sites that have retries,
    /// revisits and nothing else. Sites that are already due need no change, so the statement uses the index to find
    /// the few sites that are due later. The second statement is [`SiteRow::class`] in SQL. It scans the table, which
    /// takes 0.15 s per million sites; with the index it took 4 s.
    pub(super) fn sites_reschedule(&self, now: i64) -> Result<(), StoreError> {
        self.run(
            "UPDATE sites SET due = max(free, iif(again_due <= ?2, min(again_due, later_due), later_due)) \
             WHERE class IN (?3, ?4, ?5) AND due > ?1 AND later_due IS NOT NULL AND again_due IS NOT NULL \
             AND held + queued = 0 AND NOT inbox",
            (now, self.horizon, SEED_NEW, FOUND, SEED_VISITED),
        )?;
        self.run(
            "UPDATE sites NOT INDEXED SET class = iif(class = ?2, ?4, ?5) \
             WHERE class IN (?2, ?3) AND due > ?1 AND again_due <= ?1",
            (
                self.horizon,
                SEED_REVISIT,
                FOUND_REVISIT,
                SEED_VISITED,
                FOUND,
            ),
        )?;
        Ok(())
    }

    /// The earliest time at which a site can be leased in this crawl, and the earliest due time among the sites that
    /// have only revisits to do.
    pub(super) fn sites_next(&self) -> Result<(Option<i64>, Option<i64>), StoreError> {
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
        let within_horizon = revisit.filter(|due| *due <= self.horizon);
        Ok((work.into_iter().chain(within_horizon).min(), revisit))
    }

    /// Up to `count` sites with keys greater than `after`, in order of key.
    pub(super) fn sites_after(
        &self,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let Some(from) = after.map_or(Some(i64::MIN), |key| key.checked_add(1)) else {
            return Ok(Vec::new());
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 ORDER BY key LIMIT ?2";
        self.all(sql, (from, count as i64), SiteRow::read)
    }

    /// The first site with a key greater than `after` that has page records.
    pub(super) fn site_with_records(
        &self,
        after: Option<i64>,
    ) -> Result<Option<SiteRow>, StoreError> {
        let Some(from) = after.map_or(Some(i64::MIN), |key| key.checked_add(1)) else {
            return Ok(None);
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 AND pages <> 0 ORDER BY key LIMIT 1";
        self.first(sql, [from], SiteRow::read)
    }

    /// Up to `count` sites with keys greater than `after` whose earliest revisit is due by `until`, in order of key.
    pub(super) fn sites_with_revisits(
        &self,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let Some(from) = after.map_or(Some(i64::MIN), |key| key.checked_add(1)) else {
            return Ok(Vec::new());
        };
        let sql = "SELECT * FROM sites WHERE key >= ?1 AND again_due <= ?2 ORDER BY key LIMIT ?3";
        self.all(sql, (from, until, count as i64), SiteRow::read)
    }
}
