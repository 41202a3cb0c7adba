//! Tests of what happens while the database, the connection, or another node does not answer.

use std::os::unix::net::UnixListener;
use std::sync::mpsc::channel;

use super::cut_link::CutLink;
use super::tests::{LONG, Schema};
use super::*;
use crate::Frontier as _;
use crate::LeaseLost;
use crate::suite::{link, record, release, seed, small};
use crate::{ErrorClass, Outcome};

/// Runs `work` on a thread of its own, and fails if it takes longer than a minute.
pub(super) fn bounded<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    let minute = Duration::from_mins(1);
    receiver.recv_timeout(minute).expect("ends within a minute")
}

pub(super) fn connection(address: &str) -> Connection {
    let address = Address::parse(address).expect("valid");
    let connection = Connection::new(address).expect("starts");
    connection.open().expect("connects");
    connection
}

fn setting(connection: &Connection, name: &str) -> String {
    let row = connection.first(&format!("SHOW {name}"), &[]);
    row.expect("reads").expect("a setting").get(0)
}

/// A node that was stopped in a transaction kept its locks for ever, and all others waited for them.
#[test]
fn a_node_that_stops_in_a_transaction_is_disconnected() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let stopped = connection(schema.address());
    let limit = "idle_in_transaction_session_timeout";
    assert_eq!(setting(&stopped, limit), "30s");
    let sql = format!("SET {limit} = 100; BEGIN");
    stopped.batch(&sql).expect("begins");
    let runs = "SELECT pg_advisory_xact_lock(hashtext($1), $2)";
    let params: connection::Params<'_> = &[&stopped.schema(), &link_runs::RUNS];
    stopped.query(runs, params).expect("locks");
    let leases = bounded(move || node.check_out(1, 1).expect("checks out"));
    assert_eq!(leases.len(), 1);
    let error = stopped.batch("SELECT 1").expect_err("ended");
    assert!(error.is_away(), "{error:?}");
}

/// A server whose processes are stopped accepts connections and answers nothing.
#[test]
fn a_server_that_does_not_answer_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let _server = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("listens");
    let host = folder.path().display().to_string().replace('/', "%2F");
    let address = format!("postgres://aranha@{host}/postgres");
    let error = bounded(move || {
        let address = Address::parse(&address).expect("valid");
        Connection::new(address).expect("starts").open()
    });
    assert!(error.expect_err("no answer").is_away());
}

/// The call used to wait forever for the outcome.
#[test]
fn a_commit_whose_outcome_stays_unknown_is_not_repeated() {
    let schema = Schema::new();
    let other = schema.open_as("other", LONG);
    let (link, address) = CutLink::to(schema.address());
    let mut node = Schema::at(address).open_as("a", Duration::from_secs(2));
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 5);
    entry.done = vec![record(&lease.pending[0], 1, Outcome::Answer(200))];
    link.cut_at_commit();
    let first = entry.clone();
    let (mut node, result) = bounded(move || {
        let result = node.check_in(2, vec![first]);
        (node, result)
    });
    let error = result.expect_err("unknown");
    assert_eq!(error.class(), ErrorClass::MayPass, "{error}");
    link.mend();
    let replies = node.check_in(3, vec![entry]).expect("answers");
    assert_eq!(replies, [Err(LeaseLost { lease: lease.id })]);
    assert_eq!(other.status(4).expect("status").records, 1);
}

/// The server may notice a lost connection hours after the client. Until then the transaction is in progress.
#[test]
fn a_transaction_whose_connection_is_lost_is_ended() {
    let schema = Schema::new();
    let node = schema.open_as("a", LONG);
    let lost = connection(schema.address());
    lost.batch("BEGIN").expect("begins");
    let row = lost.first("SELECT pg_current_xact_id()::text", &[]);
    let transaction: String = row.expect("reads").expect("a number").get(0);
    let found = node.was_committed(&transaction);
    assert!(matches!(found, Err(StoreError::NotConnected)), "{found:?}");
    let outcome = bounded(move || {
        loop {
            match node.was_committed(&transaction) {
                Err(StoreError::NotConnected) => {}
                other => return other,
            }
        }
    });
    assert!(!outcome.expect("reads"));
}

/// The leases of the first transaction of a check-out were lost when a later one failed.
#[test]
fn leases_are_returned_although_the_check_out_fails_later() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let mut entry = release(&lease, 5);
    entry.outside = vec![link("https://b.example/")];
    node.check_in(2, vec![entry]).expect("stored");
    node.flush(3).expect("flushes");
    node.seed(4, &[seed("https://c.example/")]).expect("seeds");
    let tables = &node.core.store.tables;
    let fail = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS \
                $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '57P01'; END $$; \
                CREATE TRIGGER fail BEFORE UPDATE ON sites FOR EACH ROW \
                WHEN (NEW.name = 'b.example') EXECUTE FUNCTION fail()";
    tables.connection.batch(fail).expect("creates");
    let leases = node.check_out(6, 3).expect("some leases");
    let sites: Vec<_> = leases.iter().map(|lease| lease.site.as_str()).collect();
    assert_eq!(sites, ["c.example"]);
    let error = node.check_out(7, 3).expect_err("no leases");
    assert_eq!(error.class(), ErrorClass::MayPass, "{error}");
}

