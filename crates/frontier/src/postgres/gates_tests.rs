//! Tests of the gates of addresses with several nodes, and a property test of all of their operations.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::Postgres;
use super::tests::{LONG, Schema};
use crate::cluster::gates::SITES_PER_GATE;
use crate::suite::{release, seed};
use crate::{Addresses, CheckIn, Frontier as _, GateClaim, Lease, SiteFacts, WindowUpdate};

fn address(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

/// A check-in that releases the lease and reports all its pages as visited. The site was found at `address`.
fn found_at(lease: &Lease, address: IpAddr, due: i64) -> CheckIn {
    let facts = SiteFacts {
        addresses: Some(Addresses {
            host: lease.site.clone(),
            list: vec![address],
            expires: 0,
        }),
        ..lease.facts.clone()
    };
    CheckIn {
        window: WindowUpdate::Replace(lease.pending.clone()),
        facts: Some(facts),
        ..release(lease, due)
    }
}

/// Sites that were visited once, all at address 9.
fn on_one_address(node: &mut Postgres, count: usize) {
    let seeds: Vec<_> = (0..count)
        .map(|number| seed(&format!("https://s{number}.example/")))
        .collect();
    node.seed(0, &seeds).expect("seeds");
    let leases = node.check_out(1, count).expect("checks out");
    let batch = leases.iter().map(|lease| found_at(lease, address(9), 10));
    let replies = node.check_in(2, batch.collect()).expect("stored");
    assert!(replies.len() == count && replies.iter().all(Result::is_ok));
}

/// As if the node had been stopped for longer than its time to live.
fn expire(node: &Postgres) {
    let tables = &node.core.store.tables;
    let sql = "UPDATE nodes SET expires = 0 WHERE node = $1";
    let changed = tables.connection.run(sql, &[&tables.node.get()]);
    assert_eq!(changed.expect("expires"), 1);
}

#[test]
fn the_sites_of_an_address_go_to_the_owner_of_its_gate() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    on_one_address(&mut first, 4);
    let held = first.check_out(20, 1).expect("checks out");
    let gate = held[0].gate.expect("claimed with the lease");
    assert_eq!((gate.address, gate.closed), (address(9), Duration::ZERO));
    assert!(second.check_out(20, 9).expect("checks out").is_empty());
    // Sites in line do not make the other node ask again and again.
    assert!(
        second
            .status(20)
            .expect("status")
            .next_due
            .is_none_or(|due| due > 1000)
    );
    assert_eq!(first.status(20).expect("status").next_due, Some(10));
    assert_eq!(first.check_out(21, 9).expect("checks out").len(), 3);
}

#[test]
fn a_gate_that_is_given_back_goes_to_the_next_node() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    on_one_address(&mut first, 2);
    let held = first.check_out(20, 1).expect("checks out").remove(0);
    assert!(second.check_out(20, 9).expect("checks out").is_empty());
    assert_eq!(
        second.claim_gate(20, address(9)).expect("asks"),
        GateClaim::Taken
    );
    let entry = found_at(&held, address(8), 30);
    assert!(first.check_in(21, vec![entry]).expect("stored")[0].is_ok());
    first
        .give_gates_back(22, &[address(9)])
        .expect("given back");
    // A site in line returns to the queue when lines are examined again, a second later.
    let taken = second.check_out(1100, 9).expect("checks out");
    assert_eq!(taken.len(), 2, "one at each address");
    assert_eq!(
        first.claim_gate(1101, address(9)).expect("asks"),
        GateClaim::Taken
    );
    let mapped = "::ffff:127.0.0.9".parse().expect("an address");
    assert!(matches!(
        second.claim_gate(1101, mapped).expect("asks"),
        GateClaim::Owned { .. }
    ));
}

