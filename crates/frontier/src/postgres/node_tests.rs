//! Tests of several nodes: their clocks, the end of a crawl, totals, layouts.

use super::outage_tests::{bounded, connection};
use super::tests::{LONG, Schema};
use super::*;
use crate::Frontier as _;
use crate::suite::{everything, link, page, record, release, seed, small};
use crate::{Claim, VisitOrder};
use crate::{Outcome, Rediscovered, WindowUpdate};
use std::collections::HashSet;

/// A visit kept its own list of known pages. Visits of two nodes could therefore store the same page twice.
#[test]
fn a_page_that_is_found_again_during_a_visit_is_admitted_once() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    first.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = first.check_out(1, 1).expect("checks out").remove(0);
    let found = Rediscovered {
        linked: vec![page("/new"), page("/other")],
        wanted_again: Vec::new(),
        outside: Vec::new(),
        max_known: None,
    };
    let queued = second.rediscover(2, lease.site_key, &found);
    assert_eq!(queued.expect("admits"), 2);
    let mut entry = release(&lease, 5);
    entry.overflow = vec![page("/new")];
    entry.keys = vec![page("/new").key];
    assert!(first.check_in(3, vec![entry]).expect("stored")[0].is_ok());
    second.flush(4).expect("flushes");
    let lease = first.check_out(6, 1).expect("checks out").remove(0);
    let mut paths: Vec<_> = lease
        .pending
        .iter()
        .map(|page| page.path.as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/new", "/other"]);
}

/// Opens two nodes whose clocks differ by an hour, and returns the times on their clocks.
fn slow_and_fast(schema: &Schema) -> ((Postgres, i64), (Postgres, i64)) {
    let open = |node: &str| {
        let settings = NodeSettings {
            node: node.to_owned(),
            ..NodeSettings::default()
        };
        Postgres::open(schema.address(), small(), settings).expect("opens")
    };
    ((open("slow"), 1_000_000), (open("fast"), 4_600_000))
}

