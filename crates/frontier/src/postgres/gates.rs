//! The gates of addresses (table `gates`): an address has one owner among the nodes (F8; invariant 2 in a cluster).
//!
//! - A check-out claims the gates of the sites that it leases. A visit that finds its site at another address claims
//!   the gate of that address.
//! - A due site whose gate belongs to another node is put **in line**: it leaves the queue of due sites, and the owner of
//!   the gate takes it from the line. So an address with very many sites lives on one node, and the check-outs of other
//!   nodes do not meet its sites again and again.
//! - A node has at most [`SITES_PER_GATE`] sites of a gate at a time, because requests to one address are sent one
//!   after another. Further sites wait in line.
//! - A node gives a gate back when it has not used it for a while. If a node leaves or is declared dead, its gates are
//!   closed for a pause, because the time of its last request is not known. Each second, some sites in line for a gate
//!   without an owner return to the queue; the node that leases one of them becomes the owner.
//!
//! Times are on the clock of the database. A node is told how much time remains, so its own clock does not matter.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::Postgres;
use super::tables::{COLUMNS, PostgresTables};
use crate::sites::site_row::{FOUND_REVISIT, SEED_REVISIT, SiteRow};
use crate::store_error::StoreError;
use crate::{FrontierError, GateClaim};

/// Maximum number of sites of one gate that a node visits at a time.
pub(super) const SITES_PER_GATE: usize = 16;
/// Number of sites per gate without an owner that return from the line to the queue in one step.
const PROMOTED: i64 = 4;
/// Number of gates without an owner that are looked at in one step.
const ORPHANS: i64 = 64;

/// What happens to a due site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It is leased.
    Now,
    /// It is put in line for its gate.
    InLine,
}

/// Decides which due sites are leased. Takes the gate of each site (in order of due time), the gates that this node
/// owns, and the number of sites that it has leased for each gate. A site without a known gate is leased, because only
/// a visit can find its address.
pub(super) fn turns(
    gates: &[Option<IpAddr>],
    owned: &HashMap<IpAddr, Duration>,
    held: &HashMap<IpAddr, usize>,
) -> Vec<Turn> {
    let mut held = held.clone();
    let decide = |gate: &Option<IpAddr>| {
        let Some(gate) = gate else { return Turn::Now };
        let count = held.entry(*gate).or_default();
        if !owned.contains_key(gate) || *count >= SITES_PER_GATE {
            return Turn::InLine;
        }
        *count += 1;
        Turn::Now
    };
    gates.iter().map(decide).collect()
}

impl Postgres {
    /// Whether the pause per address is kept across nodes.
    pub(super) fn has_gates(&self) -> bool {
        !self.settings.pause.is_zero()
    }

    pub(super) fn claim_one_gate(
        &mut self,
        now: i64,
        address: IpAddr,
    ) -> Result<GateClaim, FrontierError> {
        let address = address.to_canonical();
        self.transact(now, |engine, now| {
            let tables = &engine.core.store.tables;
            let owned = tables.claim_gates(&[address].into(), now)?;
            Ok(match owned.get(&address) {
                Some(closed) => GateClaim::Owned {
                    node: tables.node.get() as u64,
                    closed: *closed,
                },
                None => GateClaim::Taken,
            })
        })
    }