#[test]
fn the_gates_of_a_dead_node_are_closed_for_a_pause() {
    let schema = Schema::new();
    let mut dead = schema.open_as("dead", LONG);
    let mut alive = schema.open_as("alive", LONG);
    alive.heartbeat.contact().assume();
    on_one_address(&mut dead, 1);
    let before = dead.claim_gate(20, address(9)).expect("asks");
    expire(&dead);
    // Declares the node dead. The pause is 100 ms.
    alive.check_out(5000, 1).expect("checks out");
    let GateClaim::Owned { closed, .. } = alive.claim_gate(5060, address(9)).expect("asks") else {
        panic!("the gate is not free");
    };
    assert_eq!(closed, Duration::from_millis(40));
    assert_eq!(
        dead.claim_gate(5061, address(9)).expect("asks"),
        GateClaim::Taken
    );
    // The dead node has another number now.
    let after = dead.claim_gate(5062, address(7)).expect("asks");
    let number = |claim| match claim {
        GateClaim::Owned { node, .. } => node,
        GateClaim::Taken => panic!("the gate is not free"),
    };
    assert!(number(after) > number(before));
    assert_eq!(dead.fence().expect("a fence").term().node, number(after));
}

/// A node visits only some sites of an address with very many sites at a time. The rest do not delay other sites.
#[test]
fn an_address_with_many_sites_takes_few_visits() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    on_one_address(&mut node, 3 * SITES_PER_GATE);
    node.seed(20, &[seed("https://other.example/")])
        .expect("seeds");
    let mut leases = node.check_out(30, 200).expect("checks out");
    assert_eq!(leases.len(), 1 + SITES_PER_GATE);
    leases.retain(|lease| lease.gate.is_some());
    assert!(node.check_out(32, 200).expect("checks out").is_empty());
    let entry = found_at(&leases[0], address(9), 40);
    assert!(node.check_in(33, vec![entry]).expect("stored")[0].is_ok());
    assert_eq!(node.check_out(34, 200).expect("checks out").len(), 1);
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    CheckOut(usize, usize),
    /// Node; visit; the address at which the site was found.
    CheckIn(usize, usize, u8),
    Claim(usize, u8),
    GiveBack(usize, u8),
    Die(usize),
}

const NODES: usize = 3;
const ADDRESSES: u8 = 4;

fn operation() -> impl Strategy<Value = Operation> {
    let node = 0..NODES;
    prop_oneof![
        5 => (node.clone(), 1..8usize).prop_map(|(node, room)| Operation::CheckOut(node, room)),
        5 => (node.clone(), 0..20usize, 0..ADDRESSES).prop_map(|(n, v, a)| Operation::CheckIn(n, v, a)),
        3 => (node.clone(), 0..ADDRESSES).prop_map(|(node, a)| Operation::Claim(node, a)),
        3 => (node.clone(), 0..ADDRESSES).prop_map(|(node, a)| Operation::GiveBack(node, a)),
        1 => node.prop_map(Operation::Die),
    ]
}

/// The nodes, and the gates that they were told about.
struct Model {
    nodes: Vec<Postgres>,
    now: i64,
    visits: Vec<Vec<Lease>>,
    /// The owner of each gate.
    owners: BTreeMap<IpAddr, usize>,
    /// No node may send a request to these addresses before this time.
    closed: BTreeMap<IpAddr, i64>,
}

impl Model {
    fn new(schema: &Schema) -> Model {
        let open = |number| schema.open_as(&format!("n{number}"), LONG);
        let mut nodes: Vec<Postgres> = (0..NODES).map(open).collect();
        for node in &nodes {
            node.heartbeat.contact().assume();
        }
        let seeds: Vec<_> = (0..12)
            .map(|number| seed(&format!("https://s{number}.example/")))
            .collect();
        nodes[0].seed(0, &seeds).expect("seeds");
        Model {
            nodes,
            now: 1000,
            visits: vec![Vec::new(); NODES],
            owners: BTreeMap::new(),
            closed: BTreeMap::new(),
        }
    }

