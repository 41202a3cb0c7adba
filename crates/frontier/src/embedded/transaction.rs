//! Transactions. Every call of the engine is one transaction, except `make_all_due` and `bring_revisits_forward`, which
//! take several.

use std::time::{Duration, Instant};

use super::Embedded;
use super::sites::SiteRow;
use super::store_error::StoreError;
use super::totals::Count;
use crate::FrontierError;

/// Transactions that take longer than this are logged.
const SLOW_TRANSACTION: Duration = Duration::from_secs(1);

impl Embedded {
    /// Run `work` in one transaction. If it fails, the database is rolled back and the state in memory is read again
    /// before the next transaction.
    pub(super) fn transact<T>(
        &mut self,
        durable: bool,
        work: impl FnOnce(&mut Embedded) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        let begun = Instant::now();
        let result = self
            .begin(durable)
            .and_then(|()| work(self))
            .and_then(|value| self.commit().map(|()| value));
        let elapsed = begun.elapsed();
        if elapsed > SLOW_TRANSACTION {
            tracing::info!(ms = elapsed.as_millis() as u64, durable, "slow transaction");
        }
        result.map_err(|error| {
            if !self.store.db.is_autocommit() {
                // A failure of the rollback is ignored, because the first error is the one to report.
                let _ = self.store.db.execute_batch("ROLLBACK");
            }
            self.stale = true;
            error.at(&self.store.path)
        })
    }

    fn begin(&mut self, durable: bool) -> Result<(), StoreError> {
        if self.durable != Some(durable) {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.store.db.pragma_update(None, "synchronous", level)?;
            self.durable = Some(durable);
        }
        if self.stale {
            self.reload()?;
        }
        self.store.run("BEGIN IMMEDIATE", [])?;
        Ok(())
    }

    fn reload(&mut self) -> Result<(), StoreError> {
        self.totals = self.store.totals_read()?;
        self.inbox.reload(&self.store)?;
        self.leased = self.store.leases_of(None)?.len() as u64;
        self.problems = self
            .store
            .problems_read()?
            .iter()
            .map(|site| site.key.0 as i64)
            .collect();
        self.horizon_changed = true;
        self.stale = false;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.totals
            .set(Count::Gathered, self.inbox.gathered() as i64);
        self.totals.set(Count::Runs, self.inbox.runs.len() as i64);
        self.store.totals_write(&mut self.totals)?;
        self.store.run("COMMIT", [])?;
        // SQLite does not sync a transaction without changes, so earlier transactions may still be unsynced. Therefore
        // the log is synced here before obsolete files are removed. A failed sync is not returned as an error, because
        // the transaction is committed; the files stay until the next durable commit.
        let has_obsolete = self.durable == Some(true) && !self.inbox.obsolete_files.is_empty();
        if has_obsolete && self.store.sync().is_ok() {
            self.inbox.remove_obsolete_files();
        }
        Ok(())
    }

    /// Write the row of a site if it changed.
    pub(super) fn save(&mut self, before: &SiteRow, after: &SiteRow) -> Result<(), StoreError> {
        if before != after {
            self.store.site_update(after)?;
            self.totals.site(Some(before), after);
        }
        Ok(())
    }
}
