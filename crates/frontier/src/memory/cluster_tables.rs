//! Rows of nodes, gates and groups of check-ins in memory.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::tables::{Database, GateRow, MemoryTables, NodeRow};
use crate::cluster::own_leases::{OwnLease, OwnLeases};
use crate::cluster::tables::ClusterTables;
use crate::sites::site_row::{FOUND, FOUND_REVISIT, SEED_NEW, SEED_REVISIT, SEED_VISITED, SiteRow};
use crate::store_error::StoreError;

/// Number of gates that are deleted at a time.
const DELETED: usize = 1000;

impl Database {
    /// Register a node. Returns its number.
    pub(super) fn register(&mut self, name: &str, now: i64, ttl: Duration) -> i64 {
        let number = self.nodes.last_key_value().map_or(1, |(last, _)| last + 1);
        let node = NodeRow {
            name: name.to_owned(),
            expires: now + ttl.as_millis() as i64,
            is_alive: true,
            is_draining: false,
            successor: None,
        };
        self.nodes.insert(number, node);
        self.taken.insert(number, 0);
        number
    }

    /// Move the expiry of a node forward. Returns false if it was declared dead.
    pub(super) fn renew(&mut self, node: i64, now: i64, ttl: Duration) -> bool {
        match self.nodes.get_mut(&node) {
            Some(node) if node.is_alive => {
                node.expires = now + ttl.as_millis() as i64;
                true
            }
            _ => false,
        }
    }

    /// A node that has expired, except this one.
    pub(super) fn expired_node(&self, now: i64, own: i64) -> Option<i64> {
        let mut nodes = self.nodes.iter();
        let expired =
            nodes.find(|(number, node)| node.is_alive && node.expires < now && **number != own);
        expired.map(|(number, _)| *number)
    }

    fn change_gate(&mut self, gate: IpAddr, change: impl FnOnce(&mut GateRow)) {
        if let Some(mut row) = self.gates.get(&gate).copied() {
            change(&mut row);
            self.set_gate(gate, row);
        }
    }

    fn rows(&self, keys: impl Iterator<Item = i64>) -> Vec<SiteRow> {
        let sites = keys.filter_map(|key| self.sites.get(&key));
        sites.map(|site| site.row.clone()).collect()
    }
}

impl ClusterTables for MemoryTables {
    fn own_leases(&self) -> &RefCell<OwnLeases> {
        &self.leases
    }

    /// Nothing is locked, because a call is not interrupted.
    fn lock_sites(&self, _keys: &[i64]) -> Result<(), StoreError> {
        Ok(())
    }

    fn sites_due(&self, now: i64, horizon: i64, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let database = self.lock();
        let of = |class: i64, until: i64| {
            let due = database.due.range((class, i64::MIN, i64::MIN)..);
            let due = due.take_while(move |(other, due, _)| *other == class && *due <= until);
            due.take(count).map(|(_, due, key)| (*due, *key))
        };
        let mut found: Vec<(i64, i64)> = of(SEED_NEW, now).collect();
        if found.is_empty() {
            let until = now.min(horizon);
            found.extend(of(FOUND, now));
            found.extend(of(SEED_VISITED, now));
            found.extend(of(SEED_REVISIT, until));
            found.extend(of(FOUND_REVISIT, until));
            found.sort_unstable();
            found.truncate(count);
        }
        Ok(database.rows(found.into_iter().map(|(_, key)| key)))
    }

    fn prepare_check_out(
        &self,
        _sites: &[SiteRow],
        _now: i64,
        _horizon: i64,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    fn gate(&self, site: i64) -> Option<IpAddr> {
        self.lock().sites.get(&site).and_then(|site| site.gate)
    }

    fn claim_gates(
        &self,
        gates: &BTreeSet<IpAddr>,
        now: i64,
    ) -> Result<HashMap<IpAddr, Duration>, StoreError> {
        let own = Some(self.node.get());
        let mut database = self.lock();
        let mut owned = HashMap::new();
        for gate in gates {
            let unknown = GateRow {
                node: None,
                free: 0,
                has_line: false,
            };
            let row = database.gates.get(gate).copied().unwrap_or(unknown);
            if row.node.is_none() || row.node == own {
                database.set_gate(*gate, GateRow { node: own, ..row });
                let closed = Duration::from_millis((row.free - now).max(0) as u64);
                owned.insert(*gate, closed);
            }
        }
        Ok(owned)
    }

    fn release_gates(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let own = self.node.get();
        let mut database = self.lock();
        for gate in gates {
            database.change_gate(*gate, |row| row.node = row.node.filter(|node| *node != own));
        }
        Ok(())
    }

    fn orphan_gates(&self, node: i64, free: i64) -> Result<(), StoreError> {
        let mut database = self.lock();
        for has_line in [false, true] {
            for gate in database.gates_of(Some(node), has_line) {
                database.change_gate(gate, |row| {
                    (row.node, row.free) = (None, row.free.max(free));
                });
            }
        }
        Ok(())
    }

    fn delete_free_gates(&self, now: i64) -> Result<(), StoreError> {
        let mut database = self.lock();
        let mut gates = database.gates_of(None, false);
        gates.retain(|gate| database.gates[gate].free <= now);
        for gate in gates.into_iter().take(DELETED) {
            database.gates.remove(&gate);
            database.gate_index.remove(&(None, false, gate));
        }
        Ok(())
    }

    fn put_in_line(&self, site: i64) {
        self.lock().change(site, |site| site.in_line = true);
    }

    fn mark_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let mut database = self.lock();
        for gate in gates {
            database.change_gate(*gate, |row| row.has_line = true);
        }
        Ok(())
    }