    pub(super) fn give_gates_back(
        &mut self,
        now: i64,
        addresses: &[IpAddr],
    ) -> Result<(), FrontierError> {
        let gates: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).collect();
        self.transact(now, |engine, _| {
            let tables = &engine.core.store.tables;
            let sql = "UPDATE gates SET node = NULL WHERE gate IN (SELECT gate FROM gates WHERE gate = ANY($1) AND node = $2 \
                       ORDER BY gate FOR UPDATE)";
            tables.connection.run(sql, &[&gates, &tables.node.get()])?;
            Ok(())
        })
    }

    /// Claims the gates of these due sites, and puts sites in line. Returns the sites to lease.
    pub(super) fn claim_for(
        &self,
        now: i64,
        sites: Vec<SiteRow>,
    ) -> Result<(Vec<SiteRow>, HashMap<IpAddr, Duration>), StoreError> {
        let tables = &self.core.store.tables;
        if !self.has_gates() {
            return Ok((sites, HashMap::new()));
        }
        let gates: Vec<Option<IpAddr>> = sites.iter().map(|site| tables.gate(site.key)).collect();
        let wanted: BTreeSet<IpAddr> = gates.iter().flatten().copied().collect();
        if wanted.is_empty() {
            return Ok((sites, HashMap::new()));
        }
        let owned = tables.claim_gates(&wanted, now)?;
        let turns = turns(&gates, &owned, &tables.leases.borrow().per_gate());
        let (mut leased, mut waiting) = (Vec::new(), BTreeSet::new());
        for ((site, gate), turn) in sites.into_iter().zip(gates).zip(turns) {
            match turn {
                Turn::Now => leased.push(site),
                Turn::InLine => {
                    tables.put_in_line(site.key);
                    waiting.extend(gate);
                }
            }
        }
        if !waiting.is_empty() {
            // These rows still exist, because the claim has locked them or this node owns them.
            let waiting: Vec<IpAddr> = waiting.into_iter().collect();
            let sql = "UPDATE gates SET line = true WHERE gate = ANY($1) AND NOT line";
            tables.connection.run(sql, &[&waiting])?;
        }
        Ok((leased, owned))
    }

    /// Reads up to `count` due sites that wait in line at gates of this node, and locks their rows.
    pub(super) fn sites_in_line(
        &self,
        now: i64,
        horizon: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        if !self.has_gates() {
            return Ok(Vec::new());
        }
        let tables = &self.core.store.tables;
        let lines = tables.own_lines()?;
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let (gates, room): (Vec<IpAddr>, Vec<i64>) = lines.iter().copied().unzip();
        let sql = format!(
            "SELECT {COLUMNS} FROM unnest($1::inet[], $2::int8[]) AS g (of, room) CROSS JOIN LATERAL (SELECT * FROM sites \
             WHERE in_line AND gate = g.of AND due <= CASE WHEN class IN ({SEED_REVISIT}, {FOUND_REVISIT}) THEN $4::int8 ELSE $3::int8 END \
             ORDER BY due LIMIT g.room FOR UPDATE SKIP LOCKED) s ORDER BY due LIMIT $5"
        );
        let until = now.min(horizon);
        let rows = tables
            .connection
            .query(&sql, &[&gates, &room, &now, &until, &(count as i64)])?;
        let sites = tables.keep_sites(&rows)?;
        if sites.len() < count {
            tables.end_lines(&gates)?;
        }
        Ok(sites)
    }

    /// Puts some sites that wait in line for gates without an owner back into the queue of due sites, and deletes gates
    /// that have neither an owner nor a line. Always returns false: no further step is needed.
    pub(super) fn promote(&mut self, now: i64) -> Result<bool, StoreError> {
        let tables = &self.core.store.tables;
        let sql = "SELECT gate FROM gates WHERE line AND node IS NULL AND free <= $1 ORDER BY gate LIMIT $2 FOR UPDATE SKIP LOCKED";
        let rows = tables.connection.query(sql, &[&now, &ORPHANS])?;
        let gates = rows.iter().map(|row| row.try_get(0));
        let gates: Vec<IpAddr> = gates.collect::<Result<_, _>>()?;
        if !gates.is_empty() {
            let sql = "UPDATE sites SET in_line = false WHERE key IN (SELECT key FROM unnest($1::inet[]) AS g (of) \
                       CROSS JOIN LATERAL (SELECT key FROM sites WHERE in_line AND gate = g.of ORDER BY due LIMIT $2 \
                       FOR UPDATE SKIP LOCKED) s)";
            tables.connection.run(sql, &[&gates, &PROMOTED])?;
            tables.end_lines(&gates)?;
        }
        let sql = "DELETE FROM gates WHERE gate IN (SELECT gate FROM gates WHERE node IS NULL AND NOT line AND free <= $1 \
                   ORDER BY gate LIMIT 1000 FOR UPDATE SKIP LOCKED)";
        tables.connection.run(sql, &[&now])?;
        Ok(false)
    }
}

impl PostgresTables {
    /// The gate of a site. This transaction must have locked the row of the site.
    pub(super) fn gate(&self, site: i64) -> Option<IpAddr> {
        let unit = self.unit.borrow();
        unit.sites.get(&site).and_then(|state| state.gate)
    }

    fn put_in_line(&self, site: i64) {
        if let Some(state) = self.unit.borrow_mut().sites.get_mut(&site) {
            (state.in_line, state.is_changed) = (true, true);
        }
    }

