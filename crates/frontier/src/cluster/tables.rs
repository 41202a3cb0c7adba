//! What a storage engine stores for several nodes, beside sites and pages.
//!
//! Every operation is part of the transaction that the engine has begun, in which this node is alive. A row that is read
//! here stays as it is until the transaction ends.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::own_leases::{OwnLease, OwnLeases};
use crate::sites::site_row::SiteRow;
use crate::sites::tables::Tables;
use crate::store_error::StoreError;

/// Rows of nodes, gates and groups of check-ins.
pub(crate) trait ClusterTables: Tables {
    /// The leases of this node.
    fn own_leases(&self) -> &RefCell<OwnLeases>;
    /// Read and lock sites, in order of key.
    fn lock_sites(&self, keys: &[i64]) -> Result<(), StoreError>;

    // Check-out.
    /// The next sites to lease, at most `count`, locked: seed sites that were never visited, or, if there are none, the
    /// sites that have waited longest. Sites in line are not among them.
    fn sites_due(&self, now: i64, horizon: i64, count: usize) -> Result<Vec<SiteRow>, StoreError>;
    /// The sites will be leased, so that what is needed for that can be read at once.
    fn prepare_check_out(
        &self,
        sites: &[SiteRow],
        now: i64,
        horizon: i64,
    ) -> Result<(), StoreError>;

    // Gates of addresses.
    /// The address at which a locked site was last visited.
    fn gate(&self, site: i64) -> Option<IpAddr>;
    /// Claim gates. Returns those that belong to this node now, and for how long each of them is closed. The rows of the
    /// others are locked.
    fn claim_gates(
        &self,
        gates: &BTreeSet<IpAddr>,
        now: i64,
    ) -> Result<HashMap<IpAddr, Duration>, StoreError>;
    /// Give gates of this node back.
    fn release_gates(&self, gates: &[IpAddr]) -> Result<(), StoreError>;
    /// Take the gates from a node that ends. They are closed until `free`.
    fn orphan_gates(&self, node: i64, free: i64) -> Result<(), StoreError>;
    /// Delete some gates that nobody needs: they have no owner, no line, and are not closed.
    fn delete_free_gates(&self, now: i64) -> Result<(), StoreError>;

    // Lines of sites that wait for a gate.
    /// A locked site leaves the queue of due sites, and waits for its gate.
    fn put_in_line(&self, site: i64);
    /// These gates have sites in line.
    fn mark_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError>;
    /// The gates of this node that have a line.
    fn own_gates_with_line(&self) -> Result<Vec<IpAddr>, StoreError>;
    /// Up to `count` gates with a line and without an owner that are not closed, locked.
    fn free_gates_with_line(&self, now: i64, count: i64) -> Result<Vec<IpAddr>, StoreError>;
    /// The first due sites in line for each of these gates, with the maximum number for each; at most `count`, locked, in
    /// the order in which they are due. Revisits are due until `until`.
    fn sites_in_line(
        &self,
        lines: &[(IpAddr, i64)],
        now: i64,
        until: i64,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError>;
    /// Put the first `count` sites in line for each of these gates back into the queue of due sites.
    fn leave_line(&self, gates: &[IpAddr], count: i64) -> Result<(), StoreError>;
    /// Marks the lines that have become empty.
    fn end_lines(&self, gates: &[IpAddr]) -> Result<(), StoreError>;

    // Nodes.
    /// The node that has taken over the leases of this one, and whether the node is alive; locked. `None` if it is
    /// unknown.
    fn node_state(&self, node: i64) -> Result<Option<(Option<i64>, bool)>, StoreError>;
    /// A node is not alive any more. `successor`: the node that has its leases now.
    fn end_node(&self, node: i64, successor: Option<i64>) -> Result<(), StoreError>;
    /// Read and lock the sites that a node holds.
    fn sites_of(&self, node: i64) -> Result<Vec<SiteRow>, StoreError>;
    /// Give all leases of another node to this one. Their sites are not visited before `free` again. The leases get the
    /// expiry `expires`.
    fn move_leases(
        &self,
        from: i64,
        free: i64,
        expires: i64,
    ) -> Result<Vec<(i64, OwnLease)>, StoreError>;
    /// A node writes no more, so its totals are added to those of the nodes that are gone.
    fn fold_totals(&self, node: i64) -> Result<(), StoreError>;

    // Groups of check-ins.
    /// Keep the number of a group that this node stores. Returns false if the group was stored before.
    fn take_number(&self, number: i64) -> Result<bool, StoreError>;
    /// The number of the newest group of a node that was stored.
    fn newest_number(&self, node: i64) -> Result<i64, StoreError>;
}
