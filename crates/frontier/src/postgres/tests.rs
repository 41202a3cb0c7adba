//! Runs the suite on the PostgreSQL engine, and tests what only this engine has: several nodes, dead nodes, layouts.

use std::sync::atomic::AtomicI64;

use aranha_test_database::new_address;

use super::*;
use crate::CheckIn;
use crate::Frontier as _;
use crate::suite::model::model;
use crate::suite::{EngineFactory, link, page, release, seed, small, suite};
use crate::{LeaseLost, View, WindowUpdate};

/// A frontier of its own: a schema on the server of the tests.
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) fn new() -> Schema {
        Schema(new_address())
    }

    /// The frontier at this address.
    pub(super) fn at(address: String) -> Schema {
        Schema(address)
    }

    pub(super) fn address(&self) -> &str {
        &self.0
    }

    pub(crate) fn open_as(&self, node: &str, ttl: Duration) -> Postgres {
        let settings = NodeSettings {
            node: node.to_owned(),
            ttl,
            pause: Duration::from_millis(100),
            is_on_database_time: false,
            ..NodeSettings::default()
        };
        Postgres::open(&self.0, small(), settings).expect("opens")
    }
}

impl EngineFactory for Schema {
    type Engine = Postgres;
    fn open(&self, options: Options) -> Postgres {
        let settings = NodeSettings {
            node: options.node_name(),
            pause: Duration::ZERO,
            is_on_database_time: false,
            ..NodeSettings::default()
        };
        Postgres::open(&self.0, options, settings).expect("opens")
    }

    fn view(&self) -> View {
        View::connect(&self.0, None).expect("opens")
    }
}

suite!(Schema::new());
model!(Schema::new(), 8);

/// A time to live that does not end during a test.
pub(crate) const LONG: Duration = Duration::from_hours(1);

#[test]
fn two_nodes_never_hold_the_same_site() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    let seeds: Vec<Seed> = (0..20)
        .map(|n| seed(&format!("https://s{n}.example/")))
        .collect();
    first.seed(0, &seeds).expect("seeds");
    let (mut held, mut own) = (std::collections::HashSet::new(), [0, 0]);
    for turn in 0..10 {
        for (number, node) in [&mut first, &mut second].into_iter().enumerate() {
            for lease in node.check_out(turn, 1).expect("checks out") {
                assert!(held.insert(lease.site), "leased twice");
                own[number] += 1;
            }
        }
    }
    assert_eq!(own, [10, 10]);
    assert_eq!(second.status(10).expect("status").sites.leased, 20);
}

#[test]
fn links_of_one_node_reach_a_site_that_another_visits() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    first
        .seed(0, &[seed("https://a.example/"), seed("https://b.example/")])
        .expect("seeds");
    let one = first.check_out(1, 1).expect("checks out").remove(0);
    let other = second.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&one, 10);
    entry.outside = vec![link(&format!("https://{}/new", other.site))];
    assert!(first.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    first.flush(3).expect("flushes");
    // The other node still visits the site. The link is admitted at the next check-out.
    let entry = release(&other, 10);
    assert!(second.check_in(4, vec![entry]).expect("stored")[0].is_ok());
    let lease = first.check_out(20, 1).expect("checks out").remove(0);
    assert_eq!(lease.site, other.site);
    let paths: Vec<_> = lease
        .pending
        .iter()
        .map(|page| page.path.as_str())
        .collect();
    assert_eq!(paths, ["/new"]);
}

/// A node without a sign of life is declared dead. Another node gets its sites after a pause, and what the dead node
/// wants to check in is refused.
#[test]
fn a_dead_node_loses_its_leases_and_writes_nothing() {
    let schema = Schema::new();
    let mut dead = schema.open_as("dead", LONG);
    let mut alive = schema.open_as("alive", LONG);
    dead.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lost = dead.check_out(1000, 1).expect("checks out").remove(0);
    assert!(alive.check_out(2000, 1).expect("checks out").is_empty());
    // Imitate a node that was stopped for longer than its time to live.
    alive.heartbeat.contact().assume();
    let tables = &dead.core.store.tables;
    let sql = "UPDATE nodes SET expires = 0 WHERE node = $1";
    tables
        .connection
        .run(sql, &[&tables.node.get()])
        .expect("expires");
    assert!(alive.check_out(4000, 1).expect("checks out").is_empty());
    assert!(alive.check_out(4099, 1).expect("checks out").is_empty());
    let taken = alive.check_out(4100, 1).expect("checks out").remove(0);
    assert_eq!(taken.pending, lost.pending);

    let mut entry = release(&lost, 5000);
    entry.overflow = vec![page("/never")];
    entry.keys = vec![page("/never").key];
    let replies = dead.check_in(4200, vec![entry]).expect("answers");
    assert_eq!(replies, [Err(LeaseLost { lease: lost.id })]);
    let status = alive.status(4200).expect("status");
    assert_eq!((status.pages.known, status.sites.leased), (1, 1));
    // The node takes part again, under a new number.
    let entry = release(&taken, 4300);
    let entry = CheckIn {
        window: WindowUpdate::Replace(taken.pending.clone()),
        ..entry
    };
    assert!(alive.check_in(4250, vec![entry]).expect("stored")[0].is_ok());
    assert_eq!(dead.check_out(4300, 1).expect("checks out").len(), 1);
}

