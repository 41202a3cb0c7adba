//! Commands of operators for nodes: drain a node, and release the sites that it holds.

use super::Postgres;
use super::members::read_nodes;
use crate::sites::tables::Tables as _;
use crate::{FrontierError, NodeEntry, NodeState};
use aranha_url::SiteKey;

/// What [`Postgres::unlock_site`] found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unlocked {
    /// The site was given back.
    Done,
    /// The frontier does not know the site.
    Unknown,
    /// No node holds the site.
    Free,
    /// This node holds the site, and it is alive.
    HeldBy(String),
}

impl Postgres {
    /// The nodes with this name or number that were not declared dead and have not left.
    pub fn nodes_named(&mut self, name: &str) -> Result<Vec<NodeEntry>, FrontierError> {
        let number = name.parse::<i64>().unwrap_or(-1);
        self.read(|store| {
            let condition = "n.alive AND n.folder IS NOT NULL AND (n.name = $1 OR n.node = $2)";
            read_nodes(&store.tables.connection, condition, &[&name, &number])
        })
    }

    /// Ask a node to finish its visits and end. Returns false if it is not alive.
    pub fn drain(&mut self, node: i64) -> Result<bool, FrontierError> {
        self.transact(self.last_now, |engine, _| {
            let connection = &engine.core.store.tables.connection;
            let sql = "UPDATE nodes SET is_draining = true WHERE node = $1 AND alive";
            Ok(connection.run(sql, &[&node])? == 1)
        })
    }

    /// Declare a node dead at once, and give its sites back. These sites can be visited after the pause for sites of
    /// dead nodes. Returns the number of sites; `None` if the node has ended already.
    pub fn unlock_node(&mut self, now: i64, node: i64) -> Result<Option<u64>, FrontierError> {
        self.transact(now, |engine, now| {
            let connection = &engine.core.store.tables.connection;
            let sql = "SELECT 1 FROM nodes WHERE node = $1 AND alive FOR UPDATE";
            if connection.first(sql, &[&node])?.is_none() {
                return Ok(None);
            }
            let pause = engine.settings.pause;
            engine.core.bury(now, node, pause).map(Some)
        })
    }

    /// Give back one site, unless the node that holds it is alive and `force` is false.
    pub fn unlock_site(
        &mut self,
        now: i64,
        site: &str,
        force: bool,
    ) -> Result<Unlocked, FrontierError> {
        let key = SiteKey::of(site).0 as i64;
        self.transact(now, |engine, now| {
            let tables = &engine.core.store.tables;
            tables.lock_sites(&[key])?;
            let Some(before) = tables.site(key)? else {
                return Ok(Unlocked::Unknown);
            };
            if before.lease.is_none() {
                return Ok(Unlocked::Free);
            }
            let condition = "n.node = (SELECT node FROM sites WHERE key = $1)";
            let holder = read_nodes(&tables.connection, condition, &[&key])?;
            let is_alive =
                |node: &&NodeEntry| matches!(node.state, NodeState::Alive | NodeState::Draining);
            if let Some(node) = holder.iter().find(is_alive)
                && !force
            {
                return Ok(Unlocked::HeldBy(node.name.clone()));
            }
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(now + engine.settings.pause.as_millis() as i64);
            row.schedule(now, engine.core.store.horizon);
            engine.core.save(&before, &row)?;
            Ok(Unlocked::Done)
        })
    }

    /// Declare all nodes dead that did not renew in time, and give their sites back. Returns the number of nodes.
    pub fn clean_up(&mut self, now: i64) -> Result<u64, FrontierError> {
        let mut nodes = 0;
        while self.transact(now, Postgres::clean_one)? {
            nodes += 1;
        }
        Ok(nodes)
    }
}
