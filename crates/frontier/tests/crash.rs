//! Crash test: after a kill at a random moment, every acknowledged check-in is stored and the crawl can continue.
//!
//! The test runs on both engines. It starts itself as a child process, which makes check-ins until it is killed, and prints the data of each
//! check-in after the frontier has acknowledged it. The parent kills the child with SIGKILL, opens the frontier, and
//! looks for all printed data.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, Hop, Lease, NodeSettings, Options, Outcome, Outside,
    PageFilter, PageRecord, Pending, Postgres, Seed, Then, View, WindowUpdate,
};
use aranha_url::{CanonUrl, Canonicaliser, PathKey, UrlRules};

/// Environment variable with the place of the frontier, for the child process: a folder, or the address of a database.
const PLACE: &str = "ARANHA_CRASH_FRONTIER";

fn is_database(place: &str) -> bool {
    place.starts_with("postgres://")
}

fn open(place: &str) -> Box<dyn Frontier> {
    if !is_database(place) {
        return Box::new(Embedded::open(Path::new(place), options()).expect("opens"));
    }
    // A killed child is declared dead soon, so that the next one gets its sites.
    let settings = NodeSettings {
        ttl: Duration::from_secs(1),
        pause: Duration::ZERO,
        is_on_database_time: false,
        ..NodeSettings::default()
    };
    Box::new(Postgres::open(place, options(), settings).expect("opens"))
}

fn view(place: &str) -> View {
    let view = if is_database(place) {
        View::connect(place, None)
    } else {
        View::open(Path::new(place))
    };
    view.expect("opens")
}

fn options() -> Options {
    Options {
        run_links: 40,
        window: 16,
        recent_links: 16,
        ..Options::default()
    }
}

fn url(text: &str) -> CanonUrl {
    Canonicaliser::new(UrlRules::default())
        .canon(text)
        .expect("a URL")
}

