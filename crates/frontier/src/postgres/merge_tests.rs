//! Tests of link runs: sorting, merging in steps, large inboxes.

use super::outage_tests::{bounded, connection};
use super::tests::{LONG, Schema};
use super::*;
use crate::Frontier as _;
use crate::sites::tables::Tables as _;
use crate::suite::{link, page, release, seed};
use crate::{CheckIn, Lease};
use crate::{Then, WindowUpdate};

/// Stores a check-in with these links to other sites. The lease stays in force.
pub(super) fn send(node: &mut Postgres, now: i64, lease: &Lease, links: &[String]) {
    let entry = CheckIn {
        window: WindowUpdate::Replace(lease.pending.clone()),
        outside: links.iter().map(|text| link(text)).collect(),
        then: Then::Keep { want: 0 },
        ..release(lease, 0)
    };
    let replies = node.check_in(now, vec![entry]).expect("stored");
    assert!(replies[0].is_ok());
}

/// A node with one lease. For each number in `runs`, there is a run with links to some sites.
fn node_with_runs(schema: &Schema, runs: std::ops::Range<i64>) -> (Postgres, Lease) {
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    for run in runs {
        let links = (0..12).map(|site| format!("https://s{site}.example/{run}"));
        send(&mut node, 2, &lease, &links.collect::<Vec<_>>());
        node.flush(3).expect("flushes");
    }
    (node, lease)
}

pub(super) fn count(node: &Postgres, sql: &str) -> i64 {
    node.core.store.tables.number(sql, &[]).expect("counts")
}

/// Checks out all sites but that of the first lease. Returns the paths of each, sorted.
fn admitted(node: &mut Postgres, now: i64) -> Vec<Vec<String>> {
    let leases = node.check_out(now, 20).expect("checks out");
    assert_eq!(leases.len(), 12);
    let mut pages = Vec::new();
    for lease in leases {
        let mut found = lease.pending.clone();
        let mut has_more = lease.has_more;
        while has_more {
            let entry = CheckIn {
                window: WindowUpdate::Replace(found.clone()),
                then: Then::Keep { want: 100 },
                ..release(&lease, 0)
            };
            let reply = node.check_in(now, vec![entry]).expect("stored").remove(0);
            let reply = reply.expect("in force");
            found.extend(reply.more);
            has_more = reply.has_more;
        }
        let mut paths: Vec<String> = found.into_iter().map(|page| page.path).collect();
        paths.sort();
        pages.push(paths);
    }
    pages
}

fn expected(runs: std::ops::Range<i64>) -> Vec<Vec<String>> {
    let mut paths: Vec<String> = runs.map(|run| format!("/{run}")).collect();
    paths.sort();
    vec![paths; 12]
}

/// After some number of runs every level had fewer runs than a merge needs, and together they took all tables. From then on
/// links were neither sorted nor merged.
#[test]
fn links_are_sorted_however_many_runs_there_were() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_runs(&schema, 0..0);
    for number in 0..150 {
        let url = format!("https://s{}.example/{number}", number % 7);
        send(&mut node, 4, &lease, &[url]);
        node.flush(5).expect("flushes");
        node.tidy(6, Duration::MAX).expect("tidies");
    }
    assert_eq!(node.status(7).expect("status").links_gathered, 0);
    let leases = node.check_out(8, 20).expect("checks out");
    assert_eq!(leases.len(), 7);
}

/// A merge of large runs took minutes. Meanwhile the node stored no check-in.
#[test]
fn a_merge_is_made_in_steps_and_another_node_continues_it() {
    let schema = Schema::new();
    let (mut first, _) = node_with_runs(&schema, 0..8);
    let mut second = schema.open_as("b", LONG);
    let short = Duration::from_nanos(1);
    assert!(first.tidy(4, short).expect("tidies"));
    assert_eq!(
        count(&first, "SELECT count(*) FROM runs"),
        8,
        "not merged yet"
    );
    // The sources still contain all links, also those that were merged.
    assert_eq!(admitted(&mut second, 5), expected(0..8));
    assert!(
        !second.tidy(6, short).expect("tidies"),
        "the other node merges"
    );
    drop(first);
    let mut steps = 0;
    while second.tidy(7, short).expect("tidies") {
        steps += 1;
        assert!(steps < 50);
    }
    assert!(steps > 1, "{steps} steps");
    assert_eq!(count(&second, "SELECT count(*) FROM runs"), 1);
    assert_eq!(count(&second, "SELECT count(*) FROM merges"), 0);
}

