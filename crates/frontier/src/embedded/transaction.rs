//! Transactions. Every call of the engine is one transaction, except `make_all_due` and `bring_revisits_forward`, which
//! take several.

use std::time::{Duration, Instant};

use super::Embedded;
use crate::FrontierError;
use crate::sites::totals::Count;
use crate::store_error::StoreError;

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
            if !self.core.store.tables.db.is_autocommit() {
                // A failure of the rollback is ignored, because the first error is the one to report.
                let _ = self.core.store.tables.db.execute_batch("ROLLBACK");
            }
            self.stale = true;
            error.at(&self.core.store.tables.path)
        })
    }

    fn begin(&mut self, durable: bool) -> Result<(), StoreError> {
        if self.durable != Some(durable) {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.core
                .store
                .tables
                .db
                .pragma_update(None, "synchronous", level)?;
            self.durable = Some(durable);
        }
        if self.stale {
            self.reload()?;
        }
        self.core.store.tables.run("BEGIN IMMEDIATE", [])?;
        Ok(())
    }

    fn reload(&mut self) -> Result<(), StoreError> {
        let core = &mut self.core;
        core.totals = core.store.tables.totals_read()?;
        core.inbox.reload(&core.store)?;
        core.leased = core.store.tables.leases()?.len() as u64;
        core.store.tables.reload_problems()?;
        self.horizon_changed = true;
        self.stale = false;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let core = &mut self.core;
        core.totals
            .set(Count::Gathered, core.inbox.gathered() as i64);
        core.totals.set(Count::Runs, core.inbox.runs.len() as i64);
        core.store.tables.totals_write(&mut core.totals)?;
        core.store.tables.run("COMMIT", [])?;
        // SQLite does not sync a transaction without changes, so earlier transactions may still be unsynced. Therefore
        // the log is synced here before obsolete files are removed. A failed sync is not returned as an error, because
        // the transaction is committed. The files then stay until the next durable commit.
        let has_obsolete = self.durable == Some(true) && !core.inbox.obsolete_files.is_empty();
        if has_obsolete && core.store.tables.sync().is_ok() {
            core.inbox.remove_obsolete_files();
        }
        Ok(())
    }
}
