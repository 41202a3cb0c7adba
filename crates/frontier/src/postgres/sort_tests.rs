//! Tests of sorting beside the calls of a node.

use super::merge_tests::{count, send};
use super::outage_tests::{bounded, connection};
use super::tests::{LONG, Schema};
use super::*;
use crate::Frontier as _;
use crate::suite::{link, seed, small};
use crate::{ErrorClass, Lease};

/// A node on the clock of the database, which sorts in a thread, with one lease.
fn node_with_thread(schema: &Schema) -> (Postgres, Lease) {
    let settings = NodeSettings {
        ttl: LONG,
        pause: Duration::ZERO,
        ..NodeSettings::default()
    };
    let mut node = Postgres::open(schema.address(), small(), settings).expect("opens");
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(0, 1).expect("checks out").remove(0);
    (node, lease)
}

fn urls(numbers: std::ops::Range<u32>) -> Vec<String> {
    let url = |number| format!("https://s{number}.example/");
    numbers.map(url).collect()
}

const SHORT: Duration = Duration::from_millis(1);

/// Tidies until no work is left.
fn tidy_all(node: &mut Postgres) {
    while node.tidy(0, SHORT).expect("tidies") {
        std::thread::yield_now();
    }
}

/// Tidies until the thread of the node waits for a lock.
fn tidy_until_blocked(node: &mut Postgres, other: &Connection) {
    let sql = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
               JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT l.granted AND n.nspname = $1";
    loop {
        assert!(node.tidy(0, SHORT).expect("tidies"), "nothing waits");
        let row = other.first(sql, &[&other.schema()]).expect("reads");
        if row.is_some_and(|row| row.get::<_, i64>(0) > 0) {
            return;
        }
    }
}

/// The check-ins of the node that sorts waited for seconds.
#[test]
fn check_ins_do_not_wait_while_links_are_sorted() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_thread(&schema);
    let other = connection(schema.address());
    other
        .batch("BEGIN; LOCK TABLE runs IN EXCLUSIVE MODE")
        .expect("locks");
    let mut node = bounded(move || {
        send(&mut node, 0, &lease, &urls(0..3));
        tidy_until_blocked(&mut node, &other);
        send(&mut node, 0, &lease, &urls(3..6));
        assert!(node.tidy(0, SHORT).expect("tidies"), "it is still sorting");
        other.batch("ROLLBACK").expect("ends");
        node
    });
    tidy_all(&mut node);
    assert_eq!(node.status(0).expect("status").links_gathered, 0);
    assert_eq!(node.check_out(0, 10).expect("checks out").len(), 6);
}

/// Without a bound the journals would grow, and the sorter could not read them into memory.
#[test]
fn a_node_waits_if_links_arrive_faster_than_they_are_sorted() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_thread(&schema);
    let other = connection(schema.address());
    other
        .batch("BEGIN; LOCK TABLE runs IN EXCLUSIVE MODE")
        .expect("locks");
    bounded(move || {
        send(&mut node, 0, &lease, &urls(0..3));
        tidy_until_blocked(&mut node, &other);
        send(&mut node, 0, &lease, &urls(3..20));
        let (sender, ended) = std::sync::mpsc::channel();
        let work = std::thread::spawn(move || {
            while node.status(0).expect("status").links_gathered > 9 {
                node.tidy(0, SHORT).expect("tidies");
            }
            sender.send(()).expect("the test waits");
        });
        let early = ended.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "links were not sorted");
        other.batch("ROLLBACK").expect("ends");
        work.join().expect("no panic");
    });
}

/// A transaction that had chosen a journal before the sorter switched to the other one writes to it when the sorter has read
/// it.
#[test]
fn links_that_come_late_to_a_journal_are_sorted_the_next_time() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_thread(&schema);
    let mut late = schema.open_as("late", LONG);
    let other = connection(schema.address());
    send(&mut node, 0, &lease, &urls(0..3));
    let mut node = Some(node);
    late.transact(0, |engine, _| {
        let core = &mut engine.core;
        for url in urls(3..5) {
            core.inbox.outbox.send_unfiltered(&link(&url));
        }
        let gather = &mut core.inbox.outbox.gather;
        core.store.journal_append(gather, &mut core.block)?;
        tidy_until_blocked(node.as_mut().expect("a node"), &other);
        Ok(())
    })
    .expect("stored");
    let mut node = node.take().expect("a node");
    tidy_all(&mut node);
    assert_eq!(node.status(0).expect("status").links_gathered, 2);
    assert_eq!(count(&node, "SELECT count(*) FROM journal_0"), 0);
    node.flush(0).expect("flushes");
    assert_eq!(node.status(0).expect("status").links_gathered, 0);
    assert_eq!(node.check_out(0, 10).expect("checks out").len(), 5);
}

/// The connection of the sorter may be lost while that of the node is not.
#[test]
fn a_sorter_whose_connection_is_lost_begins_again() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_thread(&schema);
    let other = connection(schema.address());
    other
        .batch("BEGIN; LOCK TABLE runs IN EXCLUSIVE MODE")
        .expect("locks");
    let mut node = bounded(move || {
        send(&mut node, 0, &lease, &urls(0..3));
        tidy_until_blocked(&mut node, &other);
        let sql = "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                   JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT l.granted AND n.nspname = $1";
        other.query(sql, &[&other.schema()]).expect("ends it");
        let error = loop {
            if let Err(error) = node.tidy(0, SHORT) {
                break error;
            }
        };
        assert_eq!(error.class(), ErrorClass::MayPass, "{error}");
        other.batch("ROLLBACK").expect("ends");
        node
    });
    tidy_all(&mut node);
    assert_eq!(node.check_out(0, 10).expect("checks out").len(), 3);
}

/// A node that was declared dead writes nothing, neither does its sorter.
#[test]
fn the_sorter_of_a_dead_node_writes_nothing() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_thread(&schema);
    send(&mut node, 0, &lease, &urls(0..3));
    let tables = &node.core.store.tables;
    let sql = "UPDATE nodes SET alive = false WHERE node = $1";
    tables
        .connection
        .run(sql, &[&tables.node.get()])
        .expect("dies");
    let sorter = node.sorter_of_node(None).expect("at rest");
    sorter.sort_links(true, false).expect("does nothing");
    assert_eq!(count(&node, "SELECT count(*) FROM runs"), 0);
    // Its next call registers it anew.
    node.flush(0).expect("flushes");
    assert_eq!(count(&node, "SELECT count(*) FROM runs"), 1);
}