    /// Claims gates. Returns the gates that belong to this node now, and for how long each is closed. Locks the rows of
    /// the other gates.
    pub(super) fn claim_gates(
        &self,
        gates: &BTreeSet<IpAddr>,
        now: i64,
    ) -> Result<HashMap<IpAddr, Duration>, StoreError> {
        let node = self.node.get();
        let wanted: Vec<IpAddr> = gates.iter().copied().collect();
        let sql = "SELECT gate, free FROM gates WHERE gate = ANY($1) AND node = $2";
        let mut rows = self.connection.query(sql, &[&wanted, &node])?;
        let mut owned = HashMap::new();
        let mut own = |rows: &[tokio_postgres::Row]| {
            for row in rows {
                let free: i64 = row.try_get(1)?;
                let closed = Duration::from_millis((free - now).max(0) as u64);
                owned.insert(row.try_get(0)?, closed);
            }
            Ok::<_, StoreError>(owned.len())
        };
        if own(&rows)? < wanted.len() {
            let sql = "INSERT INTO gates SELECT gate, $2, 0, false FROM unnest($1::inet[]) AS g (gate) ORDER BY gate \
                       ON CONFLICT (gate) DO UPDATE SET node = $2 WHERE gates.node IS NULL RETURNING gate, free";
            rows = self.connection.query(sql, &[&wanted, &node])?;
            own(&rows)?;
        }
        Ok(owned)
    }

    /// The gates of this node that have a line, each with the number of sites that can still be leased. Gates without
    /// room are left out.
    pub(super) fn own_lines(&self) -> Result<Vec<(IpAddr, i64)>, StoreError> {
        let sql = "SELECT gate FROM gates WHERE line AND node = $1";
        let rows = self.connection.query(sql, &[&self.node.get()])?;
        let held = self.leases.borrow().per_gate();
        let mut lines = Vec::new();
        for row in rows {
            let gate: IpAddr = row.try_get(0)?;
            let held = held.get(&gate).copied().unwrap_or_default();
            if held < SITES_PER_GATE {
                lines.push((gate, (SITES_PER_GATE - held) as i64));
            }
        }
        Ok(lines)
    }

    /// The earliest due time of the sites that this node could take from a line.
    pub(super) fn next_in_line(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT free FROM gates WHERE line AND node IS NULL ORDER BY free LIMIT 1";
        let row = self.connection.first(sql, &[])?;
        let orphan: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        let lines = self.own_lines()?;
        if lines.is_empty() {
            return Ok(orphan);
        }
        let gates: Vec<IpAddr> = lines.into_iter().map(|(gate, _)| gate).collect();
        let sql = "SELECT min(s.due) FROM unnest($1::inet[]) AS g (of) CROSS JOIN LATERAL \
                   (SELECT due FROM sites WHERE in_line AND gate = g.of ORDER BY due LIMIT 1) s";
        let row = self.connection.first(sql, &[&gates])?;
        let own: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        Ok([orphan, own].into_iter().flatten().min())
    }

    /// Marks the lines that have become empty. The first statement locks the gates. The second one examines them, so it
    /// sees all sites that other transactions have put in line before.
    fn end_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError> {
        let sql = "SELECT gate FROM gates WHERE gate = ANY($1) ORDER BY gate FOR UPDATE";
        self.connection.query(sql, &[&gates])?;
        let sql = "UPDATE gates SET line = false WHERE gate = ANY($1) AND line \
                   AND NOT EXISTS (SELECT 1 FROM sites s WHERE s.in_line AND s.gate = gates.gate)";
        self.connection.run(sql, &[&gates])?;
        Ok(())
    }

    /// Takes the gates from a node that ends, and closes them until `free`.
    pub(super) fn orphan_gates(&self, node: i64, free: i64) -> Result<(), StoreError> {
        let sql = "UPDATE gates SET node = NULL, free = greatest(free, $2) WHERE gate IN \
                   (SELECT gate FROM gates WHERE node = $1 ORDER BY gate FOR UPDATE)";
        self.connection.run(sql, &[&node, &free])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn sites_of_gates_of_other_nodes_wait_in_line() {
        let owned = HashMap::from([(address(1), Duration::ZERO)]);
        let gates = [Some(address(1)), Some(address(2)), None];
        let expected = [Turn::Now, Turn::InLine, Turn::Now];
        assert_eq!(turns(&gates, &owned, &HashMap::new()), expected);
    }

    #[test]
    fn a_gate_has_a_limited_number_of_visits() {
        let owned = HashMap::from([(address(1), Duration::ZERO)]);
        let held = HashMap::from([(address(1), SITES_PER_GATE - 1)]);
        let gates = [Some(address(1)), Some(address(1)), None];
        let expected = [Turn::Now, Turn::InLine, Turn::Now];
        assert_eq!(turns(&gates, &owned, &held), expected);
    }
}