/// A visit that was broken off may have sent a request just before its node left.
#[test]
fn sites_of_a_node_that_leaves_are_paused() {
    let schema = Schema::new();
    let (mut first, mut second) = (schema.open_as("a", LONG), schema.open_as("b", LONG));
    first.seed(0, &[seed("https://a.example/")]).expect("seeds");
    assert_eq!(first.check_out(1000, 1).expect("checks out").len(), 1);
    drop(first);
    assert!(second.check_out(1099, 1).expect("checks out").is_empty());
    assert_eq!(second.check_out(1100, 1).expect("checks out").len(), 1);
}

/// Administrators set defaults for roles, and schemas have names that are words of SQL.
#[test]
fn defaults_of_the_role_do_not_count() {
    let schema = Schema::new();
    let admin = connection(schema.address());
    let role = format!("defaults_{}", admin.schema());
    let sql = format!(
        "CREATE ROLE {role} SUPERUSER LOGIN; ALTER ROLE {role} SET default_transaction_isolation = 'repeatable read'; \
         ALTER ROLE {role} SET synchronous_commit = off; ALTER ROLE {role} SET statement_timeout = 1000; \
         ALTER ROLE {role} SET lock_timeout = 1000"
    );
    admin.batch(&sql).expect("creates");
    let address = schema.address().replace("aranha@", &format!("{role}@"));
    let address = address.replace(&format!("schema={}", admin.schema()), "schema=user");
    let mut node = Schema::at(address).open_as("a", LONG);
    let settings = node.transact(0, |engine, _| {
        let connection = &engine.core.store.tables.connection;
        let names = "transaction_isolation synchronous_commit statement_timeout lock_timeout";
        Ok(names
            .split(' ')
            .map(|name| setting(connection, name))
            .collect::<Vec<_>>())
    });
    assert_eq!(settings.expect("reads"), ["read committed", "on", "0", "0"]);
    let sql = "SELECT count(*) FROM \"user\".nodes";
    assert_eq!(node.core.store.tables.number(sql, &[]).expect("counts"), 1);
}

#[test]
fn errors_of_the_database_that_pass_are_repeated() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    // Deadlock, read-only after a failover, cancelled, lock time-out, idle in transaction, out of memory.
    let passing = [
        "40P01", "25006", "57014", "55P03", "25P03", "53200", "57P05",
    ];
    for (code, class) in passing
        .map(|code| (code, ErrorClass::MayPass))
        .into_iter()
        .chain([("42P01", ErrorClass::Final)])
    {
        let sql = format!("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$");
        let result = node.transact(0, |engine, _| {
            engine.core.store.tables.connection.batch(&sql)
        });
        let error = result.expect_err("raised");
        assert_eq!(error.class(), class, "{code}: {error}");
    }
}

/// PostgreSQL stores no NUL in a text. The error ended the crawl.
#[test]
fn a_problem_with_a_nul_is_stored() {
    let schema = Schema::new();
    let mut node = schema.open_as("a", LONG);
    node.seed(0, &[seed("https://a.example/")]).expect("seeds");
    let lease = node.check_out(1, 1).expect("checks out").remove(0);
    let ended = node.end_failed_visit(2, lease.id, "panic: a\0b", 9);
    assert!(ended.expect("stored"));
    let problems = node.problem_sites().expect("reads");
    assert_eq!(problems[0].problem, "panic: a\u{fffd}b");
}

/// The wait for other transactions is not the fault of the visits.
#[test]
fn leases_do_not_expire_while_a_call_takes_long() {
    let schema = Schema::new();
    let options = Options {
        lease: Duration::from_secs(2),
        ..small()
    };
    let settings = NodeSettings {
        ttl: LONG,
        ..NodeSettings::default()
    };
    let mut node = Postgres::open(schema.address(), options, settings).expect("opens");
    let begun = std::time::Instant::now();
    let now = || begun.elapsed().as_millis() as i64;
    node.seed(now(), &[seed("https://a.example/")])
        .expect("seeds");
    let lease = node.check_out(now(), 1).expect("checks out").remove(0);
    let other = connection(schema.address());
    other.batch("BEGIN").expect("begins");
    let runs = "SELECT pg_advisory_xact_lock(hashtext($1), $2)";
    let params: connection::Params<'_> = &[&other.schema(), &link_runs::RUNS];
    other.query(runs, params).expect("locks");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(2500));
            other.batch("COMMIT").expect("commits");
        });
        assert!(node.check_out(now(), 1).expect("checks out").is_empty());
    });
    assert!(now() > 2500, "the lease would have expired");
    assert!(node.check_out(now(), 1).expect("checks out").is_empty());
    let replies = node.check_in(now(), vec![release(&lease, now())]);
    assert!(replies.expect("stored")[0].is_ok());
}