fn record(page: &Pending) -> PageRecord {
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: 0,
        site_depth: 0,
        time: 1,
        outcome: Outcome::Answer(200),
        media_type: String::new(),
        size: 0,
        digest: None,
        text_digest: 0,
        language: None,
        location: None,
        revisit: false,
        duration_ms: 0,
        tries: 0,
        hop: Hop::Link,
        via: String::new(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// A page that a visit found.
fn found(path: String) -> Pending {
    Pending {
        key: PathKey::of(&path),
        path,
        depth: 1,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: String::new(),
        past: None,
    }
}

/// A visit and its window. The frontier has stored the whole window.
struct ChildVisit {
    lease: Lease,
    queue: Vec<Pending>,
}

/// Make a check-in in which half of the window is fetched, and a new page of the site and links to other sites are
/// found. Adds to `stored` the data that must survive a crash. `name` makes the paths of this check-in unique.
fn check_in(visit: &mut ChildVisit, name: &str, then: Then, stored: &mut Vec<String>) -> CheckIn {
    let site = visit.lease.site.clone();
    let half = visit.queue.len().div_ceil(2);
    let done: Vec<PageRecord> = visit
        .queue
        .drain(..half)
        .map(|page| record(&page))
        .collect();
    let new = found(format!("/found-{name}"));
    let window = WindowUpdate::Tail {
        keep_last: visit.queue.len(),
        append: vec![new.clone()],
    };
    visit.queue.push(new.clone());
    let outside = (0..5).map(|n| {
        let target = format!("https://s{}.example/{name}-{n}", (name.len() + n) % 11);
        stored.push(format!("link {target}"));
        Outside::of(&url(&target), 1, Hop::Link, "")
    });
    let outside = outside.collect();
    for page in &done {
        stored.push(format!("page https://{site}{}", page.path));
    }
    for page in &visit.queue {
        stored.push(format!("window https://{site}{}", page.path));
    }
    CheckIn {
        lease: visit.lease.id,
        done,
        window,
        later: Vec::new(),
        claims: Vec::new(),
        overflow: Vec::new(),
        keys: vec![new.key],
        outside,
        facts: None,
        then,
    }
}

/// The code of the child process. It does nothing when it is run as an ordinary test.
#[test]
fn child() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let mut frontier = open(&place);
    let mut now = 1_000;
    let seeds: Vec<Seed> = (0..8)
        .map(|n| Seed::of(&url(&format!("https://s{n}.example/"))))
        .collect();
    frontier.seed(now, &seeds).expect("seeds");
    // The process id makes the links of each child unique.
    let process = std::process::id();
    for round in 0u64.. {
        now += 1000;
        let leases = frontier.check_out(now, 4).expect("checks out");
        let visits = leases.into_iter().map(|lease| ChildVisit {
            queue: lease.pending.clone(),
            lease,
        });
        let mut visits: Vec<ChildVisit> = visits.collect();
        for (turn, then) in [Then::Keep { want: 4 }, Then::Release { due: now }]
            .into_iter()
            .enumerate()
        {
            let mut stored = Vec::new();
            let batch = visits.iter_mut().enumerate().map(|(order, visit)| {
                let name = format!("{process}-{round}-{turn}-{order}");
                check_in(visit, &name, then, &mut stored)
            });
            let batch = batch.collect();
            let replies = frontier.check_in(now, batch).expect("checks in");
            for (visit, reply) in visits.iter_mut().zip(replies) {
                visit.queue.extend(reply.expect("in force").more);
            }
            println!("{}\nacknowledged", stored.join("\n"));
        }
        frontier
            .tidy(now, Duration::from_millis(1))
            .expect("tidies");
    }
}

/// Run the child and kill it `delay` after a number of acknowledged check-ins. Returns the acknowledged data.
fn run_and_kill(place: &str, acknowledgements: usize, delay: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let (mut acknowledged, mut printed, mut count) = (Vec::new(), Vec::new(), 0);
    for line in lines {
        // The kill may truncate a line. Only lines before an acknowledgement are compared.
        let Ok(line) = line else { break };
        if line != "acknowledged" {
            printed.push(line);
            continue;
        }
        acknowledged.append(&mut printed);
        count += 1;
        if count == acknowledgements {
            // The child continues during this pause, so that the kill can hit any part of a transaction.
            std::thread::sleep(delay);
            child.kill().expect("kills");
        }
    }
    child.wait().expect("ends");
    assert!(
        count >= acknowledgements,
        "the child made only {count} check-ins"
    );
    acknowledged
}

#[test]
fn acknowledged_check_ins_survive_a_kill() {
    if std::env::var(PLACE).is_ok() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    kill_and_look(folder.path().to_str().expect("UTF-8"));
}

#[test]
fn acknowledged_check_ins_survive_a_kill_on_postgres() {
    if std::env::var(PLACE).is_ok() {
        return;
    }
    kill_and_look(&aranha_test_database::new_address());
}

fn kill_and_look(place: &str) {
    let (mut links, mut windows) = (Vec::new(), Vec::new());
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..6u64 {
        let delay = Duration::from_micros(round * 3700 % 9000);
        for line in run_and_kill(place, 5 + round as usize * 7, delay) {
            if let Some(link) = line.strip_prefix("link ") {
                links.push(link.to_owned());
            } else if let Some(page) = line.strip_prefix("window ") {
                windows.push(page.to_owned());
            } else if let Some(page) = line.strip_prefix("page ") {
                *pages.entry(page.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(
        links.len() > 100 && pages.len() > 50 && windows.len() > 50,
        "the child made too few check-ins"
    );
    assert!(
        pages.values().all(|count| *count == 1),
        "a page was fetched again after it was done"
    );

    let frontier = open(place);
    let view = view(place);
    let mut stored = BTreeMap::new();
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    view.pages(&filter, |entry| {
        let name = format!("https://{}{}", entry.site, entry.record.path);
        *stored.entry(name).or_insert(0) += 1;
        true
    })
    .expect("lists");
    for page in pages.keys() {
        assert_eq!(stored.get(page), Some(&1), "{page} was checked in");
    }
    for page in &windows {
        let found = frontier.explain(&url(page)).expect("explains");
        // The page does not wait any more if the child fetched it and stored its record, but was killed before it
        // printed the record.
        assert!(
            found.waiting.is_some() || !found.records.is_empty(),
            "{page} was checked in and does not wait"
        );
    }
    for link in &links {
        let found = frontier.explain(&url(link)).expect("explains");
        assert!(
            found.inbox || found.known,
            "{link} was checked in and is lost"
        );
        assert_eq!(PathKey::of(url(link).path()), url(link).path_key());
    }
}