/// Retries were due by the clock of the node that stored them.
#[test]
fn retries_and_claims_are_on_the_clock_of_the_database() {
    let schema = Schema::new();
    let ((mut slow, slow_now), (mut fast, fast_now)) = slow_and_fast(&schema);
    slow.seed(slow_now, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = slow.check_out(slow_now, 1).expect("checks out").remove(0);
    let mut failed = record(&lease.pending[0], slow_now, Outcome::Answer(503));
    (failed.tries, failed.next) = (1, Some(slow_now + 600_000));
    let mut entry = release(&lease, slow_now);
    entry.done = vec![failed];
    assert!(slow.check_in(slow_now, vec![entry]).expect("stored")[0].is_ok());
    for (node, now) in [(&mut slow, slow_now), (&mut fast, fast_now)] {
        assert!(node.check_out(now, 1).expect("checks out").is_empty());
        let due = node.status(now).expect("status").next_due.expect("due");
        assert!((due - now - 600_000).abs() < 60_000, "{due}");
    }
    // The clock of this claim is ahead of the database's clock. Even so, the claim is not in the future.
    let ahead = std::time::SystemTime::now() + Duration::from_hours(1);
    let ahead = ahead
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    let ahead = ahead.as_millis() as i64;
    let claimed = link("https://a.example/");
    let claim = Claim {
        key: claimed.path_key,
        source: 1,
        weight: 1.0,
        at: ahead,
        gap: 0,
    };
    let claimed = fast.claim(ahead, &[(claimed, claim)], |_, _| 1.0);
    assert_eq!(claimed.expect("claims").brought_forward, 1);
    assert_eq!(slow.check_out(slow_now, 1).expect("checks out").len(), 1);
}

/// The due times of the whole table were recomputed under the lock that a sorter needs.
#[test]
fn a_new_horizon_does_not_stop_other_nodes() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    let seeds = ["https://a.example/", "https://b.example/"].map(seed);
    node.seed(0, &seeds).expect("seeds");
    for lease in node.check_out(1, 2).expect("checks out") {
        let mut entry = release(&lease, 1);
        let mut done = record(&lease.pending[0], 1, Outcome::Answer(200));
        (done.next, done.past) = (Some(50), Some(Box::default()));
        entry.done = vec![done];
        entry.outside = vec![link("https://c.example/")];
        assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    }
    let mut late = schema.open_as("b", LONG);
    // The pause of one site ends after the horizon, so the site changes its class.
    let other = connection(schema.address());
    other
        .batch("UPDATE sites SET due = 90, free = 90")
        .expect("changes");
    other.batch("BEGIN").expect("begins");
    other
        .batch("SELECT 1 FROM sites WHERE name = 'a.example' FOR UPDATE")
        .expect("locks");
    late.revisit_until(60);
    let late = std::thread::spawn(move || {
        let leases = late.check_out(5, 5).expect("checks out");
        (late, leases.len())
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                 AND query LIKE 'UPDATE sites SET class%'";
    let watch = connection(schema.address());
    let count = |connection: &Connection| -> i64 {
        let row = connection.first(waits, &[]).expect("reads");
        row.expect("a number").get(0)
    };
    while count(&watch) == 0 {
        std::thread::yield_now();
    }
    let node = bounded(move || {
        node.flush(4).expect("flushes");
        node
    });
    other.batch("COMMIT").expect("commits");
    let (mut late, leases) = late.join().expect("no panic");
    assert_eq!(leases, 1, "the new site");
    assert_eq!(late.check_out(91, 5).expect("checks out").len(), 2);
    drop(node);
}

/// The status counted the links of the journals, and waited for the sorter.
#[test]
fn the_status_does_not_read_the_journals() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 5);
    entry.outside = vec![link("https://b.example/"), link("https://c.example/")];
    assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    // This measures the size of the tables, which is then kept.
    node.status(3).expect("status");
    let sorter = connection(schema.address());
    let sql = "BEGIN; LOCK TABLE journal_0, journal_1 IN ACCESS EXCLUSIVE MODE";
    sorter.batch(sql).expect("locks");
    let (mut node, status) = bounded(move || {
        let status = node.status(3).expect("status");
        (node, status)
    });
    assert_eq!(status.links_gathered, 2);
    sorter.batch("ROLLBACK").expect("ends");
    node.flush(4).expect("flushes");
    assert_eq!(node.status(5).expect("status").links_gathered, 0);
}

/// Links of a run that is not announced yet were not counted, so the crawl ended.
#[test]
fn a_crawl_with_an_unannounced_run_is_not_over() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 1);
    entry.outside = vec![link("https://a.example/again")];
    assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    node.flush(3).expect("flushes");
    // This is the state after a sorter that ended before it announced the run.
    let tables = &node.core.store.tables;
    let sql = "UPDATE runs SET upto = -9223372036854775808; \
               UPDATE sites SET inbox = false, due = NULL, class = 4";
    tables.connection.batch(sql).expect("changes");
    assert_eq!(node.status(4).expect("status").next_due, Some(4));
    assert_eq!(node.check_out(5, 1).expect("checks out").len(), 1);
}

/// A node without work ended the order of all nodes, although another node still visited a site.
#[test]
fn a_crawl_in_which_another_node_visits_a_site_is_not_over() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    first.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let began = first.make_all_due(10, &everything()).expect("begins");
    assert_eq!(began, 10);
    let lease = first.check_out(11, 1).expect("checks out").remove(0);
    let due = second.status(12).expect("status").next_due;
    assert_eq!(due, Some(12 + OTHERS_POLL));
    second.end_order().expect("ends nothing");
    let order = VisitOrder {
        max_age: 100,
        ..everything()
    };
    assert_eq!(second.make_all_due(13, &order).expect("continues"), 10);
    let mut entry = release(&lease, 14);
    entry.window = WindowUpdate::Replace(Vec::new());
    assert!(first.check_in(14, vec![entry]).expect("stored")[0].is_ok());
    assert_eq!(second.status(15).expect("status").next_due, None);
    second.end_order().expect("ends");
    assert_eq!(second.make_all_due(16, &order).expect("begins"), 16);
}