#[test]
fn a_merge_in_steps_loses_no_link() {
    let schema = Schema::new();
    let (mut node, _) = node_with_runs(&schema, 0..8);
    let short = Duration::from_nanos(1);
    let mut steps = 0;
    while node.tidy(4, short).expect("tidies") {
        steps += 1;
    }
    assert!(steps > 3, "{steps} steps");
    assert_eq!(count(&node, "SELECT count(*) FROM runs"), 1);
    assert_eq!(count(&node, "SELECT links FROM runs"), 96);
    assert_eq!(admitted(&mut node, 5), expected(0..8));
}

/// A backup reads all tables in one transaction. The end of a merge used to wait for the backup, and all check-outs
/// waited for the merge.
#[test]
fn nobody_waits_for_a_backup() {
    let schema = Schema::new();
    let (mut node, lease) = node_with_runs(&schema, 0..8);
    let backup = connection(schema.address());
    backup.batch("BEGIN").expect("begins");
    for table in (0..18).map(|slot| format!("run_{slot}")) {
        let sql = format!("LOCK TABLE {table} IN ACCESS SHARE MODE");
        backup.batch(&sql).expect("locks");
    }
    let journals = "LOCK TABLE journal_0, journal_1 IN ACCESS SHARE MODE";
    backup.batch(journals).expect("locks");
    let mut node = bounded(move || {
        node.tidy(4, Duration::MAX).expect("tidies");
        send(&mut node, 5, &lease, &["https://s0.example/8".to_owned()]);
        node.flush(6).expect("flushes");
        node
    });
    assert_eq!(count(&node, "SELECT count(*) FROM runs"), 2);
    let mut pages = admitted(&mut node, 7);
    let longest = pages.iter().position(|paths| paths.len() == 9);
    assert_eq!(pages.remove(longest.expect("a new link")).len(), 9);
    assert_eq!(pages, expected(0..8)[1..]);
}

/// A merge read the rows of all sites.
#[test]
fn a_merge_reads_only_the_sites_that_it_meets() {
    let schema = Schema::new();
    let (mut node, _) = node_with_runs(&schema, 0..8);
    let seeds = (0..400).map(|number| seed(&format!("https://other{number}.example/")));
    node.seed(4, &seeds.collect::<Vec<_>>()).expect("seeds");
    let read = node.with_sorter(5, |sorter| {
        sorter.transact(|sorter, _| {
            let sql = "SELECT coalesce(idx_tup_fetch, 0)::int8 FROM pg_stat_xact_user_tables \
                   WHERE relname = 'sites' AND schemaname = current_schema()";
            let before = sorter.core.store.tables.number(sql, &[])?;
            sorter.merge_step(Duration::MAX, false)?;
            Ok(sorter.core.store.tables.number(sql, &[])? - before)
        })
    });
    let read = read.expect("merges").expect("alive");
    assert!((12..=48).contains(&read), "{read} rows");
}

/// The links of all sites of a check-out were read at once.
#[test]
fn a_large_inbox_is_read_in_parts() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let links = (0..200).map(|page| format!("https://large.example/{page}"));
    send(&mut node, 2, &lease, &links.collect::<Vec<_>>());
    node.flush(3).expect("flushes");
    let site = crate::suite::url("https://large.example/").site_key().0 as i64;
    let blocks = node.transact(4, |engine, _| {
        let tables = &engine.core.store.tables;
        tables.read_links(&[(site, 0)])?;
        let unit = tables.unit.borrow();
        let blocks = unit.links.values().map(|first| first.blocks.len());
        Ok(blocks.sum::<usize>())
    });
    assert!(blocks.expect("reads") <= 2);
    assert_eq!(node.check_out(5, 1).expect("checks out").len(), 1);
    assert_eq!(node.status(6).expect("status").pages.known, 201);
}

/// A merge of the newest blocks of keys read all keys of the site.
#[test]
fn only_the_newest_blocks_of_keys_are_read_to_append_some() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let site = lease.site_key.0 as i64;
    let append = |node: &mut Postgres, number: i64| {
        node.transact(2, |engine, _| {
            let before = engine.core.store.tables.site(site)?.expect("known");
            let mut row = before.clone();
            let key = page(&format!("/{number}")).key;
            engine.core.store.keys_append(&mut row, &[key])?;
            let blocks = engine.core.store.tables.unit.borrow().keys.known.len();
            engine.core.save(&before, &row)?;
            Ok((row.key_blocks, blocks))
        })
    };
    for number in 0..200 {
        let (appended, blocks) = append(&mut node, number).expect("appends");
        // For each level, one block that was merged and one that was read but not needed.
        assert!(blocks <= 5, "{blocks} blocks after {appended}");
    }
    let keys = node.transact(3, |engine, _| {
        let row = engine.core.store.tables.site(site)?.expect("known");
        engine.core.store.keys_read(&row)
    });
    assert_eq!(keys.expect("reads").len(), 201);
}