/// The row of the site decides, not what the node believes.
#[test]
fn a_lease_that_was_given_to_another_is_refused() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let tables = &node.core.store.tables;
    tables
        .connection
        .batch("UPDATE sites SET lease = lease + 1")
        .expect("changes");
    let replies = node.check_in(2, vec![release(&lease, 5)]).expect("answers");
    assert_eq!(replies, [Err(LeaseLost { lease: lease.id })]);
    assert!(
        !node
            .end_failed_visit(3, lease.id, "a panic", 9)
            .expect("ends")
    );
}

#[test]
fn a_node_stays_alive_by_itself() {
    let schema = Schema::new();
    let ttl = Duration::from_secs(4);
    let mut node = schema.open_as("a", ttl);
    let mut other = schema.open_as("b", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let fence = node.fence().expect("a fence");
    let first = fence.term();
    assert_eq!(lease.node, first.node);
    let remaining = fence.remaining(first);
    assert!(remaining <= ttl * 3 / 4 && !remaining.is_zero());
    while fence.term().deadline < first.deadline + 4500 {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(other.check_out(10_000, 1).expect("checks out").is_empty());
    let replies = node
        .check_in(10_000, vec![release(&lease, 5)])
        .expect("stored");
    assert!(replies[0].is_ok());
}

/// The clocks of the nodes do not matter: times are kept on the clock of the database.
#[test]
fn a_pause_holds_between_nodes_with_different_clocks() {
    let schema = Schema::new();
    let open = |node: &str| {
        let settings = NodeSettings {
            node: node.to_owned(),
            ..NodeSettings::default()
        };
        Postgres::open(&schema.0, small(), settings).expect("opens")
    };
    let (mut slow, mut fast) = (open("slow"), open("fast"));
    // The clock of one node is an hour ahead of the other's.
    let (slow_now, fast_now) = (1_000_000, 1_000_000 + 3_600_000);
    slow.seed(slow_now, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = slow.check_out(slow_now, 1).expect("checks out").remove(0);
    assert!(
        (lease.expires - slow_now - 300_000).abs() < 60_000,
        "on the clock of the caller"
    );
    let mut entry = release(&lease, slow_now + 1_800_000);
    entry.window = WindowUpdate::Replace(lease.pending.clone());
    assert!(slow.check_in(slow_now, vec![entry]).expect("stored")[0].is_ok());
    assert!(fast.check_out(fast_now, 1).expect("checks out").is_empty());
    let due = fast
        .status(fast_now)
        .expect("status")
        .next_due
        .expect("due");
    assert!((due - fast_now - 1_800_000).abs() < 60_000, "{due}");
}

#[test]
fn readers_see_the_committed_state_and_register_no_node() {
    let schema = Schema::new();
    assert!(matches!(
        View::connect(&schema.0, None),
        Err(FrontierError::Missing { .. })
    ));
    let mut node = schema.open_as("a", LONG);
    node.seed(
        0,
        &[seed("https://a.example/"), seed("https://b.example/x")],
    )
    .expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let view = View::connect(&schema.0, None).expect("opens");
    assert_eq!(view.seeds().expect("seeds").len(), 2);
    let mut names = Vec::new();
    view.sites(|site| {
        names.push((site.site, site.state));
        true
    })
    .expect("lists");
    assert_eq!(names.len(), 2);
    assert!(names.contains(&(lease.site.clone(), crate::SiteState::Leased)));
    let url = crate::suite::url(&format!("https://{}{}", lease.site, lease.pending[0].path));
    let known = view.explain(&url).expect("explains");
    assert_eq!(known.lease.expect("leased").node, "a");
    let mut queued = 0;
    view.queued(None, |_| {
        queued += 1;
        true
    })
    .expect("lists");
    assert_eq!(queued, 2);
    let nodes = node
        .core
        .store
        .tables
        .number("SELECT count(*) FROM nodes", &[]);
    assert_eq!(nodes.expect("counts"), 1);
}

#[test]
fn a_newer_layout_is_refused() {
    let schema = Schema::new();
    let node = schema.open_as("a", LONG);
    let connection = &node.core.store.tables.connection;
    connection
        .batch("UPDATE layout SET version = 99")
        .expect("sets");
    let error = View::connect(&schema.0, None).expect_err("newer");
    assert!(error.to_string().contains("layout 99"), "{error}");
    let error = Postgres::open(&schema.0, small(), NodeSettings::default()).expect_err("newer");
    assert!(error.to_string().contains("layout 99"), "{error}");
}

/// Several nodes that open a new frontier at the same time create its tables once.
#[test]
fn tables_are_created_once() {
    let schema = Schema::new();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let schema = &schema;
            scope.spawn(move || drop(schema.open_as(&format!("n{number}"), LONG)));
        }
    });
}