/// Each process left rows in the table of totals for ever.
#[test]
fn totals_of_nodes_that_are_gone_are_added_up() {
    let schema = Schema::new();
    let watch = schema.open_as("watch", LONG);
    for number in 0..3 {
        let mut node = schema.open_as("a", LONG);
        let url = format!("https://s{number}.example/");
        node.seed(0, &[seed(&url)]).expect("seeds");
        let lease = node
            .check_out(1 + number * 1000, 1)
            .expect("checks out")
            .remove(0);
        let mut entry = release(&lease, 5);
        entry.done = vec![record(&lease.pending[0], 1, Outcome::Answer(200))];
        assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    }
    let sql = "SELECT count(DISTINCT node) FROM (SELECT node FROM totals UNION SELECT node FROM outcomes) t";
    assert_eq!(watch.core.store.tables.number(sql, &[]).expect("counts"), 1);
    let status = watch.status(10).expect("status");
    assert_eq!(
        (status.records, status.sites.known, status.seeds),
        (3, 3, 3)
    );
    assert_eq!(status.outcomes, [(Outcome::Answer(200), 3)]);
}

/// A node of an older version went on writing after a newer one had changed the layout.
#[test]
fn a_node_stops_when_the_layout_becomes_newer() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    let sql = "UPDATE layout SET version = 99";
    node.core.store.tables.connection.batch(sql).expect("sets");
    let error = node
        .seed(0, &[seed("https://a.example/")])
        .expect_err("newer");
    assert!(error.to_string().contains("layout 99"), "{error}");
}

/// Each site with due revisits cost a check-out several statements.
#[test]
fn a_check_out_of_revisits_is_a_constant_number_of_statements() {
    let statements = |count: usize| {
        let schema = Schema::new();
        let mut node = schema.open_as("a", LONG);
        let seeds = (0..count).map(|n| seed(&format!("https://s{n}.example/")));
        node.seed(0, &seeds.collect::<Vec<_>>()).expect("seeds");
        let mut batch = Vec::new();
        for lease in node.check_out(1, count).expect("checks out") {
            let mut entry = release(&lease, 1);
            let mut done = record(&lease.pending[0], 1, Outcome::Answer(200));
            (done.next, done.past) = (Some(50), Some(Box::default()));
            let mut retry = record(&page("/retry"), 1, Outcome::Answer(503));
            (retry.next, retry.tries) = (Some(60), 1);
            entry.done = vec![done, retry];
            entry.keys = vec![page("/retry").key];
            batch.push(entry);
        }
        let replies = node.check_in(2, batch).expect("stored");
        assert!(replies.iter().all(Result::is_ok));
        let before = node.core.store.tables.connection.sent.get();
        let leases = node.check_out(100, count).expect("checks out");
        let sent = node.core.store.tables.connection.sent.get() - before;
        assert_eq!(leases.len(), count);
        assert!(leases.iter().all(|lease| lease.pending.len() == 2));
        sent
    };
    assert_eq!(statements(30), statements(3));
}

/// The check-in of the visit brought the validators of a forgotten page back.
#[test]
fn pages_of_a_visited_site_are_fetched_again_without_validators() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    first.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = first.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 2);
    let mut done = record(&lease.pending[0], 1, Outcome::Answer(200));
    (done.next, done.past) = (Some(50), Some(Box::default()));
    entry.done = vec![done];
    assert!(first.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    first.revisit_until(1000);
    let lease = first.check_out(60, 1).expect("checks out").remove(0);
    let key = lease.pending[0].key;
    assert!(lease.pending[0].past.is_some());
    let pages = HashSet::from([key]);
    assert_eq!(second.refetch(61, "a.example", &pages).expect("asks"), 0);
    let found = second.refetch_at_once(61, "a.example", &pages);
    assert_eq!(found.expect("asks"), 1);
    let mut late = release(&lease, 62);
    late.window = WindowUpdate::Replace(lease.pending.clone());
    assert!(first.check_in(62, vec![late]).expect("answers")[0].is_err());
    let later = 61 + second.settings.pause.as_millis() as i64;
    assert!(
        second
            .check_out(later - 1, 1)
            .expect("checks out")
            .is_empty()
    );
    let lease = second.check_out(later, 1).expect("checks out").remove(0);
    assert_eq!(lease.pending[0].key, key);
    assert!(lease.pending[0].past.is_none());
}
