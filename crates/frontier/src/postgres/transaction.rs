//! Transactions. Most calls of the engine are one transaction. Some take several.
//!
//! Every transaction, also that of a check-out, is on the disk of the database when its call returns. If a crash of the
//! database could lose a lease, its site would be leased a second time.
//!
//! A transaction that conflicts with another is repeated. If the connection is lost, the call fails with an error that
//! may pass, and the next call opens the connection again. If the connection is lost during a commit, the call waits
//! until the database can tell whether the transaction was committed, because the caller must know. It waits at most
//! for the time to live of the node. After that the node gives up its number and its leases, so that a check-in that is
//! sent again is refused and cannot be stored twice. A numbered group of check-ins is an exception. Its call fails at
//! once, without asking, because the caller can send the group again (`cluster/numbered.rs`).

use std::time::{Duration, Instant};

use super::Postgres;
use crate::FrontierError;
use crate::store_error::StoreError;

/// Maximum number of times that a transaction is tried.
const MAX_TRIES: usize = 8;
/// Interval at which the database is asked whether a transaction was committed.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

impl Postgres {
    /// Run `work` in one transaction. `work` gets the engine and the time on the frontier's clock.
    pub(super) fn transact<T>(
        &mut self,
        now: i64,
        mut work: impl FnMut(&mut Postgres, i64) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        self.last_now = now;
        for _ in 0..MAX_TRIES {
            match self.try_transaction(now, &mut work) {
                Err(error) if error.is_conflict() => {
                    tracing::debug!(?error, "a transaction is repeated");
                }
                result => return result.map_err(|error| self.failed(error)),
            }
        }
        Err(self.failed(StoreError::Interrupted))
    }

    fn try_transaction<T>(
        &mut self,
        now: i64,
        work: &mut impl FnMut(&mut Postgres, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self
            .begin(now)
            .and_then(|now| work(self, now))
            .and_then(|value| {
                self.write()?;
                self.commit()?;
                Ok(value)
            });
        let tables = &self.core.store.tables;
        tables.unit.take();
        if result.is_ok() {
            tables.leases.borrow_mut().commit();
        } else {
            tables.leases.borrow_mut().roll_back();
            self.core.inbox.roll_back();
            self.core.totals = <_>::default();
            // After a failed rollback the state of the connection is unknown.
            if tables.connection.batch("ROLLBACK").is_err() {
                tables.connection.close();
            }
        }
        self.core.leased = tables.leases.borrow().held.len() as u64;
        result
    }

    /// Begin a transaction during which this node cannot be declared dead. Returns the time on the frontier's clock.
    fn begin(&mut self, now: i64) -> Result<i64, StoreError> {
        let was_away = !self.core.store.tables.connection.is_open();
        self.core.store.tables.connection.open()?;
        let database_now = loop {
            let tables = &self.core.store.tables;
            tables.connection.batch("BEGIN")?;
            if let Some(now) = tables.hold_node()? {
                break now;
            }
            tables.connection.batch("ROLLBACK")?;
            self.register()?;
        };
        let tables = &self.core.store.tables;
        tables.unit.borrow_mut().is_writing = true;
        if self.settings.is_on_database_time {
            self.shift.set(database_now - now);
        }
        if let Some(horizon) = self.horizon.take() {
            self.core.store.horizon = horizon.saturating_add(self.shift.get());
        }
        let now = now + self.shift.get();
        if was_away {
            // Visits could not renew their leases during the outage. Now they go on.
            let expires = self.core.expiry(now);
            tables.leases.borrow_mut().extend(expires);
        }
        Ok(now)
    }

    /// Write what the transaction has collected.
    pub(super) fn write(&mut self) -> Result<(), StoreError> {
        let core = &mut self.core;
        core.store.tables.write()?;
        core.store
            .journal_append(&mut core.inbox.outbox.gather, &mut core.block)?;
        core.store.tables.write_totals(&mut core.totals)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let connection = &self.core.store.tables.connection;
        let sql = "SELECT pg_current_xact_id_if_assigned()::text";
        let row = connection.first(sql, &[])?;
        let transaction: Option<String> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        let Err(error) = connection.batch("COMMIT") else {
            return Ok(());
        };
        let Some(transaction) = transaction.filter(|_| error.is_away()) else {
            return Err(error);
        };
        if self.group.is_some() {
            // The group has a number, so it can be sent again. The caller can keep it on the disk meanwhile.
            return Err(StoreError::Unanswered);
        }
        tracing::warn!(?error, "waiting for the outcome of a transaction");
        let begun = Instant::now();
        loop {
            match self.was_committed(&transaction) {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(error),
                Err(again) if again.is_away() && begun.elapsed() < self.settings.ttl => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                Err(again) => {
                    tracing::warn!(
                        ?again,
                        "the outcome of a transaction is unknown; the node starts anew"
                    );
                    // No node has this number, so the next transaction registers a new node.
                    self.core.store.tables.node.set(0);
                    *self.core.store.tables.leases.borrow_mut() = <_>::default();
                    return Err(error);
                }
            }
        }
    }

    /// Whether a transaction was committed.
    pub(super) fn was_committed(&self, transaction: &str) -> Result<bool, StoreError> {
        let connection = &self.core.store.tables.connection;
        connection.open()?;
        let sql = "SELECT pg_xact_status($1::text::xid8)";
        let row = connection.first(sql, &[&transaction])?;
        let status: Option<String> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        match status.as_deref() {
            Some("committed") => Ok(true),
            Some("in progress") => {
                // The server has not noticed yet that the connection is lost.
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = $1::text::xid8::xid";
                connection.query(sql, &[&transaction])?;
                Err(StoreError::NotConnected)
            }
            _ => Ok(false),
        }
    }

    /// Adds the address of the database to an error.
    pub(super) fn failed(&self, error: StoreError) -> FrontierError {
        error.at(&self.place)
    }
}
