//! The rules of gates: an address has one owner among the nodes (F8; invariant 2 in a cluster).
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
//! Times are on the clock of the frontier. A node is told how much time remains, so its own clock does not matter.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::tables::ClusterTables;
use crate::GateClaim;
use crate::sites::core::Core;
use crate::sites::site_row::SiteRow;
use crate::store_error::StoreError;

/// Maximum number of sites of one gate that a node visits at a time.
pub(crate) const SITES_PER_GATE: usize = 16;
/// Number of sites per gate without an owner that return from the line to the queue in one step.
const PROMOTED: i64 = 4;
/// Number of gates without an owner that are looked at in one step.
const ORPHANS: i64 = 64;

/// What happens to a due site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// It is leased.
    Now,
    /// It is put in line for its gate.
    InLine,
}

/// Decides which due sites are leased. Takes the gate of each site (in order of due time), the gates that this node
/// owns, and the number of sites that it has leased for each gate. A site without a known gate is leased, because only
/// a visit can find its address.
fn turns(
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

/// The gates that have room for further visits, with the number of visits for which they have room.
pub(crate) fn lines_with_room(
    gates: Vec<IpAddr>,
    held: &HashMap<IpAddr, usize>,
) -> Vec<(IpAddr, i64)> {
    let room = |gate: IpAddr| {
        let held = held.get(&gate).copied().unwrap_or_default();
        (held < SITES_PER_GATE).then(|| (gate, (SITES_PER_GATE - held) as i64))
    };
    gates.into_iter().filter_map(room).collect()
}

impl<T: ClusterTables> Core<T> {
    /// Claims the gates of these due sites, and puts sites in line. Returns the sites to lease.
    pub(super) fn claim_for(
        &self,
        now: i64,
        sites: Vec<SiteRow>,
    ) -> Result<(Vec<SiteRow>, HashMap<IpAddr, Duration>), StoreError> {
        let tables = &self.store.tables;
        let gates: Vec<Option<IpAddr>> = sites.iter().map(|site| tables.gate(site.key)).collect();
        let wanted: BTreeSet<IpAddr> = gates.iter().flatten().copied().collect();
        if wanted.is_empty() {
            return Ok((sites, HashMap::new()));
        }
        let owned = tables.claim_gates(&wanted, now)?;
        let turns = turns(&gates, &owned, &tables.own_leases().borrow().per_gate());
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
            tables.mark_lines(&waiting)?;
        }
        Ok((leased, owned))
    }

    /// Claims the gate of one address for this node.
    pub(crate) fn claim_gate(&self, now: i64, address: IpAddr) -> Result<GateClaim, StoreError> {
        let address = address.to_canonical();
        let tables = &self.store.tables;
        let owned = tables.claim_gates(&[address].into(), now)?;
        Ok(match owned.get(&address) {
            Some(closed) => GateClaim::Owned {
                node: tables.node() as u64,
                closed: *closed,
            },
            None => GateClaim::Taken,
        })
    }

    /// Reads up to `count` due sites that wait in line at gates of this node, and locks their rows.
    pub(super) fn sites_in_line(
        &self,
        now: i64,
        horizon: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let tables = &self.store.tables;
        let held = tables.own_leases().borrow().per_gate();
        let lines = lines_with_room(tables.own_gates_with_line()?, &held);
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let sites = tables.sites_in_line(&lines, now, now.min(horizon), count)?;
        if sites.len() < count {
            let gates: Vec<IpAddr> = lines.into_iter().map(|(gate, _)| gate).collect();
            tables.end_lines(&gates)?;
        }
        Ok(sites)
    }

    /// Puts some sites that wait in line for gates without an owner back into the queue of due sites, and deletes
    /// gates that nobody needs.
    pub(crate) fn promote(&self, now: i64) -> Result<(), StoreError> {
        let tables = &self.store.tables;
        let gates = tables.free_gates_with_line(now, ORPHANS)?;
        if !gates.is_empty() {
            tables.leave_line(&gates, PROMOTED)?;
            tables.end_lines(&gates)?;
        }
        tables.delete_free_gates(now)
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

    #[test]
    fn a_line_moves_while_its_gate_has_room() {
        let held = HashMap::from([(address(1), SITES_PER_GATE), (address(2), 1)]);
        let lines = lines_with_room([1, 2, 3].map(address).to_vec(), &held);
        let all = SITES_PER_GATE as i64;
        assert_eq!(lines, [(address(2), all - 1), (address(3), all)]);
    }
}