    fn own_gates_with_line(&self) -> Result<Vec<IpAddr>, StoreError> {
        Ok(self.lock().gates_of(Some(self.node.get()), true))
    }

    fn free_gates_with_line(&self, now: i64, count: i64) -> Result<Vec<IpAddr>, StoreError> {
        let database = self.lock();
        let mut gates = database.gates_of(None, true);
        gates.retain(|gate| database.gates[gate].free <= now);
        gates.truncate(count as usize);
        Ok(gates)
    }

    fn sites_in_line(
        &self,
        lines: &[(IpAddr, i64)],
        now: i64,
        until: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let database = self.lock();
        let is_due = |due: i64, key: i64| {
            let class = database.sites.get(&key).map_or(FOUND, |site| site.class);
            due <= if matches!(class, SEED_REVISIT | FOUND_REVISIT) {
                until
            } else {
                now
            }
        };
        let mut found = Vec::new();
        for (gate, room) in lines {
            let line = database
                .lines
                .range((*gate, i64::MIN, i64::MIN)..=(*gate, now, i64::MAX));
            let due = line.filter(|(_, due, key)| is_due(*due, *key));
            found.extend(due.take(*room as usize).map(|(_, due, key)| (*due, *key)));
        }
        found.sort_unstable();
        found.truncate(count);
        Ok(database.rows(found.into_iter().map(|(_, key)| key)))
    }

    fn leave_line(&self, gates: &[IpAddr], count: i64) -> Result<(), StoreError> {
        let mut database = self.lock();
        for gate in gates {
            let line = database
                .lines
                .range((*gate, i64::MIN, i64::MIN)..=(*gate, i64::MAX, i64::MAX));
            let keys: Vec<i64> = line.take(count as usize).map(|(.., key)| *key).collect();
            for key in keys {
                database.change(key, |site| site.in_line = false);
            }
        }
        Ok(())
    }

    fn end_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let mut database = self.lock();
        for gate in gates {
            if database.first_in_line(*gate).is_none() {
                database.change_gate(*gate, |row| row.has_line = false);
            }
        }
        Ok(())
    }

    fn node_state(&self, node: i64) -> Result<Option<(Option<i64>, bool)>, StoreError> {
        let database = self.lock();
        let node = database.nodes.get(&node);
        Ok(node.map(|node| (node.successor, node.is_alive)))
    }

    fn end_node(&self, node: i64, successor: Option<i64>) -> Result<(), StoreError> {
        if let Some(node) = self.lock().nodes.get_mut(&node) {
            (node.is_alive, node.successor) = (false, successor);
        }
        Ok(())
    }

    fn sites_of(&self, node: i64) -> Result<Vec<SiteRow>, StoreError> {
        let database = self.lock();
        Ok(database.rows(database.sites_of(node)))
    }

    fn move_leases(
        &self,
        from: i64,
        free: i64,
        expires: i64,
    ) -> Result<Vec<(i64, OwnLease)>, StoreError> {
        let mut database = self.lock();
        let keys: Vec<i64> = database.sites_of(from).collect();
        let mut moved = Vec::with_capacity(keys.len());
        for key in keys {
            database.change(key, |site| {
                site.node = Some(self.node.get());
                site.row.free = site.row.free.max(free);
                let lease = OwnLease {
                    site: key,
                    since: site.since,
                    expires,
                    gate: site.gate,
                };
                moved.extend(site.row.lease.map(|id| (id, lease)));
            });
        }
        Ok(moved)
    }

    /// There is one row of totals for all nodes.
    fn fold_totals(&self, _node: i64) -> Result<(), StoreError> {
        Ok(())
    }

    fn take_number(&self, number: i64) -> Result<bool, StoreError> {
        let mut database = self.lock();
        let newest = database.taken.entry(self.node.get()).or_default();
        let is_new = *newest < number;
        *newest = number.max(*newest);
        Ok(is_new)
    }

    fn newest_number(&self, node: i64) -> Result<i64, StoreError> {
        Ok(self.lock().taken.get(&node).copied().unwrap_or_default())
    }
}
