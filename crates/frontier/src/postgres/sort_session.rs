//! The session of the sorter: a connection of its own, beside that of its node, and its transactions.
//!
//! To the database, the sorter of a node is like the sorter of another node: check-ins of its own node do not wait for it
//! either. It acts under the number of its node, so it writes nothing after the node was declared dead.
//!
//! A transaction whose outcome is unknown needs no care: what there is to sort and to merge is read from the database each
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use super::address::Address;
use super::connection::Connection;
use super::inbox::PostgresInbox;
use super::merge::Sources;
use super::tables::PostgresTables;
use super::totals::GONE;
use super::transaction::MAX_TRIES;
use crate::Options;
use crate::codec::Packer;
use crate::sites::core::Core;
use crate::sites::store::Store;
use crate::store_error::StoreError;

/// Sorts and merges links for a node.
#[derive(Debug)]
pub(super) struct Sorter {
    pub(super) core: Core<PostgresTables>,
    /// The open sources of the merge to which this sorter made the last step.
    pub(super) merging: Option<Sources>,
    /// The time of sites in simulated time; `None` for the clock of the database.
    simulated: Option<i64>,
    /// The horizon of the node.
    horizon: Arc<AtomicI64>,
}

impl Sorter {
    /// A sorter without a node. Its connection is opened when it is used.
    pub(super) fn new(
        address: Address,
        options: &Options,
        horizon: Arc<AtomicI64>,
    ) -> Result<Sorter, StoreError> {
        let packer = Packer::new().map_err(StoreError::at_file(&address.place))?;
        // It sends no links, so it need not remember any.
        let options = Options {
            recent_links: 1,
            ..options.clone()
        };
        let store = Store::new(PostgresTables::new(Connection::new(address)?), packer);
        let inbox = PostgresInbox::new(&options);
        Ok(Sorter {
            core: Core::new(store, inbox, options),
            merging: None,
            simulated: None,
            horizon,
        })
    }

    /// Act for this node from now on.
    pub(super) fn act_for(&mut self, node: i64, simulated: Option<i64>) {
        self.core.store.tables.node.set(node);
        self.simulated = simulated;
    }

    /// Read without a transaction.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&PostgresTables) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let tables = &self.core.store.tables;
        tables.connection.open()?;
        work(tables)
    }

    /// Run `work` in one transaction. `work` gets the time on the clock of the sites. Returns `None` if the node was
    /// declared dead or has left.
    pub(super) fn transact<T>(
        &mut self,
        mut work: impl FnMut(&mut Sorter, i64) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        for _ in 0..MAX_TRIES {
            match self.try_transaction(&mut work) {
                Err(error) if error.is_conflict() => {
                    tracing::debug!(?error, "a transaction of the sorter is repeated");
                }
                result => return result,
            }
        }
        Err(StoreError::Interrupted)
    }

    fn try_transaction<T>(
        &mut self,
        work: &mut impl FnMut(&mut Sorter, i64) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let result = self.begin_and_commit(work);
        let tables = &self.core.store.tables;
        tables.unit.take();
        if !matches!(result, Ok(Some(_))) {
            self.core.totals = <_>::default();
            // A rollback that fails leaves the connection in an unknown state.
            if tables.connection.batch("ROLLBACK").is_err() {
                tables.connection.close();
            }
        }
        result
    }

    fn begin_and_commit<T>(
        &mut self,
        work: &mut impl FnMut(&mut Sorter, i64) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let tables = &self.core.store.tables;
        tables.connection.open()?;
        tables.connection.batch("BEGIN")?;
        let Some(now) = tables.hold_node()? else {
            return Ok(None);
        };
        tables.unit.borrow_mut().is_writing = true;
        self.core.store.horizon = self.horizon.load(Relaxed);
        let value = work(self, self.simulated.unwrap_or(now))?;
        let core = &mut self.core;
        core.store.tables.write()?;
        // Not those of the node, because its next transaction would wait for them.
        core.store.tables.write_totals(&mut core.totals, GONE)?;
        core.store.tables.connection.batch("COMMIT")?;
        Ok(Some(value))
    }
}
