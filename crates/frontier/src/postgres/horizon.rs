//! Recomputes the due times of all sites after the horizon has changed ([`crate::Frontier::revisit_until`]).

use super::Postgres;
use super::tables::PostgresTables;
use crate::FrontierError;
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED};
use crate::store_error::StoreError;

/// Number of sites that one transaction examines.
const STEP: i64 = if cfg!(test) { 2 } else { 5000 };

impl Postgres {
    /// Recompute `due` and `class` of all sites. This is done in steps, so that no check-out waits until all are done.
    pub(super) fn reschedule(&mut self, now: i64) -> Result<(), FrontierError> {
        for class in [SEED_NEW, FOUND, SEED_VISITED, SEED_REVISIT, FOUND_REVISIT] {
            let mut after = None;
            loop {
                after = self.transact(now, |engine, now| {
                    let horizon = engine.core.store.horizon;
                    engine
                        .core
                        .store
                        .tables
                        .reschedule(class, now, horizon, after)
                })?;
                if after.is_none() {
                    break;
                }
            }
        }
        self.horizon_changed = false;
        Ok(())
    }
}

impl PostgresTables {
    /// Recompute the next sites of a class, in order of `due`, whose `due` is later than `after`: their `class` if they
    /// have only revisits, and otherwise their `due`. This is `schedule` and `class` of
    /// [`SiteRow`](crate::sites::site_row::SiteRow) in SQL. Returns the last due time.
    fn reschedule(
        &self,
        class: i64,
        now: i64,
        horizon: i64,
        after: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        let has_only_revisits = matches!(class, SEED_REVISIT | FOUND_REVISIT);
        let first = if has_only_revisits { horizon } else { now };
        let after = after.unwrap_or(first);
        let sql = format!(
            "SELECT max(due) FROM (SELECT due FROM sites WHERE class = {class} AND due > $1 ORDER BY due LIMIT $2) s"
        );
        let last = self.connection.first(&sql, &[&after, &STEP])?;
        let last: Option<i64> = last.map(|row| row.try_get(0)).transpose()?.flatten();
        let Some(last) = last else {
            return Ok(None);
        };
        let (set, condition) = if has_only_revisits {
            let other = if class == SEED_REVISIT {
                SEED_VISITED
            } else {
                FOUND
            };
            (format!("class = {other}"), "again_due <= $3")
        } else {
            let due = "due = greatest(free, CASE WHEN again_due <= $3 THEN least(again_due, later_due) ELSE later_due END)";
            let condition = "later_due IS NOT NULL AND again_due IS NOT NULL AND held + queued = 0 AND NOT inbox AND $3::int8 IS NOT NULL";
            (due.to_owned(), condition)
        };
        let sql = format!(
            "UPDATE sites SET {set} WHERE key IN (SELECT key FROM sites WHERE class = {class} AND due > $1 AND due <= $2 \
             AND {condition} ORDER BY key FOR UPDATE)"
        );
        self.connection.run(&sql, &[&after, &last, &horizon])?;
        Ok(Some(last))
    }
}
