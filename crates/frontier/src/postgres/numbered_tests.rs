//! Tests of groups of check-ins that are sent twice, and of processes that continue the work of an earlier one.

use super::Postgres;
use super::tests::{LONG, Schema};
use crate::suite::{page, record, release, seed};
use crate::{CheckIn, Frontier as _, Lease, LeaseLost, Outcome, Then, WindowUpdate};

/// A node with the lease of one site.
fn leased(schema: &Schema) -> (Postgres, Lease) {
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    (node, lease)
}

/// A check-in with the home page, and a new page in the window.
fn visited(lease: &Lease) -> CheckIn {
    CheckIn {
        done: vec![record(&lease.pending[0], 2, Outcome::Answer(200))],
        window: WindowUpdate::Replace(vec![page("/new")]),
        keys: vec![page("/new").key],
        then: Then::Keep { want: 0 },
        ..release(lease, 0)
    }
}

/// Imitate a kill: close the connections without leaving the crawl.
fn kill(node: Postgres) -> u64 {
    let number = node.fence().expect("a fence").term().node;
    std::mem::forget(node);
    number
}

#[test]
fn a_group_is_stored_once() {
    let schema = Schema::new();
    let (mut node, lease) = leased(&schema);
    let send = |node: &mut Postgres, now, number| {
        let group = &mut [visited(&lease)].into_iter();
        let replies = node.check_in_group(now, number, group);
        replies.expect("answers").remove(0)
    };
    assert!(send(&mut node, 10, 3).is_ok());
    // The reply was lost. The visit does not know the new state of its site, so its lease ends.
    assert_eq!(send(&mut node, 20, 3), Err(LeaseLost { lease: lease.id }));
    let status = node.status(20).expect("status");
    assert_eq!((status.records, status.pages.known), (1, 2));
    // The visit may have sent a request just now: the pause is 100 ms.
    assert!(node.check_out(119, 1).expect("checks out").is_empty());
    let next = node.check_out(120, 1).expect("checks out").remove(0);
    assert_eq!(next.pending[0].path, "/new");
}

#[test]
fn the_next_process_stores_the_last_check_ins() {
    let schema = Schema::new();
    let (mut node, lease) = leased(&schema);
    let first = visited(&lease);
    assert!(
        node.check_in_group(10, 4, &mut [first].into_iter())
            .expect("stored")[0]
            .is_ok()
    );
    let number = kill(node);

    let mut next = schema.open_as("a", LONG);
    let mut other = schema.open_as("b", LONG);
    assert_eq!(next.take_over(1000, number).expect("takes over"), 4);
    let done = record(&page("/new"), 11, Outcome::Answer(200));
    let last = CheckIn {
        done: vec![done],
        then: Then::Keep { want: 0 },
        ..release(&lease, 0)
    };
    let replies = next.check_in_group(1001, 5, &mut [last].into_iter());
    assert!(replies.expect("stored")[0].is_ok());
    assert_eq!(next.release_all(1002).expect("released"), 1);
    let status = other.status(1002).expect("status");
    assert_eq!((status.records, status.sites.leased), (2, 0));
    // Nobody declares the earlier node dead, because it has ended.
    other.heartbeat.contact().assume();
    other.check_out(3000, 1).expect("checks out");
    let tables = &other.core.store.tables;
    let alive = tables.number("SELECT count(*) FROM nodes WHERE alive", &[]);
    assert_eq!(alive.expect("counts"), 2);
}

/// The site is not visited at once: the earlier process may have sent a request just before it ended.
#[test]
fn sites_that_are_taken_over_are_paused() {
    let schema = Schema::new();
    let (node, _) = leased(&schema);
    let mut next = schema.open_as("a", LONG);
    next.take_over(1000, kill(node)).expect("takes over");
    next.release_all(1000).expect("released");
    assert!(next.check_out(1099, 1).expect("checks out").is_empty());
    assert_eq!(next.check_out(1100, 1).expect("checks out").len(), 1);
}

/// A process that took over may be killed, too, before it has sent all check-ins.
#[test]
fn leases_are_taken_over_again() {
    let schema = Schema::new();
    let (node, lease) = leased(&schema);
    let number = kill(node);
    let mut second = schema.open_as("a", LONG);
    second.take_over(1000, number).expect("takes over");
    kill(second);
    let mut third = schema.open_as("a", LONG);
    third.take_over(2000, number).expect("takes over");
    let replies = third.check_in_group(2001, 1, &mut [visited(&lease)].into_iter());
    assert!(replies.expect("stored")[0].is_ok());
}

/// The check-ins of a node that was declared dead are refused.
#[test]
fn a_dead_node_has_nothing_to_take_over() {
    let schema = Schema::new();
    let (node, lease) = leased(&schema);
    let mut other = schema.open_as("b", LONG);
    other.heartbeat.contact().assume();
    let tables = &node.core.store.tables;
    let sql = "UPDATE nodes SET expires = 0 WHERE node = $1";
    tables
        .connection
        .run(sql, &[&tables.node.get()])
        .expect("expires");
    other.check_out(1000, 1).expect("checks out");
    let mut next = schema.open_as("a", LONG);
    next.take_over(2000, kill(node)).expect("asks");
    let replies = next.check_in_group(2001, 9, &mut [visited(&lease)].into_iter());
    assert_eq!(
        replies.expect("answers"),
        [Err(LeaseLost { lease: lease.id })]
    );
    assert_eq!(next.status(2001).expect("status").records, 0);
}
