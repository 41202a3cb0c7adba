//! Killed at a random moment, opened again: every check-in that was acknowledged is there, and the crawl can go on
//! (invariant 5).
//!
//! The test runs itself as a child that checks in without end and prints a line for each acknowledgement; the parent
//! kills it with SIGKILL, opens the collection, and looks for everything the child was told is safe.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use aranha_frontier::embedded::PageFilter;
use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, Hop, Lease, Options, Outcome, Outside, PageRecord, Pending,
    Seed, Then, View, WindowUpdate,
};
use aranha_url::{CanonUrl, Canonicaliser, PathKey, UrlRules};

const FOLDER: &str = "ARANHA_CRASH_FOLDER";

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

/// A page that a visit finds.
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

/// A visit: what it holds, all of it known to the frontier.
struct Visit {
    lease: Lease,
    queue: Vec<Pending>,
}

/// Half of what the visit holds is done, a page of its site and some links to others are found. Adds what must survive the
/// acknowledgement to `told`; `name` tells this check-in's pages and links apart from all others.
fn check_in(visit: &mut Visit, name: &str, then: Then, told: &mut Vec<String>) -> CheckIn {
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
        told.push(format!("link {target}"));
        Outside::of(&url(&target), 1, Hop::Link, "")
    });
    let outside = outside.collect();
    for page in &done {
        told.push(format!("page https://{site}{}", page.path));
    }
    for page in &visit.queue {
        told.push(format!("held https://{site}{}", page.path));
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

/// Not a test by itself: the body of the child.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let mut frontier = Embedded::open(Path::new(&folder), options()).expect("opens");
    let mut now = 1_000;
    let seeds: Vec<Seed> = (0..8)
        .map(|n| Seed::of(&url(&format!("https://s{n}.example/"))))
        .collect();
    frontier.seed(now, &seeds).expect("seeds");
    // Links are told apart by the process, so that each life sends new ones.
    let life = std::process::id();
    for round in 0u64.. {
        now += 1000;
        let leases = frontier.check_out(now, "child", 4).expect("checks out");
        let visits = leases.into_iter().map(|lease| Visit {
            queue: lease.pending.clone(),
            lease,
        });
        let mut visits: Vec<Visit> = visits.collect();
        for (turn, then) in [Then::Keep { want: 4 }, Then::Release { due: now }]
            .into_iter()
            .enumerate()
        {
            let mut told = Vec::new();
            let batch = visits.iter_mut().enumerate().map(|(order, visit)| {
                let name = format!("{life}-{round}-{turn}-{order}");
                check_in(visit, &name, then, &mut told)
            });
            let batch = batch.collect();
            let answers = frontier.check_in(now, batch).expect("checks in");
            for (visit, answer) in visits.iter_mut().zip(answers) {
                visit.queue.extend(answer.expect("in force").more);
            }
            println!("{}\nacknowledged", told.join("\n"));
        }
        frontier
            .tidy(now, Duration::from_millis(1))
            .expect("tidies");
    }
}

/// Run the child for a while; answers what was acknowledged.
fn live_and_die(folder: &Path, acknowledgements: usize, moment: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let (mut safe, mut said, mut count) = (Vec::new(), Vec::new(), 0);
    for line in lines {
        // A line may be cut by the kill; what counts ends with an acknowledgement.
        let Ok(line) = line else { break };
        if line != "acknowledged" {
            said.push(line);
            continue;
        }
        safe.append(&mut said);
        count += 1;
        if count == acknowledgements {
            // Not in step with the child: somewhere inside its next transactions.
            std::thread::sleep(moment);
            child.kill().expect("kills");
        }
    }
    child.wait().expect("ends");
    assert!(
        count >= acknowledgements,
        "the child came to {count} check-ins"
    );
    safe
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if std::env::var(FOLDER).is_ok() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (mut links, mut held) = (Vec::new(), Vec::new());
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    for life in 0..6u64 {
        let moment = Duration::from_micros(life * 3700 % 9000);
        for line in live_and_die(folder.path(), 5 + life as usize * 7, moment) {
            if let Some(link) = line.strip_prefix("link ") {
                links.push(link.to_owned());
            } else if let Some(page) = line.strip_prefix("held ") {
                held.push(page.to_owned());
            } else if let Some(page) = line.strip_prefix("page ") {
                *pages.entry(page.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(
        links.len() > 100 && pages.len() > 50 && held.len() > 50,
        "the child worked"
    );
    assert!(
        pages.values().all(|count| *count == 1),
        "a page was fetched again after it was done"
    );

    let frontier = Embedded::open(folder.path(), options()).expect("opens after the kill");
    let view = View::open(folder.path()).expect("opens");
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
    for page in &held {
        let found = frontier.explain(&url(page)).expect("explains");
        // Done in the child's last transaction, perhaps, which was not acknowledged.
        assert!(
            found.waiting.is_some() || !found.records.is_empty(),
            "{page} was checked in and waits nowhere"
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
