//! The courtesy pause per address (F8): an IP address gets one request at a time, and there is a pause after each
//! response.
//!
//! The pause of a site is kept by its visit, because no other task sends requests to the site. But many sites can share
//! one address. So a visit takes the [`Permit`] of the address before each request. Visits get permits in the order in
//! which they ask (F7). The next permit is issued when the pause after the last response is over.
//!
//! In a crawl on many machines, an address belongs to one node at a time. Before its first request to an address, a
//! node claims the gate of the address in the frontier. It gives the gate back after it has not used it for the length
//! of [`IDLE_PAUSES`] pauses. Requests in the meantime need no call of the frontier.
//!
//! **Invariant 2**: a permit is held until the response has ended, and dropping it starts the pause.
//! [`Permit::give_back`] starts no pause, and is only for a request that was not sent.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_frontier::{GateClaim, LeaseGate};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::commit::SharedFrontier;

/// Idle addresses are removed only when at least this number of addresses is in memory.
const MIN_SWEEP: usize = 4096;
/// A gate is given back to the other nodes when it was not used for this many times the pause.
const IDLE_PAUSES: u32 = 8;
/// Maximum number of gates that are given back at a time.
const MAX_GIVEN_BACK: usize = 1000;

/// The gates of all IP addresses. A gate issues the permits of its address, one at a time.
#[derive(Debug)]
pub(crate) struct AddressGates {
    pause: Duration,
    /// Assumed end of the last response from each address that this crawl has not contacted yet. A resumed crawl
    /// assumes the time of its own start, because it does not know when the earlier crawl sent its last requests.
    assumed_end: Option<Instant>,
    table: Mutex<Table>,
    owners: Option<GateOwners>,
}

/// The frontier in which nodes claim gates.
#[derive(Debug)]
pub(crate) struct GateOwners {
    pub(crate) frontier: SharedFrontier,
    pub(crate) clock: Clock,
}

/// Why a visit gets no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPermit {
    /// The address belongs to another node.
    Taken,
    /// The node of the visit was declared dead, or the frontier failed.
    LeaseLost,
}

#[derive(Debug)]
struct Table {
    by_address: HashMap<IpAddr, Arc<tokio::sync::Mutex<Gate>>>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Gate {
    last_end: Option<Instant>,
    /// The node number that this process had when it claimed the gate; 0 if it does not own the gate.
    owner: u64,
    /// No request is sent before this time, because another node had the gate before.
    closed_until: Option<Instant>,
    /// When the gate was claimed.
    claimed: Option<Instant>,
    /// Whether the gate is being given back, or the frontier did not answer when it was. It may still belong to this node
    /// there.
    is_returning: bool,
}

impl Gate {
    fn new() -> Self {
        Self {
            last_end: None,
            owner: 0,
            closed_until: None,
            claimed: None,
            is_returning: false,
        }
    }

    fn claimed(&mut self, node: u64, closed: Duration) {
        let now = Instant::now();
        (self.owner, self.claimed, self.is_returning) = (node, Some(now), false);
        self.closed_until = Some(now + closed).max(self.closed_until);
    }

    /// The last time at which the gate was in use.
    fn last_use(&self) -> Option<Instant> {
        [self.last_end, self.closed_until, self.claimed]
            .into_iter()
            .flatten()
            .max()
    }
}

/// The right to send one request to an address. Drop it at the end of the response, because dropping it starts the
/// pause.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: OwnedMutexGuard<Gate>,
    used: bool,
}

impl Permit {
    /// Returns the permit without starting a pause, because no request was sent.
    pub(crate) fn give_back(mut self) {
        self.used = false;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.used {
            self.gate.last_end = Some(Instant::now());
        }
    }
}

impl AddressGates {
    /// `resumed`: whether the collection was crawled before. Then every address is treated as if it had just responded.
    pub(crate) fn new(pause: Duration, resumed: bool) -> Self {
        Self {
            pause,
            assumed_end: resumed.then(Instant::now),
            table: Mutex::new(Table {
                by_address: HashMap::new(),
                sweep_at: MIN_SWEEP,
            }),
            owners: None,
        }
    }

    /// These gates, but claimed by nodes in this frontier. `None` if the frontier is not shared.
    pub(crate) fn with_owners(self, owners: Option<GateOwners>) -> Self {
        Self { owners, ..self }
    }

