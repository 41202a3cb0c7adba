//! Nodes: the processes that hold leases (table `nodes`).
//!
//! A node lives until `expires`, on the clock of the database. A thread with a connection of its own moves `expires`
//! forward every eighth of the time to live. A node that failed to do so is declared dead by any other node, which
//! releases the sites of the dead node after a pause.
//!
//! **Fencing.** Every transaction of a node locks the node's row in `nodes` (`FOR KEY SHARE`), and fails if the node
//! was declared dead. A renewal changes no key, so it does not wait for that lock. A declaration of death locks the row
//! `FOR UPDATE`, so it waits until the transaction has ended. A node that was declared dead writes nothing under its
//! old number: it is registered anew, and its leases are lost.
//!
//! `fence.rs` has the deadline of this node for sending requests. `cluster/contact.rs` decides whether it may declare
//! others dead.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Postgres;
use super::address::Address;
use super::connection::Connection;
use super::members;
use super::tables::PostgresTables;
use crate::cluster::contact::{Contact, RENEWALS};
use crate::fence::{Fence, boot_time};
use crate::shared::NodeReport;
use crate::store_error::StoreError;

/// The time of the database in unix milliseconds, as an SQL expression.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::int8";
/// The thread that keeps a node alive.
#[derive(Debug)]
pub(super) struct Heartbeat {
    contact: Arc<Contact>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(
        address: Address,
        ttl: Duration,
        report: Arc<NodeReport>,
    ) -> Result<Heartbeat, StoreError> {
        let contact = Arc::new(Contact::new(Fence::new()));
        let (stop, stopped) = channel();
        let connection = Connection::new(address)?;
        let of_thread = Arc::clone(&contact);
        let thread = std::thread::Builder::new()
            .name("frontier-alive".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(ttl / RENEWALS) == Err(RecvTimeoutError::Timeout) {
                    let is_there =
                        of_thread.beat(ttl, |node| renew(&connection, node, ttl, &report));
                    if !is_there {
                        connection.close();
                    }
                }
            })
            .map_err(StoreError::at_file(std::path::Path::new("thread")))?;
        Ok(Heartbeat {
            contact,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(super) fn fence(&self) -> Arc<Fence> {
        Arc::clone(self.contact.fence())
    }

    /// The contact with the database.
    pub(super) fn contact(&self) -> &Contact {
        &self.contact
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends after its current call.
            let _ = thread.join();
        }
        self.contact.fence().end();
    }
}

/// Move the expiry of a node forward. Returns false if it was declared dead.
fn renew(
    connection: &Connection,
    node: i64,
    ttl: Duration,
    report: &NodeReport,
) -> Result<bool, StoreError> {
    if node == 0 {
        return Ok(false);
    }
    connection.open()?;
    members::renew(connection, node, ttl.as_millis() as i64, report)
}

impl Postgres {
    /// Register this process as a new node. Leases that it had are lost.
    pub(super) fn register(&mut self) -> Result<(), StoreError> {
        let tables = &self.core.store.tables;
        *tables.leases.borrow_mut() = <_>::default();
        self.core.leased = 0;
        let begun = boot_time();
        let sql = format!(
            "WITH new AS (INSERT INTO nodes SELECT nextval('node_ids'), $1, {NOW}, {NOW} + $2, true, NULL RETURNING node), \
             first AS (INSERT INTO taken SELECT node, 0 FROM new) SELECT node FROM new"
        );
        let ttl = self.settings.ttl;
        let node = tables.number(&sql, &[&self.settings.node, &(ttl.as_millis() as i64)])?;
        tables.node.set(node);
        self.describe()?;
        self.heartbeat.contact().registered(node, begun, ttl)?;
        tracing::info!(node, name = self.settings.node, "node registered");
        Ok(())
    }

    /// Declare one expired node dead, and give its sites back. Returns false if there is none.
    pub(super) fn clean_one(&mut self, now: i64) -> Result<bool, StoreError> {
        let tables = &self.core.store.tables;
        let sql = format!(
            "SELECT node FROM nodes WHERE alive AND expires < {NOW} AND node <> $1 ORDER BY expires LIMIT 1 \
             FOR UPDATE SKIP LOCKED"
        );
        let Some(row) = tables.connection.first(&sql, &[&tables.node.get()])? else {
            return Ok(false);
        };
        let pause = self.settings.pause;
        self.core.bury(now, row.try_get(0)?, pause)?;
        Ok(true)
    }
}

impl PostgresTables {
    /// Until the end of the transaction, prevent that this node is declared dead. Returns the time of the database, or
    /// `None` if the node was declared dead already.
    pub(super) fn hold_node(&self) -> Result<Option<i64>, StoreError> {
        let sql = format!(
            "SELECT {NOW}, (SELECT version FROM layout) FROM nodes WHERE node = $1 AND alive FOR KEY SHARE"
        );
        let Some(row) = self.connection.first(&sql, &[&self.node.get()])? else {
            return Ok(None);
        };
        // A node of a newer version may have migrated the tables meanwhile.
        super::migrations::check(row.try_get(1)?)?;
        Ok(Some(row.try_get(0)?))
    }
}
