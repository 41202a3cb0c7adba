//! The rows of `sites`, and when a site is due.
//!
//! What always holds: `due` is set exactly when the site is neither leased nor blocked and has something to fetch, now
//! or at a known time. The index on `(class, due)` is the order of check-out: seeds never visited first (F6), then the
//! longest wait first (KLWF, F7).

use aranha_url::SiteKey;
use rusqlite::{Row, params};

use super::store::Store;
use super::store_error::StoreError;
use crate::{SiteEntry, SiteState};

/// A seed that was never visited. Seeds have the even classes.
const SEED_NEW: i64 = 0;
/// Found by links.
const FOUND: i64 = 1;
/// A seed where nothing waits but pages that were answered before.
const SEED_AGAIN: i64 = 2;
/// The same for a site found by links.
const FOUND_AGAIN: i64 = 3;
/// A seed that was visited, with something else to fetch.
const SEED_VISITED: i64 = 4;

/// One row of `sites`.
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
    /// A site just heard of, with nothing to fetch yet.
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
        let origin = whole_origin(row.get_ref(2)?.as_str()?, &name);
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

    /// Whether nothing waits but pages that were answered before.
    fn has_only_revisits(&self) -> bool {
        self.held + self.queued == 0 && !self.inbox && self.later_due.is_none()
    }

    /// A seed that nobody has visited yet comes before all others. From its first visit on it waits like them, or many
    /// large seeds would keep everybody else from a turn. Of revisits that were due by the horizon only the site's pause can
    /// put one off beyond it: that is work like any other.
    fn class(&self, horizon: i64) -> i64 {
        let paused = self.free > horizon && self.again_due.is_some_and(|due| due <= horizon);
        match (self.seed, self.has_only_revisits() && !paused) {
            (true, false) if self.records == 0 => SEED_NEW,
            (true, false) => SEED_VISITED,
            (false, false) => FOUND,
            (true, true) => SEED_AGAIN,
            (false, true) => FOUND_AGAIN,
        }
    }

    /// Links have arrived. A site that had nothing to do in this run has waited for nothing: a revisit beyond
    /// the horizon, long past perhaps, gives it no place before those who did wait.
    pub(super) fn receive(&mut self, now: i64, horizon: i64) {
        if self.has_only_revisits() && self.due.is_some_and(|due| due > horizon) {
            self.due = None;
        }
        self.inbox = true;
        self.schedule(now, horizon);
    }

    /// Set `due` from what there is to fetch; `now` counts for links that have just arrived. Pages to be visited again
    /// after `horizon` do not count beside others, but keep their time where they are alone.
    pub(super) fn schedule(&mut self, now: i64, horizon: i64) {
        let before = self.due;
        self.due = if self.lease.is_some() || self.blocked {
            None
        } else if self.held + self.queued > 0 {
            Some(self.free)
        } else if self.inbox {
            // Who waits already keeps the place in the queue.
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

/// `https://www.` for `https://www.example.org` at `example.org`: the name is in the row already.
fn short_origin<'a>(origin: &'a str, name: &str) -> &'a str {
    match origin.strip_suffix(name) {
        Some(prefix) if prefix.ends_with(['/', '.']) => prefix,
        _ => origin,
    }
}

fn whole_origin(short: &str, name: &str) -> String {
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

    /// Whether links wait in the site's inbox; `None` for a site never heard of.
    pub(super) fn site_inbox(&self, key: i64) -> Result<Option<bool>, StoreError> {
        self.first("SELECT inbox FROM sites WHERE key = ?1", [key], |row| {
            row.get(0)
        })
    }

    /// Newest run whose links each site has merged: some sites in the order of their keys, from this one on.
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

    /// The next sites to hand out, in order, at most `count`: seeds that were never visited first, then whoever has
    /// waited longest, for a first visit or for another.
    pub(super) fn sites_due(&self, now: i64, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let sql = "SELECT * FROM sites WHERE class = ?1 AND due <= ?2 ORDER BY due LIMIT ?3";
        let of = |class: i64, until| self.all(sql, (class, until, count as i64), SiteRow::read);
        let mut found = of(SEED_NEW, now)?;
        if found.is_empty() {
            for (class, until) in [
                (FOUND, now),
                (SEED_VISITED, now),
                (SEED_AGAIN, now.min(self.horizon)),
                (FOUND_AGAIN, now.min(self.horizon)),
            ] {
                found.append(&mut of(class, until)?);
            }
            found.sort_by_key(|site| site.due);
            found.truncate(count);
        }
        Ok(found)
    }

    /// Set `due` and class by this run's horizon where another run may have left them by its own. As
    /// [`SiteRow::schedule`] does: only sites with pages of both kinds and nothing else can differ. What is due by now is
    /// handed out anyway and needs no look, so that the index leads to the few that wait for a later try. And as
    /// [`SiteRow::class`] does: this looks at all sites, in the order of the table, in 0.15 s a million; by the index, 4 s.
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
            (self.horizon, SEED_AGAIN, FOUND_AGAIN, SEED_VISITED, FOUND),
        )?;
        Ok(())
    }

    /// When the next site is due, and when the next page is to be visited again, whether in this run or not.
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
        let again = first(&[SEED_AGAIN, FOUND_AGAIN])?;
        let now = again.filter(|due| *due <= self.horizon);
        Ok((work.into_iter().chain(now).min(), again))
    }

    /// Sites in the order of their keys, from behind `after`.
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
}
