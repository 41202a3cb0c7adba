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
//! `fence.rs` has the deadline of this node for sending requests.
//!
//! **An outage of the database kills no node.** A node declares others dead only after it was in contact with the
//! database for a while without interruption. This gives the other nodes time to renew their expiry.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Postgres;
use super::address::Address;
use super::connection::Connection;
use super::members;
use super::tables::{COLUMNS, PostgresTables};
use crate::fence::{Fence, boot_time};
use crate::shared::NodeReport;
use crate::store_error::StoreError;

/// The time of the database in unix milliseconds, as an SQL expression.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::int8";
/// A node may declare others dead when its contact with the database has lasted for the time to live divided by this
/// number. The others try to renew at least twice in that time.
const CONTACT: u32 = 3;
const RENEWALS: u32 = 8;

/// The thread that keeps a node alive.
#[derive(Debug)]
pub(super) struct Heartbeat {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread shares with the node.
#[derive(Debug)]
struct Shared {
    node: AtomicI64,
    fence: Arc<Fence>,
    /// When the uninterrupted contact with the database began, as [`boot_time`].
    contact_since: AtomicI64,
}

impl Heartbeat {
    pub(super) fn start(
        address: Address,
        ttl: Duration,
        report: Arc<NodeReport>,
    ) -> Result<Heartbeat, StoreError> {
        let shared = Arc::new(Shared {
            node: AtomicI64::new(0),
            fence: Arc::new(Fence::new()),
            contact_since: AtomicI64::new(boot_time()),
        });
        let (stop, stopped) = channel();
        let connection = Connection::new(address)?;
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("frontier-alive".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(ttl / RENEWALS) == Err(RecvTimeoutError::Timeout) {
                    of_thread.beat(&connection, ttl, &report);
                }
            })
            .map_err(StoreError::at_file(std::path::Path::new("thread")))?;
        Ok(Heartbeat {
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(super) fn fence(&self) -> Arc<Fence> {
        Arc::clone(&self.shared.fence)
    }

    /// Record that the node was registered.
    fn registered(&self, node: i64, asked: i64, ttl: Duration) -> Result<(), StoreError> {
        self.shared.node.store(node, SeqCst);
        self.shared.renewed(node, asked, ttl)
    }

    /// Whether this node may declare others dead.
    pub(super) fn may_judge(&self, ttl: Duration) -> bool {
        let contact = boot_time() - self.shared.contact_since.load(SeqCst);
        contact >= (ttl / CONTACT).as_millis() as i64
    }

    /// Pretend that the contact with the database began long ago.
    #[cfg(test)]
    pub(super) fn assume_contact(&self) {
        self.shared.contact_since.store(i64::MIN / 2, SeqCst);
    }
}

impl Shared {
    /// Renew the node once.
    fn beat(&self, connection: &Connection, ttl: Duration, report: &NodeReport) {
        let (node, asked) = (self.node.load(SeqCst), boot_time());
        let renewed = renew(connection, node, ttl, report).and_then(|is_alive| {
            if is_alive {
                return self.renewed(node, asked, ttl);
            }
            // The next transaction finds out that the node was declared dead.
            Ok(())
        });
        if let Err(error) = renewed {
            connection.close();
            self.contact_since.store(i64::MAX, SeqCst);
            tracing::warn!(node, ?error, "the node was not renewed");
        } else {
            self.contact_since.fetch_min(boot_time(), SeqCst);
        }
    }

    fn renewed(&self, node: i64, asked: i64, ttl: Duration) -> Result<(), StoreError> {
        let renewed = self.fence.renew(node as u64, asked, ttl);
        renewed.map_err(StoreError::at_file(std::path::Path::new("timer")))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends after its current call.
            let _ = thread.join();
        }
        self.shared.fence.end();
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
        self.heartbeat.registered(node, begun, ttl)?;
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
        self.bury(now, row.try_get(0)?)?;
        Ok(true)
    }

    /// Declare a node dead, and give its sites back. Returns the number of sites.
    pub(super) fn bury(&mut self, now: i64, dead: i64) -> Result<u64, StoreError> {
        let tables = &self.core.store.tables;
        let sql = "UPDATE nodes SET alive = false WHERE node = $1";
        tables.connection.run(sql, &[&dead])?;
        let sites = tables.sites_of(dead)?;
        tracing::warn!(node = dead, sites = sites.len(), "a node is dead");
        // The node may have sent a request to any of its sites just before it ended.
        let free = self.after_pause(now);
        let count = sites.len() as u64;
        for before in sites {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(free);
            row.schedule(now, self.core.store.horizon);
            self.core.save(&before, &row)?;
        }
        self.core.store.tables.orphan_gates(dead, free)?;
        self.core.store.tables.fold_totals(dead)?;
        Ok(count)
    }
}

impl PostgresTables {
    /// Read and lock the sites that a node holds.
    fn sites_of(&self, node: i64) -> Result<Vec<crate::sites::site_row::SiteRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sites WHERE node = $1 ORDER BY key FOR UPDATE");
        let rows = self.connection.query(&sql, &[&node])?;
        self.keep_sites(&rows)
    }

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
