//! The gates of addresses in a crawl on many machines: each address belongs to one node at a time, and only that node
//! sends requests to it. Within the node the pause per address is kept in memory.

use std::net::IpAddr;
use std::time::Duration;

/// The answer to [`crate::Frontier::claim_gate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateClaim {
    /// The gate belongs to this node.
    Owned {
        /// Number of the node ([`crate::Term::node`]). When the number of the node changes, the gate is lost.
        node: u64,
        /// Time from now during which no request may be sent, because another node had the gate before.
        closed: Duration,
    },
    /// The gate belongs to another node.
    Taken,
}

/// A gate that was claimed together with a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseGate {
    /// The address at which the site was last visited.
    pub address: IpAddr,
    /// Time from now during which no request may be sent to the address.
    pub closed: Duration,
}
