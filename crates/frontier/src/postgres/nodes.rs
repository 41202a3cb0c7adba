//! Nodes: the processes that hold leases (table `nodes`).
//!
//! A node lives until `expires`, on the clock of the database. A thread with a connection of its own moves `expires`
//! forward every eighth of the time to live. Any node declares others dead that did not: it gives their sites back, with
//! a pause from now on.
//!
//! **Fencing.** Every transaction of a node locks its row in `nodes` against being declared dead (`FOR KEY SHARE`) and
//! fails if it was. The renewal changes no key, so it does not wait for that lock; the declaration takes the row
//! `FOR UPDATE`, so it waits. A node that was declared dead writes nothing under its old number: it is registered anew,
//! and its leases are lost.
//!
//! [`Heartbeat::deadline`] is the time until which this node may send requests, counted from before it asked for the
//! renewal, on a clock that runs while the machine sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Postgres;
use super::address::Address;
use super::connection::Connection;
use super::members;
use super::tables::{COLUMNS, PostgresTables};
use crate::shared::NodeReport;
use crate::store_error::StoreError;

/// The time of the database in unix milliseconds, as an SQL expression.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::int8";
/// Share of the time to live that the deadline of a node is earlier than its expiry.
const MARGIN: u32 = 8;

/// Milliseconds since the machine was started, including the time in which it slept.
pub fn boot_time() -> i64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// The thread that keeps a node alive.
#[derive(Debug)]
pub(super) struct Heartbeat {
    node: Arc<AtomicI64>,
    deadline: Arc<AtomicI64>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(
        address: Address,
        ttl: Duration,
        report: Arc<NodeReport>,
    ) -> Result<Heartbeat, StoreError> {
        let (node, deadline) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        let (stop, stopped) = channel();
        let connection = Connection::new(address)?;
        let (shared_node, shared_deadline) = (Arc::clone(&node), Arc::clone(&deadline));
        let thread = std::thread::Builder::new()
            .name("frontier-alive".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(ttl / 8) == Err(RecvTimeoutError::Timeout) {
                    let (node, begun) = (shared_node.load(SeqCst), boot_time());
                    match renew(&connection, node, ttl, &report) {
                        Ok(true) => shared_deadline.store(begun + usable(ttl), SeqCst),
                        // The next transaction finds out that the node was declared dead.
                        Ok(false) => {}
                        Err(error) => {
                            connection.close();
                            tracing::warn!(node, ?error, "the node was not renewed");
                        }
                    }
                }
            })
            .map_err(StoreError::at_file(std::path::Path::new("thread")))?;
        Ok(Heartbeat {
            node,
            deadline,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The time until which this node may send requests, on the clock of [`boot_time`].
    pub(super) fn deadline(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.deadline)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends with the call that it is in.
            let _ = thread.join();
        }
    }
}

/// The part of the time to live in which a node may send requests, in milliseconds.
fn usable(ttl: Duration) -> i64 {
    ttl.saturating_sub(ttl / MARGIN).as_millis() as i64
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
            "INSERT INTO nodes SELECT nextval('node_ids'), $1, {NOW}, {NOW} + $2, true RETURNING node"
        );
        let ttl = self.settings.ttl;
        let node = tables.number(&sql, &[&self.settings.node, &(ttl.as_millis() as i64)])?;
        tables.node.set(node);
        self.describe()?;
        self.heartbeat.node.store(node, SeqCst);
        self.heartbeat.deadline.store(begun + usable(ttl), SeqCst);
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
        let free = now + self.settings.pause.as_millis() as i64;
        let count = sites.len() as u64;
        for before in sites {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(free);
            row.schedule(now, self.core.store.horizon);
            self.core.save(&before, &row)?;
        }
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

    /// Lock this node against being declared dead until the end of the transaction. Returns the time of the database;
    /// `None` if the node was declared dead.
    pub(super) fn hold_node(&self) -> Result<Option<i64>, StoreError> {
        let sql = format!("SELECT {NOW} FROM nodes WHERE node = $1 AND alive FOR KEY SHARE");
        let row = self.connection.first(&sql, &[&self.node.get()])?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }
}