    /// Records that the frontier gave a gate to this node together with a lease.
    pub(crate) fn claimed(&self, node: u64, claim: LeaseGate) {
        if self.pause.is_zero() {
            return;
        }
        // A locked gate is in use, so it was claimed before.
        if let Ok(mut gate) = self.gate(claim.address).try_lock() {
            gate.claimed(node, claim.closed);
        }
    }

    /// Waits for the permit of an address. `node` is the node number that holds the lease of the visit. Returns
    /// `Ok(None)` at once if the configured pause is 0. A cancelled wait loses its position in the queue.
    pub(crate) async fn enter(
        &self,
        address: IpAddr,
        node: u64,
    ) -> Result<Option<Permit>, NoPermit> {
        if self.pause.is_zero() {
            return Ok(None);
        }
        // An IPv4-mapped IPv6 address leads to the same server as the IPv4 address.
        let address = address.to_canonical();
        let mut gate = self.gate(address).lock_owned().await;
        if let Some(owners) = &self.owners
            && gate.owner != node
        {
            Box::pin(owners.claim(address, node, &mut gate)).await?;
        }
        let end = gate.last_end.or(self.assumed_end);
        let free = end.map(|end| end + self.pause).max(gate.closed_until);
        if let Some(free) = free {
            tokio::time::sleep_until(free).await;
        }
        Ok(Some(Permit { gate, used: true }))
    }

    /// Gives idle gates back, so that other nodes can claim them.
    pub(crate) async fn give_idle_back(&self) {
        let Some(owners) = &self.owners else { return };
        let idle = self.idle_gates();
        if idle.is_empty() {
            return;
        }
        // The gates stay locked until the frontier has stored the change. A request that arrives meanwhile claims its
        // gate afterwards.
        let mut gates = Vec::with_capacity(idle.len());
        let mut addresses = Vec::with_capacity(idle.len());
        for (address, mut gate) in idle {
            // The change may be stored although the frontier does not answer, so the next request claims the gate again.
            (gate.owner, gate.is_returning) = (0, true);
            gates.push(gate);
            addresses.push(address);
        }
        let now = owners.clock.now();
        let call = move |frontier: &mut dyn aranha_frontier::Frontier| {
            frontier.give_gates_back(now, &addresses)
        };
        match owners.frontier.call(call).await {
            Ok(()) => {
                for gate in &mut gates {
                    gate.is_returning = false;
                }
            }
            // The next call of this function gives them back.
            Err(error) => tracing::warn!(%error, "gates were not given back"),
        }
    }

    /// Gates of this node that were not used for a while, locked.
    fn idle_gates(&self) -> Vec<(IpAddr, OwnedMutexGuard<Gate>)> {
        let table = self
            .table
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let unused = table.by_address.iter().filter_map(|(address, gate)| {
            // With one reference, no visit holds the gate or waits for it.
            let gate = (Arc::strong_count(gate) == 1).then(|| Arc::clone(gate))?;
            let gate = gate.try_lock_owned().ok()?;
            let idle_for = gate.last_use()?.elapsed();
            let is_own = gate.owner != 0 || gate.is_returning;
            let is_idle = is_own && idle_for > self.pause * IDLE_PAUSES;
            is_idle.then_some((*address, gate))
        });
        unused.take(MAX_GIVEN_BACK).collect()
    }

    fn gate(&self, address: IpAddr) -> Arc<tokio::sync::Mutex<Gate>> {
        let mut table = self
            .table
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if table.by_address.len() >= table.sweep_at {
            let pause = self.pause;
            table.by_address.retain(|_, gate| {
                // Keep a gate if a visit holds it or waits for it, if this node owns it, or if its pause is not over.
                Arc::strong_count(gate) > 1
                    || gate.try_lock().map_or(true, |gate| {
                        gate.owner != 0
                            || gate.is_returning
                            || gate.last_use().is_some_and(|end| end.elapsed() < pause)
                    })
            });
            table.sweep_at = (table.by_address.len() * 2).max(MIN_SWEEP);
        }
        Arc::clone(
            table
                .by_address
                .entry(address)
                .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(Gate::new()))),
        )
    }
}