    /// A node was told that it owns a gate.
    fn owned(&mut self, node: usize, gate: IpAddr, closed: Duration) {
        let owner = self.owners.insert(gate, node);
        assert!(
            owner.is_none_or(|owner| owner == node),
            "{gate} has two owners"
        );
        let free = self.now + closed.as_millis() as i64;
        let earliest = self.closed.get(&gate).copied().unwrap_or_default();
        assert!(free >= earliest, "{gate} opens too early");
    }

    fn check_out(&mut self, node: usize, room: usize) -> usize {
        let leases = self.nodes[node]
            .check_out(self.now, room)
            .expect("checks out");
        let count = leases.len();
        for lease in leases {
            if let Some(gate) = lease.gate {
                self.owned(node, gate.address, gate.closed);
            }
            let mut others = self.visits.iter().flatten();
            assert!(others.all(|other| other.site != lease.site), "leased twice");
            self.visits[node].push(lease);
        }
        count
    }

    fn apply(&mut self, operation: Operation) {
        self.now += 300;
        match operation {
            Operation::CheckOut(node, room) => {
                self.check_out(node, room);
            }
            Operation::CheckIn(node, visit, last) if !self.visits[node].is_empty() => {
                let visit = visit % self.visits[node].len();
                let lease = self.visits[node].swap_remove(visit);
                let entry = found_at(&lease, address(last), self.now);
                let replies = self.nodes[node].check_in(self.now, vec![entry]);
                assert!(replies.expect("stored")[0].is_ok());
            }
            Operation::CheckIn(..) => {}
            Operation::Claim(node, last) => {
                let claim = self.nodes[node].claim_gate(self.now, address(last));
                match claim.expect("asks") {
                    GateClaim::Owned { closed, .. } => self.owned(node, address(last), closed),
                    GateClaim::Taken => {
                        let owner = self.owners.get(&address(last));
                        assert!(owner.is_some_and(|owner| *owner != node), "taken by nobody");
                    }
                }
            }
            Operation::GiveBack(node, last) => {
                let done = self.nodes[node].give_gates_back(self.now, &[address(last)]);
                done.expect("given back");
                if self.owners.get(&address(last)) == Some(&node) {
                    self.owners.remove(&address(last));
                }
            }
            Operation::Die(node) => self.die(node),
        }
    }

    /// A node expires, another declares it dead, and it finds out.
    fn die(&mut self, node: usize) {
        expire(&self.nodes[node]);
        self.visits[node].clear();
        let other = (node + 1) % NODES;
        // The other node looks for dead nodes once per second.
        self.now += 1100;
        let gates: Vec<IpAddr> = self.owners.keys().copied().collect();
        for gate in gates {
            if self.owners[&gate] == node {
                self.owners.remove(&gate);
                self.closed.insert(gate, self.now + 100);
            }
        }
        self.check_out(other, 1);
        let registered = self.nodes[node].renew(self.now, &[]);
        registered.expect("registers again");
    }

    /// In the end one node can visit every site.
    fn finish(&mut self) {
        for node in 0..NODES {
            for lease in std::mem::take(&mut self.visits[node]) {
                let entry = found_at(&lease, address(0), self.now);
                let replies = self.nodes[node].check_in(self.now, vec![entry]);
                assert!(replies.expect("stored")[0].is_ok());
            }
            for last in 0..ADDRESSES {
                let done = self.nodes[node].give_gates_back(self.now, &[address(last)]);
                done.expect("given back");
            }
        }
        self.owners.clear();
        for _ in 0..20 {
            self.now += 1100;
            self.check_out(0, 50);
        }
        let sites: BTreeSet<_> = self.visits[0].iter().map(|lease| &lease.site).collect();
        assert_eq!(sites.len(), 12, "{sites:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 100, ..ProptestConfig::default() })]

    /// A gate has one owner. It is closed for a pause after the death of its owner. No site waits forever.
    #[test]
    fn a_gate_has_one_owner(operations in proptest::collection::vec(operation(), 1..60)) {
        let schema = Schema::new();
        let mut model = Model::new(&schema);
        for operation in operations {
            model.apply(operation);
        }
        model.finish();
    }
}
