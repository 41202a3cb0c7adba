//! The engine in memory: a frontier that several nodes in one process share, for simulations (`crates/simulation`).
//!
//! It stores rows and blocks in maps. What happens to a site is the same code as in the other engines (`sites/`), and so are
//! the rules by which nodes share the frontier (`cluster/`): fencing, dead nodes, gates, lines, groups that are sent twice.
//! It passes the same suite. It lacks what only a database has: transactions that wait for each other, and files.
//!
//! - **The caller gives the time**, and every call takes no time.
//! - **The same calls give the same results.** Every map that is iterated over is sorted.
//! - The database can be **away**, for one node or for all ([`MemoryFrontier::set_away`]): then calls fail with an error
//!   that may pass, as after the loss of a connection.
//!
//! Read first: [`MemoryFrontier`], then `node.rs`.

mod cluster_tables;
mod inbox;
mod node;
mod shared;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aranha_url::SiteKey;

use crate::cluster::contact::{Contact, RENEWALS};
use crate::codec::Packer;
use crate::reader::View;
use crate::sites::listing::StoreReader;
use crate::sites::store::Store;
use crate::store_error::StoreError;
use crate::{FrontierError, NodeSettings, Options};

pub use node::MemoryNode;
use tables::{Database, MemoryTables};

/// The place in error messages.
const PLACE: &str = "memory";

/// A frontier in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryFrontier(Arc<Mutex<Database>>);

impl MemoryFrontier {
    /// An empty frontier.
    pub fn new() -> MemoryFrontier {
        MemoryFrontier::default()
    }

    /// Join the crawl as a new node. Of the settings, only the name, the time to live and the pause are used. Call this
    /// within a tokio runtime, whose clock the deadline of the node follows.
    pub fn open_node(
        &self,
        now: i64,
        options: Options,
        settings: NodeSettings,
    ) -> Result<MemoryNode, FrontierError> {
        MemoryNode::open(self.clone(), now, options, settings)
    }

    /// Open the frontier for reading.
    pub fn view(&self) -> Result<View, FrontierError> {
        Ok(View::of(StoreReader {
            store: Store::new(MemoryTables::new(self.clone(), 0), packer()?),
            place: PLACE.into(),
            writer: None,
            leases_are_abandoned: false,
        }))
    }

    /// Let the database be away for all nodes, or be back. Groups of check-ins that nodes with an odd number send first in
    /// an outage are stored, but not answered, as if the connection was lost while they were committed.
    pub fn set_away(&self, is_away: bool) {
        let mut database = self.lock();
        database.is_away = is_away;
        if is_away {
            let odd = database.nodes.keys().filter(|node| *node % 2 == 1);
            database.unanswered = odd.copied().collect();
        }
    }

    /// Ask a node to finish its visits and end.
    pub fn drain(&self, node: u64) {
        if let Some(node) = self.lock().nodes.get_mut(&(node as i64)) {
            node.is_draining = true;
        }
    }

    /// The sites that a node holds.
    pub fn sites_of(&self, node: u64) -> Vec<SiteKey> {
        let database = self.lock();
        let sites = database.sites_of(node as i64);
        sites.map(|site| SiteKey(site as u64)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The link between a node and the frontier: it keeps the node alive, and can be cut.
#[derive(Clone, Debug)]
pub struct NodeLink {
    frontier: MemoryFrontier,
    contact: Arc<Contact>,
    ttl: Duration,
    state: Arc<Mutex<LinkState>>,
    ignores_deadline: bool,
}

/// Whether calls of a node reach the frontier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkState {
    Whole,
    /// The node cannot reach the database.
    Cut,
    /// The process of the node has ended, so that its calls have no effect.
    Ended,
}

impl NodeLink {
    /// Time between two signs of life.
    pub fn interval(&self) -> Duration {
        self.ttl / RENEWALS
    }

    /// Give a sign of life. A node that gives none for its time to live is declared dead.
    pub fn beat(&self, now: i64) {
        self.contact.beat(self.ttl, |node| {
            let renewed = self
                .check()
                .map(|()| self.frontier.lock().renew(node, now, self.ttl));
            if self.ignores_deadline {
                return Ok(true);
            }
            renewed
        });
    }

    /// Cut the link to the database, or mend it.
    pub fn set_cut(&self, is_cut: bool) {
        let state = if is_cut {
            LinkState::Cut
        } else {
            LinkState::Whole
        };
        self.set(state);
    }

    /// The process of the node has ended, as by `kill -9`: no further call has an effect.
    pub fn kill(&self) {
        self.set(LinkState::Ended);
        self.contact.fence().end();
    }

    /// From now on, let the node send requests while it cannot reach the database. A test of courtesy must then fail.
    pub fn ignore_deadline(&mut self) {
        self.ignores_deadline = true;
    }

    fn set(&self, state: LinkState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Whether a call reaches the frontier.
    fn check(&self) -> Result<(), StoreError> {
        let state = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            LinkState::Whole if self.frontier.lock().is_away => Err(StoreError::NotConnected),
            LinkState::Whole => Ok(()),
            LinkState::Cut => Err(StoreError::NotConnected),
            LinkState::Ended => Err(StoreError::Damaged(
                "node: its process has ended".to_owned(),
            )),
        }
    }
}

fn packer() -> Result<Packer, FrontierError> {
    Packer::new().map_err(|source| FrontierError::File {
        path: PLACE.into(),
        source,
    })
}