impl GateOwners {
    /// Claims a gate for a visit. Waits while the frontier is away.
    async fn claim(&self, address: IpAddr, node: u64, gate: &mut Gate) -> Result<(), NoPermit> {
        let now = self.clock.now();
        let claim = self
            .frontier
            .persist(move |frontier| frontier.claim_gate(now, address));
        match claim.await {
            Ok(GateClaim::Owned {
                node: owner,
                closed,
            }) => {
                gate.claimed(owner, closed);
                if owner == node {
                    return Ok(());
                }
                Err(NoPermit::LeaseLost)
            }
            Ok(GateClaim::Taken) => {
                gate.owner = 0;
                Err(NoPermit::Taken)
            }
            Err(error) => {
                tracing::warn!(%error, %address, "the gate of an address was not claimed");
                Err(NoPermit::LeaseLost)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aranha_frontier::{Frontier as _, NodeSettings, Options, Postgres};
    use aranha_test_database::Cluster;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

    #[tokio::test(start_paused = true)]
    async fn the_pause_starts_at_the_end_of_the_response() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        let begin = Instant::now();
        let permit = gates.enter(ADDRESS, 0).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(permit);
        let _permit = gates.enter(ADDRESS, 0).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ipv4_mapped_address_has_the_gate_of_its_ipv4_address() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        let begin = Instant::now();
        drop(gates.enter(ADDRESS, 0).await.unwrap());
        let mapped = "::ffff:127.0.0.9".parse().unwrap();
        let _permit = gates.enter(mapped, 0).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_resumed_crawl_pauses_before_its_first_request() {
        let gates = AddressGates::new(Duration::from_secs(2), true);
        let begin = Instant::now();
        let _permit = gates.enter(ADDRESS, 0).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn permits_are_issued_in_order_of_arrival() {
        let gates = Arc::new(AddressGates::new(Duration::from_secs(1), false));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (gates, order) = (Arc::clone(&gates), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _permit = gates.enter(ADDRESS, 0).await.unwrap();
                order.lock().unwrap().push((number, Instant::now()));
            }));
            tokio::task::yield_now().await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap();
        assert!(
            order.windows(2).all(
                |pair| pair[0].0 < pair[1].0 && pair[1].1 - pair[0].1 >= Duration::from_secs(1)
            )
        );
    }

    #[tokio::test(start_paused = true)]
    async fn only_idle_addresses_are_removed() {
        let gates = AddressGates::new(Duration::from_secs(2), false);
        for number in 0..MIN_SWEEP as u32 {
            gates
                .enter(IpAddr::from(number.to_be_bytes()), 0)
                .await
                .unwrap();
        }
        let _held = gates.enter(ADDRESS, 0).await.unwrap();
        tokio::time::advance(Duration::from_secs(3)).await;
        gates.table.lock().unwrap().sweep_at = 0;
        gates.enter(IpAddr::from([1, 2, 3, 4]), 0).await.unwrap();
        assert_eq!(gates.table.lock().unwrap().by_address.len(), 2);
    }

    /// The gates stayed with the node until it ended, so that their sites were not visited by other nodes.
    #[tokio::test(flavor = "multi_thread")]
    async fn idle_gates_are_given_back_after_an_outage() {
        let database = Cluster::start().unwrap();
        let settings = NodeSettings {
            pause: Duration::from_millis(1),
            ..NodeSettings::default()
        };
        let frontier = Postgres::open(&database.address_of("crawl"), Options::default(), settings);
        let frontier = frontier.unwrap();
        let node = frontier.fence().unwrap().term().node;
        let owners = GateOwners {
            frontier: SharedFrontier::new(Box::new(frontier)),
            clock: Clock::new(),
        };
        let gates = AddressGates::new(Duration::from_millis(1), false).with_owners(Some(owners));
        let own_gates = || database.sql("SELECT count(*) FROM crawl.gates WHERE node IS NOT NULL");
        drop(gates.enter(ADDRESS, node).await.unwrap());
        assert_eq!(own_gates(), "1");
        tokio::time::sleep(Duration::from_millis(1) * 2 * IDLE_PAUSES).await;
        database.crash();
        gates.give_idle_back().await;
        database.restart().unwrap();
        assert_eq!(own_gates(), "1");
        // The first call may find the connection lost.
        for _ in 0..3 {
            gates.give_idle_back().await;
        }
        assert_eq!(own_gates(), "0");
        assert!(gates.idle_gates().is_empty());
    }
}