/// A lost connection is an error that may pass; the next call opens a new one, and nothing was changed in between.
#[test]
fn a_lost_connection_is_opened_again() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    let other = schema.open_as("b", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let backend = node
        .core
        .store
        .tables
        .number("SELECT pg_backend_pid()::int8", &[]);
    let sql = "SELECT pg_terminate_backend($1::int8::int4)::int::int8";
    let ended = other
        .core
        .store
        .tables
        .number(sql, &[&backend.expect("a process")]);
    assert_eq!(ended.expect("ends"), 1);
    let entry = release(&lease, 5);
    let mut tries = 0;
    let replies = loop {
        tries += 1;
        match node.check_in(2, vec![entry.clone()]) {
            Ok(replies) => break replies,
            Err(error) => assert_eq!(error.class(), crate::ErrorClass::MayPass, "{error}"),
        }
    };
    assert!(replies[0].is_ok() && tries <= 3, "{tries} tries");
}

/// `docs/decisions/0013-postgres.md` describes this role.
#[test]
fn a_role_needs_only_a_schema_of_its_own() {
    let address = new_address();
    let parsed = Address::parse(&address).expect("valid");
    let schema = parsed.schema.clone();
    let admin = Connection::new(parsed).expect("starts");
    admin.open().expect("connects");
    let role = format!("crawl_{schema}");
    let sql = format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA {schema} AUTHORIZATION {role}");
    admin.batch(&sql).expect("creates");
    let schema = Schema(address.replace("aranha@", &format!("{role}@")));
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 5);
    entry.outside = vec![link("https://b.example/")];
    assert!(node.check_in(2, vec![entry]).expect("stored")[0].is_ok());
    node.flush(3).expect("flushes");
    assert_eq!(node.check_out(9, 1).expect("checks out").len(), 1);
}

/// Three nodes check out, check in and sort at the same time. Every page that was linked is fetched once.
#[test]
fn nodes_that_work_at_the_same_time_lose_nothing() {
    type Pages = std::sync::Mutex<std::collections::BTreeMap<(String, String), usize>>;
    let schema = Schema::new();
    let (clock, fetched, sent) = (AtomicI64::new(1), Pages::default(), Pages::default());
    let count = |pages: &Pages, site: &str, path: &str| {
        let mut pages = pages.lock().expect("no panic");
        *pages.entry((site.to_owned(), path.to_owned())).or_default() += 1;
    };
    let tick = || clock.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let work = |node: &mut Postgres| {
        let leases = node.check_out(tick(), 3).expect("checks out");
        let mut batch = Vec::new();
        for lease in &leases {
            let mut entry = release(lease, tick());
            for page in &lease.pending {
                count(&fetched, &lease.site, &page.path);
                entry
                    .done
                    .push(crate::suite::record(page, 1, crate::Outcome::Answer(200)));
                let number: u64 = page.path[1..].parse().expect("a number");
                for step in 1..4 {
                    let (site, path) = (
                        lease.site_key.0.wrapping_add(number * step) % 9,
                        (number + 7 * step) % 50,
                    );
                    let target = link(&format!("https://s{site}.example/{path}"));
                    if target.site != lease.site {
                        count(&sent, &target.site, &target.path);
                        entry.outside.push(target);
                    }
                }
            }
            batch.push(entry);
        }
        for reply in node.check_in(tick(), batch).expect("stored") {
            assert!(reply.expect("in force").released);
        }
        node.tidy(tick(), Duration::from_millis(20))
            .expect("tidies");
        !leases.is_empty()
    };
    let mut first = schema.open_as("first", LONG);
    first
        .seed(0, &[seed("https://s0.example/0")])
        .expect("seeds");
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (schema, work, tick) = (&schema, &work, &tick);
            scope.spawn(move || {
                let mut node = schema.open_as(&format!("n{number}"), LONG);
                loop {
                    if work(&mut node) {
                        continue;
                    }
                    let status = node.status(tick()).expect("status");
                    let waits = status.pages.queued + status.links_gathered + status.sites.leased;
                    if waits + status.sites.waiting == 0 {
                        break;
                    }
                }
            });
        }
    });
    let (fetched, sent) = (
        fetched.lock().expect("no panic"),
        sent.lock().expect("no panic"),
    );
    assert!(sent.len() > 100, "{} pages", sent.len());
    assert!(fetched.values().all(|times| *times == 1), "{fetched:?}");
    for page in sent.keys() {
        assert!(fetched.contains_key(page), "{page:?} is lost");
    }
    let status = first.status(tick()).expect("status");
    assert_eq!(
        (status.records, status.pages.known),
        (fetched.len() as u64, fetched.len() as u64)
    );
    assert_eq!(
        (status.sites.idle, status.sites.leased),
        (status.sites.known, 0)
    );
}
