//! One suite of tests for every engine: what the [`Frontier`] trait promises, whatever is underneath.
//!
//! An engine's test module names a [`EngineFactory`] and calls [`suite!`]. Each case gets a fresh place; opening a place again
//! after the engine was dropped must show the same collection, with all leases released.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aranha_url::{CanonUrl, Canonicaliser, PathKey, SiteKey, UrlRules};

use crate::*;

/// Where an engine keeps a collection.
pub(crate) trait EngineFactory {
    type Engine: Frontier;
    fn open(&self, options: Options) -> Self::Engine;
}

/// Small limits, so that windows overflow and runs are written.
pub(crate) fn small() -> Options {
    Options {
        window: 4,
        run_links: 3,
        recent_links: 8,
        cache_size: 1 << 20,
        ..Options::default()
    }
}

pub(crate) fn url(text: &str) -> CanonUrl {
    Canonicaliser::new(UrlRules::default())
        .canon(text)
        .expect("a URL")
}

pub(crate) fn seed(text: &str) -> Seed {
    Seed::of(&url(text))
}

pub(crate) fn link(text: &str) -> Outside {
    Outside::of(&url(text), 1, Hop::Link, "https://found.example/")
}

pub(crate) fn page(path: &str) -> Pending {
    Pending {
        path: path.into(),
        key: PathKey::of(path),
        depth: 2,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: "https://found.example/".into(),
        past: None,
    }
}

pub(crate) fn record(page: &Pending, time: i64, outcome: Outcome) -> PageRecord {
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time,
        outcome,
        media_type: "text/html".into(),
        size: 1000,
        digest: Some([7; 20]),
        text_digest: 5,
        location: None,
        revisit: false,
        duration_ms: 12,
        tries: 0,
        hop: page.hop,
        via: page.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// A check-in of nothing that gives the lease back.
pub(crate) fn release(lease: &Lease, due: i64) -> CheckIn {
    CheckIn {
        lease: lease.id,
        done: Vec::new(),
        window: WindowUpdate::default(),
        later: Vec::new(),
        claims: Vec::new(),
        overflow: Vec::new(),
        keys: Vec::new(),
        outside: Vec::new(),
        facts: None,
        then: Then::Release { due },
    }
}

/// Everything in the window was fetched.
fn finish(lease: &Lease, time: i64) -> CheckIn {
    CheckIn {
        done: lease
            .pending
            .iter()
            .map(|page| record(page, time, Outcome::Answer(200)))
            .collect(),
        ..release(lease, time)
    }
}

fn accept(frontier: &mut impl Frontier, now: i64, entry: CheckIn) -> CheckedIn {
    let mut answers = frontier.check_in(now, vec![entry]).expect("stored");
    answers.pop().expect("one answer").expect("lease in force")
}

fn one(frontier: &mut impl Frontier, now: i64) -> Lease {
    let mut leases = frontier.check_out(now, "node", 1).expect("checks out");
    assert_eq!(leases.len(), 1, "exactly one site is due");
    leases.remove(0)
}

fn sites(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.site.as_str()).collect()
}

fn paths(pages: &[Pending]) -> Vec<&str> {
    pages.iter().map(|page| page.path.as_str()).collect()
}

pub(crate) fn a_seed_is_leased_once(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let seeds = [seed("https://a.example/x"), seed("https://a.example/x")];
    let seeded = frontier.seed(10, &seeds).expect("seeds");
    assert_eq!(seeded, Seeded { added: 1, known: 1 });
    let lease = one(&mut frontier, 10);
    assert_eq!(lease.site, "a.example");
    assert_eq!(lease.site_key, SiteKey::of("a.example"));
    assert_eq!(lease.facts.origin, "https://a.example");
    assert_eq!(paths(&lease.pending), ["/x"]);
    assert_eq!(lease.pending[0].hop, Hop::Seed);
    assert_eq!(lease.known, [PathKey::of("/x")]);
    assert!(lease.seed && !lease.has_more);
    assert!(
        frontier
            .check_out(11, "other", 9)
            .expect("works")
            .is_empty()
    );
    let status = frontier.status(11).expect("status");
    assert_eq!(
        (status.sites.leased, status.sites.waiting, status.seeds),
        (1, 0, 1)
    );
    accept(&mut frontier, 20, finish(&lease, 15));
    let status = frontier.status(21).expect("status");
    assert_eq!(
        status.pages,
        PageTotals {
            known: 1,
            queued: 0,
            retry: 0,
            revisit: 0,
            blocked: 0,
            done: 1
        }
    );
    assert_eq!(status.outcomes, [(Outcome::Answer(200), 1)]);
    assert_eq!((status.sites.idle, status.next_due), (1, None));
    assert_eq!(frontier.seeds().expect("seeds"), ["https://a.example/x"]);
    let again = frontier.seed(30, &seeds[..1]).expect("seeds");
    assert_eq!(again, Seeded { added: 0, known: 1 });
    assert!(frontier.check_out(31, "node", 9).expect("works").is_empty());
}

pub(crate) fn seeds_come_first_then_the_longest_wait(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://s1.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 500);
    entry.window = WindowUpdate::Replace(lease.pending.clone());
    entry.outside = vec![link("https://late.example/")];
    accept(&mut frontier, 100, entry);
    frontier.flush(100).expect("flushes");
    // A seed that is due comes before a site found by links that waits for longer.
    assert_eq!(
        sites(&frontier.check_out(400, "n", 0).expect("works")),
        [""; 0]
    );
    let both = frontier.check_out(600, "n", 5).expect("works");
    assert_eq!(sites(&both), ["s1.example", "late.example"]);
    for (lease, due) in both.iter().zip([900, 800]) {
        let mut entry = release(lease, due);
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        accept(&mut frontier, 700, entry);
    }
    assert_eq!(frontier.status(700).expect("status").next_due, Some(800));
    assert!(frontier.check_out(799, "n", 5).expect("works").is_empty());
    assert_eq!(
        sites(&frontier.check_out(800, "n", 5).expect("works")),
        ["late.example"]
    );
    assert_eq!(
        sites(&frontier.check_out(900, "n", 5).expect("works")),
        ["s1.example"]
    );
}

/// Large seeds, or there would never be a turn for anybody else.
pub(crate) fn a_seed_that_was_visited_waits_like_others(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://s.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = finish(&lease, 50);
    entry.keys = vec![PathKey::of("/more")];
    entry.window = WindowUpdate::Replace(vec![page("/more")]);
    entry.outside = vec![link("https://found.example/")];
    entry.then = Then::Release { due: 500 };
    accept(&mut frontier, 100, entry);
    frontier.flush(100).expect("flushes");
    frontier
        .seed(550, &[seed("https://new.example/")])
        .expect("seeds");
    let all = frontier.check_out(600, "n", 5).expect("works");
    assert_eq!(sites(&all), ["new.example", "found.example", "s.example"]);
    assert!(all[2].seed, "it is a seed still");
}

pub(crate) fn a_revisit_that_is_not_due_gives_no_place_in_the_queue(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let seeds = [seed("https://a.example/"), seed("https://b.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    frontier.revisit_until(10);
    let leases = frontier.check_out(10, "n", 2).expect("checks out");
    let by_name = |name: &str| {
        let found = leases.iter().find(|lease| lease.site == name);
        found.expect("both are handed out")
    };
    let mut entry = finish(by_name("a.example"), 20);
    entry.done[0].next = Some(100);
    entry.done[0].past = Some(Box::default());
    accept(&mut frontier, 20, entry);
    // The revisit lies beyond the horizon: nothing waits while its time passes.
    assert!(frontier.check_out(4000, "n", 2).expect("works").is_empty());
    let mut entry = finish(by_name("b.example"), 5000);
    entry.outside = vec![link("https://a.example/new")];
    accept(&mut frontier, 5000, entry);
    frontier.flush(5000).expect("flushes");
    let lease = one(&mut frontier, 6000);
    assert_eq!((lease.site.as_str(), lease.due), ("a.example", 5000));
}

pub(crate) fn longest_wait_first_among_equals(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let seeds = [
        "https://a.example/",
        "https://b.example/",
        "https://c.example/",
    ]
    .map(seed);
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, "n", 3).expect("works");
    for (lease, due) in leases.iter().zip([30, 10, 20]) {
        let mut entry = release(lease, due);
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        accept(&mut frontier, 5, entry);
    }
    let first = leases[1].site.clone();
    let then = leases[2].site.clone();
    let again = frontier.check_out(40, "n", 2).expect("works");
    assert_eq!(sites(&again), [first, then]);
}

pub(crate) fn queue_is_first_in_first_out(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let new: Vec<Pending> = (0..10).map(|n| page(&format!("/{n}"))).collect();
    let mut entry = finish(&lease, 1);
    entry.window = WindowUpdate::Replace(new[..2].to_vec());
    entry.overflow = new[2..7].to_vec();
    entry.keys = new[..7].iter().map(|page| page.key).collect();
    entry.then = Then::Keep { want: 2 };
    let answer = accept(&mut frontier, 2, entry);
    assert_eq!(paths(&answer.more), ["/2", "/3"]);
    assert!(answer.has_more && !answer.released);
    // Taken pages are held from now on: a visit that dies here leaves them in the window.
    let mut entry = release(&lease, 5);
    entry.window = WindowUpdate::Replace(new[1..4].to_vec());
    entry.overflow = new[7..].to_vec();
    entry.keys = new[7..].iter().map(|page| page.key).collect();
    accept(&mut frontier, 3, entry);
    let lease = one(&mut frontier, 5);
    assert_eq!(paths(&lease.pending), ["/1", "/2", "/3", "/4"]);
    assert!(lease.has_more);
    assert_eq!(lease.known.len(), 11);
    let mut entry = release(&lease, 6);
    entry.then = Then::Keep { want: 50 };
    let answer = accept(&mut frontier, 6, entry);
    assert_eq!(paths(&answer.more), ["/5", "/6", "/7", "/8", "/9"]);
    assert!(!answer.has_more);
}

pub(crate) fn links_reach_their_site_once(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = finish(&lease, 1);
    entry.outside = ["/1", "/2", "/1", "/3", "/2"]
        .iter()
        .map(|path| link(&format!("http://www.b.example{path}")))
        .collect();
    accept(&mut frontier, 2, entry);
    let b = one(&mut frontier, 1000);
    assert_eq!(b.site, "b.example");
    assert_eq!(b.facts.origin, "http://www.b.example");
    assert_eq!(paths(&b.pending), ["/1", "/2", "/3"]);
    assert!(!b.seed);
    assert_eq!((b.pending[0].depth, b.pending[0].site_depth), (1, 0));
    assert_eq!(b.pending[0].via, "https://found.example/");
    // More links while it is visited, old and new; they wait until the next check-out.
    let mut entry = finish(&b, 1001);
    entry.outside = vec![
        link("https://a.example/"),
        link("https://b.example/4"),
        link("https://b.example/1"),
    ];
    accept(&mut frontier, 1002, entry);
    frontier.flush(1002).expect("flushes");
    let leases = frontier.check_out(3000, "n", 9).expect("works");
    // a.example was due for a link that proved known: no empty lease.
    assert_eq!(sites(&leases), ["b.example"]);
    assert_eq!(paths(&leases[0].pending), ["/4"]);
    let status = frontier.status(3000).expect("status");
    assert_eq!(
        (status.sites.idle, status.pages.known, status.next_due),
        (1, 5, Some(leases[0].expires))
    );
}

pub(crate) fn known_links_make_no_empty_leases(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let names: Vec<String> = (0..40).map(|n| format!("https://s{n}.example/")).collect();
    let seeds: Vec<Seed> = names.iter().map(|name| seed(name)).collect();
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, "n", 40).expect("works");
    for lease in &leases {
        let mut entry = finish(lease, 1);
        entry.outside = names.iter().map(|name| link(name)).collect();
        accept(&mut frontier, 2, entry);
    }
    frontier.flush(3).expect("flushes");
    // Work is bounded: it may take several calls, and next_due says so.
    for call in 0.. {
        assert!(call < 40, "it ends");
        assert!(frontier.check_out(1000, "n", 1).expect("works").is_empty());
        if frontier.status(1000).expect("status").next_due.is_none() {
            break;
        }
    }
    assert_eq!(frontier.status(1000).expect("status").sites.idle, 40);
}

pub(crate) fn a_lost_lease_is_refused_alone(place: &impl EngineFactory) {
    let options = Options {
        lease: Duration::from_secs(1),
        ..small()
    };
    let mut frontier = place.open(options);
    let seeds = [seed("https://a.example/"), seed("https://b.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, "n", 2).expect("works");
    assert_eq!(
        frontier.renew(900, &[leases[1].id, 77]).expect("renews"),
        [LeaseLost { lease: 77 }]
    );
    assert_eq!(frontier.status(900).expect("status").next_due, Some(1000));
    let taken = frontier.check_out(1500, "m", 2).expect("works");
    assert_eq!(sites(&taken), [leases[0].site.as_str()]);
    assert_eq!(taken[0].pending, leases[0].pending);
    let batch = leases.iter().map(|lease| finish(lease, 1600)).collect();
    let answers = frontier.check_in(1700, batch).expect("stored");
    assert_eq!(
        answers[0],
        Err(LeaseLost {
            lease: leases[0].id
        })
    );
    assert!(answers[1].is_ok());
    assert_eq!(frontier.status(1700).expect("status").records, 1);
    accept(&mut frontier, 1800, finish(&taken[0], 1750));
    assert_eq!(frontier.release_all(1900, "m").expect("works"), 0);
}

pub(crate) fn a_trap_is_blocked(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 1);
    let mut entry = finish(&lease, 1);
    entry.window = WindowUpdate::Replace(vec![page("/1"), page("/2")]);
    entry.keys = vec![PathKey::of("/1"), PathKey::of("/2")];
    entry.facts = Some(SiteFacts {
        origin: "http://a.example".into(),
        blocked: Some(Blocked::as_trap("a calendar")),
        novelty: crate::Novelty {
            barren: 50,
            ..crate::Novelty::default()
        },
        ..SiteFacts::default()
    });
    entry.then = Then::Block;
    assert!(accept(&mut frontier, 2, entry).released);
    let status = frontier.status(3).expect("status");
    assert_eq!((status.pages.queued, status.pages.blocked), (0, 2));
    assert_eq!((status.sites.blocked, status.next_due), (1, None));
    assert_eq!(frontier.check_out(3, "n", 9).expect("works"), []);
    drop(frontier);
    let mut frontier = place.open(small());
    assert!(frontier.unblock(4, "a.example").expect("unblocks"));
    let lease = one(&mut frontier, 4);
    assert_eq!(paths(&lease.pending), ["/1", "/2"]);
    assert_eq!(lease.facts.blocked, None);
    assert_eq!(lease.facts.novelty, crate::Novelty::default());
    let status = frontier.status(5).expect("status");
    assert_eq!((status.pages.queued, status.pages.blocked), (2, 0));
}

pub(crate) fn leases_end_with_their_process(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 1);
    let mut entry = finish(&lease, 1);
    entry.window = WindowUpdate::Replace(vec![page("/1"), page("/2")]);
    entry.keys = vec![PathKey::of("/1"), PathKey::of("/2")];
    entry.outside = vec![link("https://b.example/deep")];
    entry.then = Then::Keep { want: 0 };
    entry.facts = Some(SiteFacts {
        origin: "http://a.example".into(),
        cookies: b"k=v".to_vec(),
        retry_after: 17,
        ..SiteFacts::default()
    });
    let facts = entry.facts.clone();
    accept(&mut frontier, 2, entry);
    drop(frontier);
    let mut frontier = place.open(small());
    let leases = frontier.check_out(30, "n", 9).expect("works");
    assert_eq!(sites(&leases), ["a.example", "b.example"]);
    assert_eq!(leases[0].due, 1, "since it was handed out");
    assert_eq!(paths(&leases[0].pending), ["/1", "/2"]);
    assert_eq!(Some(&leases[0].facts), facts.as_ref());
    assert_eq!(paths(&leases[1].pending), ["/deep"]);
    let lost = frontier
        .check_in(40, vec![release(&lease, 40)])
        .expect("works");
    assert_eq!(lost, [Err(LeaseLost { lease: lease.id })]);
}

pub(crate) fn a_failed_page_comes_back_in_time(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 50);
    for (path, next) in [("/", 1000), ("/b", 3000), ("/c", 2000)] {
        let mut failed = record(&page(path), 10, Outcome::Timeout);
        failed.next = Some(next);
        failed.tries = 2;
        entry.done.push(failed);
    }
    entry.keys = vec![PathKey::of("/b"), PathKey::of("/c")];
    accept(&mut frontier, 20, entry);
    let status = frontier.status(20).expect("status");
    assert_eq!((status.pages.retry, status.pages.done), (3, 0));
    assert_eq!(status.next_due, Some(1000));
    assert_eq!(
        frontier
            .explain(&url("https://a.example/c"))
            .expect("explains")
            .waiting,
        Some(Waiting::Retry(2000))
    );
    assert!(frontier.check_out(999, "n", 1).expect("works").is_empty());
    let lease = one(&mut frontier, 1000);
    assert_eq!(paths(&lease.pending), ["/"]);
    assert_eq!(lease.pending[0].tries, 2);
    let mut entry = finish(&lease, 1001);
    entry.then = Then::Keep { want: 5 };
    assert_eq!(paths(&accept(&mut frontier, 2500, entry).more), ["/c"]);
    let mut entry = release(&lease, 2600);
    entry.done = vec![record(&page("/c"), 2550, Outcome::Answer(200))];
    accept(&mut frontier, 2600, entry);
    assert_eq!(frontier.status(2600).expect("status").next_due, Some(3000));
    assert_eq!(paths(&one(&mut frontier, 3000).pending), ["/b"]);
}

pub(crate) fn what_the_user_asks_for_again_is_due_now(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let home = seed("http://a.test/");
    frontier
        .seed(0, std::slice::from_ref(&home))
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let failed = PageRecord {
        next: Some(1_000_000),
        ..record(&lease.pending[0], 10, Outcome::Timeout)
    };
    let entry = CheckIn {
        done: vec![failed],
        window: WindowUpdate::Replace(vec![page("/waits")]),
        keys: vec![page("/waits").key],
        ..release(&lease, 500_000)
    };
    accept(&mut frontier, 10, entry);
    assert!(
        frontier
            .check_out(20, "n", 9)
            .expect("checks out")
            .is_empty()
    );
    frontier
        .make_due(20, &[home, seed("http://unknown.test/")])
        .expect("hastens");
    let lease = one(&mut frontier, 20);
    let mut found = paths(&lease.pending);
    found.sort_unstable();
    assert_eq!(found, ["/", "/waits"]);
}

pub(crate) fn what_was_answered_comes_back_with_its_past(place: &impl EngineFactory) {
    let past = |time| {
        Some(Box::new(Past {
            time,
            visited: time + 7,
            digest: [9; 20],
            fingerprint: 77,
            text: true,
            location: Some(Location {
                volume: 3.into(),
                offset: 1 << 40,
                length: 5,
            }),
            media_type: "text/html".into(),
            size: 1000,
            etag: "W/\"é\"".into(),
            modified: Some(-5),
            history: vec![1, 2, 3],
            claim: 0,
        }))
    };
    {
        let mut frontier = place.open(small());
        let home = seed("http://a.test/");
        frontier
            .seed(0, std::slice::from_ref(&home))
            .expect("seeds");
        let lease = one(&mut frontier, 0);
        let mut entry = release(&lease, 20);
        for (path, next) in [("/", 9000), ("/b", 5000), ("/c", 7000)] {
            entry.done.push(PageRecord {
                next: Some(next),
                past: past(next),
                ..record(&page(path), 10, Outcome::Answer(200))
            });
        }
        entry.keys = vec![PathKey::of("/b"), PathKey::of("/c")];
        accept(&mut frontier, 20, entry);
        let pages = frontier.status(20).expect("status").pages;
        assert_eq!((pages.retry, pages.revisit, pages.done), (0, 3, 3));
        // A seed that is given again keeps its time: the same command continues a crawl.
        frontier.make_due(30, &[home]).expect("hastens");
        assert!(frontier.check_out(30, "n", 9).expect("works").is_empty());
        let lease = one(&mut frontier, 5000);
        assert_eq!(paths(&lease.pending), ["/b"]);
        assert_eq!(lease.pending[0].past, past(5000));
        // Given back unvisited: it waits in the window with its past.
        let mut entry = release(&lease, 5010);
        entry.window = WindowUpdate::Replace(lease.pending);
        accept(&mut frontier, 5010, entry);
        frontier.block(5020, "a.test").expect("blocks");
        let pages = frontier.status(5020).expect("status").pages;
        assert_eq!((pages.blocked, pages.revisit, pages.done), (1, 0, 2));
        frontier.unblock(5030, "a.test").expect("unblocks");
    }
    let mut frontier = place.open(small());
    let lease = one(&mut frontier, 7000);
    let found: Vec<_> = lease.pending.iter().map(|page| page.past.clone()).collect();
    assert_eq!(paths(&lease.pending), ["/b", "/c"]);
    assert_eq!(found, [past(5000), past(7000)]);
}

pub(crate) fn a_run_does_not_run_after_its_own_revisits(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let again = |path: &str, next| PageRecord {
        next: Some(next),
        past: Some(Box::default()),
        ..record(&page(path), 10, Outcome::Answer(200))
    };
    frontier
        .seed(0, &[seed("http://a.test/"), seed("http://b.test/")])
        .expect("seeds");
    frontier.revisit_until(50);
    for lease in frontier.check_out(0, "n", 2).expect("checks out") {
        let mut entry = release(&lease, 20);
        entry.done = vec![again("/", 40), again("/late", 60)];
        entry.keys = vec![PathKey::of("/late")];
        accept(&mut frontier, 20, entry);
    }
    let status = frontier.status(30).expect("status");
    assert_eq!((status.next_due, status.next_revisit), (Some(40), Some(40)));
    let leases = frontier.check_out(100, "n", 2).expect("checks out");
    let (lease, other) = (&leases[0], &leases[1]);
    assert_eq!((paths(&lease.pending), lease.has_more), (vec!["/"], false));
    // One that also has something to try again is not handed out for the page that is to wait.
    let mut entry = release(other, 100);
    entry.done = vec![PageRecord {
        next: Some(500),
        tries: 1,
        ..again("/", 0)
    }];
    accept(&mut frontier, 100, entry);
    let mut entry = finish(lease, 100);
    entry.then = Then::Keep { want: 5 };
    let answer = accept(&mut frontier, 110, entry);
    assert_eq!((answer.more.len(), answer.has_more), (0, false));
    accept(&mut frontier, 110, release(lease, 110));
    assert!(frontier.check_out(200, "n", 9).expect("works").is_empty());
    let status = frontier.status(200).expect("status");
    assert_eq!(
        (status.next_due, status.next_revisit),
        (Some(500), Some(110))
    );
    // In the next run both are due.
    frontier.revisit_until(i64::MAX);
    let leases = frontier.check_out(200, "n", 9).expect("checks out");
    assert_eq!(leases.len(), 2);
    for lease in &leases {
        assert_eq!(paths(&lease.pending), ["/late"]);
        let mut entry = release(lease, 210);
        entry.done = vec![again("/late", 9000)];
        accept(&mut frontier, 210, entry);
    }
    let lease = one(&mut frontier, 500);
    assert_eq!(paths(&lease.pending), ["/"]);
    accept(&mut frontier, 500, finish(&lease, 510));
    // The user asks for all.
    assert_eq!(frontier.status(600).expect("status").next_due, Some(9000));
    frontier.make_all_due(600, 6).expect("hastens");
    for lease in frontier.check_out(600, "n", 9).expect("checks out") {
        assert_eq!(paths(&lease.pending), ["/late"]);
    }
}

/// What a run puts off for the sake of its own end must not be put off in the next.
pub(crate) fn the_next_run_has_its_own_horizon(place: &impl EngineFactory) {
    let answered = |path: &str, next| PageRecord {
        next: Some(next),
        past: Some(Box::default()),
        ..record(&page(path), 10, Outcome::Answer(200))
    };
    let failed = |path: &str, next| PageRecord {
        next: Some(next),
        tries: 1,
        ..record(&page(path), 10, Outcome::Timeout)
    };
    {
        let mut frontier = place.open(small());
        frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
        frontier.revisit_until(50);
        let lease = one(&mut frontier, 0);
        let mut entry = release(&lease, 20);
        entry.done = vec![answered("/", 100), failed("/away", 900)];
        entry.keys = vec![PathKey::of("/away")];
        accept(&mut frontier, 20, entry);
        assert!(frontier.check_out(200, "n", 9).expect("works").is_empty());
        assert_eq!(frontier.status(200).expect("status").next_due, Some(900));
    }
    let mut frontier = place.open(small());
    frontier.revisit_until(200);
    let lease = one(&mut frontier, 210);
    assert_eq!(paths(&lease.pending), ["/"]);
    let mut entry = release(&lease, 230);
    entry.done = vec![answered("/", 300)];
    accept(&mut frontier, 220, entry);
    // Its own revisit is beyond it, and nobody is handed out for nothing.
    assert_eq!(frontier.check_out(400, "n", 9).expect("works"), []);
    assert_eq!(frontier.status(400).expect("status").next_due, Some(900));
    drop(frontier);
    // A run without an end.
    let mut frontier = place.open(small());
    let lease = one(&mut frontier, 400);
    assert_eq!(paths(&lease.pending), ["/"]);
    let mut entry = release(&lease, 430);
    entry.done = vec![answered("/", 600)];
    accept(&mut frontier, 420, entry);
    assert_eq!(frontier.status(420).expect("status").next_due, Some(600));
    // And one that is to end before what that one would have done.
    frontier.revisit_until(500);
    assert_eq!(frontier.check_out(500, "n", 9).expect("works"), []);
    assert_eq!(frontier.status(500).expect("status").next_due, Some(900));
}

pub(crate) fn a_claim_brings_a_visit_forward(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 20);
    for path in ["/", "/b", "/c", "/d", "/e"] {
        entry.done.push(PageRecord {
            next: Some(10_000),
            past: Some(Box::new(Past {
                time: 10,
                visited: if path == "/e" { 600 } else { 10 },
                ..Past::default()
            })),
            ..record(&page(path), 10, Outcome::Answer(200))
        });
    }
    entry.keys = ["/b", "/c", "/d", "/e"].map(PathKey::of).to_vec();
    accept(&mut frontier, 20, entry);
    let claim = |path: &str, at, gap| {
        let outside = link(&format!("http://a.test{path}"));
        let key = outside.path_key;
        let claim = Claim {
            key,
            at,
            source: 3,
            weight: 0.0,
            gap,
        };
        (outside, claim)
    };
    let claims = [
        claim("/b", 500, 0),
        claim("/c", 5, 0),
        claim("/d", 500, 600),
        claim("/e", 500, 0),
        claim("/new", 500, 0),
    ];
    let mut told = || {
        let weigh = |facts: &SiteFacts, source| {
            assert_eq!((facts.origin.as_str(), source), ("http://a.test", 3));
            0.5
        };
        frontier.claim(2000, &claims, weigh).expect("claims")
    };
    assert_eq!(
        told(),
        Claimed {
            brought_forward: 1,
            new: 1
        }
    );
    // Said again before anybody has looked, it weighs no more.
    assert_eq!(
        told(),
        Claimed {
            brought_forward: 0,
            new: 1
        }
    );
    let waits = |frontier: &mut _, path: &str| {
        let url = url(&format!("http://a.test{path}"));
        Frontier::explain(frontier, &url).expect("explains").waiting
    };
    assert_eq!(waits(&mut frontier, "/b"), Some(Waiting::Revisit(6000)));
    assert_eq!(waits(&mut frontier, "/c"), Some(Waiting::Revisit(10_000)));
    assert_eq!(waits(&mut frontier, "/d"), Some(Waiting::Revisit(10_000)));
    assert_eq!(waits(&mut frontier, "/e"), Some(Waiting::Revisit(10_000)));
    let lease = one(&mut frontier, 3000);
    assert_eq!(paths(&lease.pending), ["/new"]);
    // What the site itself says, with a visit under way: the page comes to that visit.
    let mut entry = release(&lease, 3000);
    entry.claims = vec![Claim {
        weight: 1.0,
        ..claim("/c", 400, 0).1
    }];
    entry.then = Then::Keep { want: 5 };
    let more = accept(&mut frontier, 3000, entry).more;
    assert_eq!(paths(&more), ["/c"]);
    assert_eq!(more[0].past.as_ref().map(|past| past.claim), Some(3));
}

/// A page that was due when the run began is this run's, also when its site wants a pause first.
pub(crate) fn a_pause_does_not_put_off_to_the_next_run(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let again = |path: &str, next| PageRecord {
        next: Some(next),
        past: Some(Box::default()),
        ..record(&page(path), 10, Outcome::Answer(200))
    };
    frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 300);
    let pages: Vec<_> = (0..9).map(|number| format!("/{number}")).collect();
    entry.done = pages.iter().map(|path| again(path, 100)).collect();
    entry.keys = pages.iter().map(|path| PathKey::of(path)).collect();
    accept(&mut frontier, 20, entry);
    frontier.revisit_until(200);
    let mut found = 0;
    // A visit takes a window of four; in between there is a pause.
    for time in [300, 310, 320] {
        assert_eq!(frontier.check_out(time - 1, "n", 9).expect("works"), []);
        assert_eq!(
            frontier.status(time - 1).expect("status").next_due,
            Some(time)
        );
        let lease = one(&mut frontier, time);
        found += lease.pending.len();
        let mut entry = release(&lease, time + 10);
        entry.done = lease
            .pending
            .iter()
            .map(|page| again(&page.path, 321))
            .collect();
        accept(&mut frontier, time, entry);
    }
    assert_eq!(found, 9);
    assert_eq!(frontier.check_out(400, "n", 9).expect("works"), []);
    let status = frontier.status(400).expect("status");
    assert_eq!((status.next_due, status.next_revisit), (None, Some(330)));
}

/// By the user, say, beside a crawl that is to end.
pub(crate) fn who_is_believed_entirely_is_obeyed(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier.revisit_until(50);
    frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 300);
    for (path, next, outcome) in [
        ("/", 100, Outcome::Answer(200)),
        ("/far", 9000, Outcome::Answer(200)),
        ("/stays", 9000, Outcome::Answer(200)),
        ("/away", 9000, Outcome::Timeout),
        ("/never", 9000, Outcome::Timeout),
    ] {
        let answered = outcome == Outcome::Answer(200);
        entry.done.push(PageRecord {
            next: Some(next),
            tries: u8::from(!answered),
            past: answered.then(Box::default),
            ..record(&page(path), 10, outcome)
        });
    }
    entry.keys = ["/far", "/stays", "/away", "/never"]
        .map(PathKey::of)
        .to_vec();
    // What the site says of its own pages is for pages that it has shown.
    let claim = |path: &str, source| Claim {
        key: PathKey::of(path),
        at: 200,
        source,
        weight: 1.0,
        gap: 0,
    };
    entry.claims = vec![claim("/never", 1)];
    accept(&mut frontier, 20, entry);
    let claims = [
        ("/", 6),
        ("/far", 6),
        ("/stays", 3),
        ("/away", 6),
        ("/never", 3),
    ]
    .map(|(path, source)| {
        let outside = link(&format!("http://a.test{path}"));
        (outside, claim(path, source))
    });
    let weigh = |_: &SiteFacts, source| if source == 6 { 1.0 } else { 0.5 };
    let claimed = frontier.claim(200, &claims, weigh).expect("claims");
    assert_eq!(
        claimed,
        Claimed {
            brought_forward: 4,
            new: 0
        }
    );
    let pages = frontier.status(200).expect("status").pages;
    assert_eq!((pages.retry, pages.revisit), (4, 1));
    // Courtesy comes before.
    assert_eq!(frontier.check_out(299, "n", 9).expect("works"), []);
    let lease = one(&mut frontier, 300);
    let mut found = paths(&lease.pending);
    found.sort_unstable();
    assert_eq!((found, lease.has_more), (vec!["/", "/away", "/far"], false));
    let claim_of = |path: &str| {
        let mut pages = lease.pending.iter().filter(|page| page.path == path);
        pages
            .next()
            .and_then(|page| page.past.as_ref())
            .map(|past| past.claim)
    };
    assert_eq!((claim_of("/far"), claim_of("/away")), (Some(6), None));
    accept(&mut frontier, 310, finish(&lease, 310));
    assert_eq!(frontier.check_out(400, "n", 9).expect("works"), []);
    // Who asks for everything asks for what was never answered, too.
    frontier.revisit_until(400);
    frontier.make_all_due(400, 6).expect("hastens");
    let lease = one(&mut frontier, 400);
    assert_eq!(paths(&lease.pending), ["/never", "/stays"]);
    let failed = PageRecord {
        next: Some(9000),
        tries: 2,
        ..record(&page("/never"), 410, Outcome::Timeout)
    };
    let mut entry = release(&lease, 420);
    entry.done = vec![record(&page("/stays"), 410, Outcome::Answer(404)), failed];
    accept(&mut frontier, 410, entry);
    frontier.make_all_due(420, 6).expect("hastens");
    assert_eq!(paths(&one(&mut frontier, 420).pending), ["/never"]);
}

pub(crate) fn a_blocked_site_is_not_handed_out(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    assert!(frontier.block(1, "a.example").expect("blocks"));
    assert!(!frontier.block(1, "a.example").expect("blocks"));
    assert!(frontier.block(1, "never-seen.example").expect("blocks"));
    assert!(frontier.check_out(2, "n", 9).expect("works").is_empty());
    assert_eq!(frontier.status(2).expect("status").sites.blocked, 2);
    assert!(frontier.unblock(3, "a.example").expect("unblocks"));
    assert!(!frontier.unblock(3, "b.example").expect("unblocks"));
    let lease = one(&mut frontier, 3);
    // Blocked under a visit: what it fetched is stored, then it must end.
    frontier.block(4, "a.example").expect("blocks");
    let mut entry = finish(&lease, 5);
    entry.outside = vec![link("https://never-seen.example/1")];
    entry.then = Then::Keep { want: 5 };
    assert!(accept(&mut frontier, 6, entry).released);
    frontier.flush(7).expect("flushes");
    assert!(frontier.check_out(9000, "n", 9).expect("works").is_empty());
    let status = frontier.status(9000).expect("status");
    assert_eq!(
        (status.sites.blocked, status.records, status.next_due),
        (2, 1, None)
    );
    frontier
        .unblock(9000, "never-seen.example")
        .expect("unblocks");
    assert_eq!(paths(&one(&mut frontier, 9000).pending), ["/1"]);
}

fn external(place: &impl EngineFactory, policy: External, expected: &[&str]) {
    let mut frontier = place.open(Options {
        external_links: policy,
        ..small()
    });
    frontier
        .seed(0, &[seed("https://a.example/x")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = finish(&lease, 1);
    entry.outside = [
        "https://b.example/1",
        "https://b.example/2",
        "https://a.example/y",
    ]
    .map(link)
    .to_vec();
    accept(&mut frontier, 2, entry);
    frontier.flush(3).expect("flushes");
    let leases = frontier.check_out(4, "n", 9).expect("works");
    let mut found: Vec<String> = leases
        .iter()
        .flat_map(|lease| {
            lease
                .pending
                .iter()
                .map(|page| format!("{}{}", lease.site, page.path))
        })
        .collect();
    found.sort();
    assert_eq!(found, expected, "{policy:?}");
}

pub(crate) fn home_page_policy(place: &impl EngineFactory) {
    external(place, External::HomePage, &["b.example/"]);
}

pub(crate) fn deep_link_policy(place: &impl EngineFactory) {
    external(
        place,
        External::DeepLink,
        &["a.example/y", "b.example/1", "b.example/2"],
    );
}

pub(crate) fn combined_policy(place: &impl EngineFactory) {
    external(
        place,
        External::Combined,
        &["a.example/y", "b.example/", "b.example/1", "b.example/2"],
    );
}

pub(crate) fn a_seed_during_a_visit_is_not_lost(place: &impl EngineFactory) {
    for external in [External::DeepLink, External::HomePage] {
        let name = format!(
            "https://{}.example",
            if external == External::HomePage {
                "h"
            } else {
                "d"
            }
        );
        let mut frontier = place.open(Options {
            external_links: external,
            ..small()
        });
        frontier
            .seed(0, &[seed(&format!("{name}/"))])
            .expect("seeds");
        let lease = one(&mut frontier, 0);
        let more = [seed(&format!("{name}/")), seed(&format!("{name}/new"))];
        let seeded = frontier.seed(1, &more).expect("seeds");
        assert_eq!(seeded, Seeded { added: 1, known: 1 });
        accept(&mut frontier, 2, finish(&lease, 2));
        let lease = one(&mut frontier, 9000);
        assert_eq!(paths(&lease.pending), ["/new"]);
        accept(&mut frontier, 9001, finish(&lease, 9001));
    }
}

/// Whatever becomes of links: what was counted as taken is visited.
pub(crate) fn a_page_that_a_signal_tells_of_is_not_lost(place: &impl EngineFactory) {
    let mut frontier = place.open(Options {
        external_links: External::HomePage,
        ..small()
    });
    frontier
        .seed(0, &[seed("https://a.example/x")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = finish(&lease, 1);
    entry.outside = vec![link("https://b.example/1")];
    accept(&mut frontier, 2, entry);
    let lease = one(&mut frontier, 1000);
    accept(&mut frontier, 1001, finish(&lease, 1001));
    let claims = [
        "https://a.example/",
        "https://a.example/new",
        "https://b.example/new",
    ]
    .map(|text| {
        let outside = Outside::of(&url(text), 0, Hop::Signal, "");
        let claim = Claim {
            key: outside.path_key,
            at: 1500,
            source: 3,
            weight: 0.0,
            gap: 0,
        };
        (outside, claim)
    });
    let claimed = frontier.claim(2000, &claims, |_, _| 0.5).expect("claims");
    assert_eq!(
        claimed,
        Claimed {
            brought_forward: 0,
            new: 3
        }
    );
    frontier.flush(2000).expect("flushes");
    let leases = frontier.check_out(3000, "n", 9).expect("works");
    let found: BTreeMap<_, _> = leases
        .iter()
        .map(|lease| (lease.site.as_str(), paths(&lease.pending)))
        .collect();
    assert_eq!(found["a.example"], ["/", "/new"]);
    assert_eq!(found["b.example"], ["/new"]);
}

pub(crate) fn every_answer_can_be_asked_for(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let home = url("https://a.example/");
    let found = frontier.explain(&home).expect("explains");
    assert_eq!(
        (found.known, found.seed, found.waiting),
        (true, true, Some(Waiting::Window))
    );
    assert_eq!(found.lease.expect("leased").node, "node");
    let mut entry = finish(&lease, 1);
    entry.overflow = vec![page("/q")];
    entry.keys = vec![PathKey::of("/q")];
    entry.outside = vec![link("https://b.example/1")];
    entry.then = Then::Keep { want: 0 };
    accept(&mut frontier, 2, entry);
    let found = frontier.explain(&home).expect("explains");
    assert_eq!((found.records.len(), found.waiting), (1, None));
    assert_eq!(found.records[0].outcome, Outcome::Answer(200));
    let queued = frontier
        .explain(&url("https://a.example/q"))
        .expect("explains");
    assert_eq!(queued.waiting, Some(Waiting::Queue));
    let outside = url("https://b.example/1");
    assert!(
        frontier.explain(&outside).expect("explains").inbox,
        "in the journal"
    );
    frontier.flush(3).expect("flushes");
    let found = frontier.explain(&outside).expect("explains");
    assert!(found.inbox && !found.known, "in a run");
    assert_eq!(found.site.expect("announced").state, SiteState::Waiting);
    let nothing = frontier
        .explain(&url("https://c.example/"))
        .expect("explains");
    assert_eq!(nothing, Explanation::default());
}

/// Enough links for several levels of runs; tidied as the crawl goes; nothing lost, nothing twice.
pub(crate) fn merging_loses_nothing(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    frontier
        .seed(0, &[seed("https://hub.example/")])
        .expect("seeds");
    let hub = one(&mut frontier, 0);
    let mut sent: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let collect = |frontier: &mut dyn Frontier,
                   now: i64,
                   room: usize,
                   found: &mut BTreeMap<String, BTreeSet<String>>| {
        let leases = frontier.check_out(now, "n", room).expect("works");
        for mut lease in leases.iter().cloned() {
            loop {
                for page in &lease.pending {
                    let new = found
                        .entry(lease.site.clone())
                        .or_default()
                        .insert(page.path.clone());
                    assert!(new, "{}{} was handed out twice", lease.site, page.path);
                }
                let mut entry = finish(&lease, now);
                entry.then = Then::Keep { want: 4 };
                let mut answers = frontier.check_in(now, vec![entry]).expect("stored");
                let answer = answers.pop().expect("one").expect("in force");
                lease.pending = answer.more;
                if lease.pending.is_empty() {
                    break;
                }
            }
            frontier
                .check_in(now, vec![release(&lease, now)])
                .expect("stored");
        }
        leases.len()
    };
    for round in 0..150i64 {
        let links: Vec<(String, String)> = (0..5)
            .map(|n| {
                let number = (round * 5 + n) * 7919 % 100_003;
                (
                    format!("s{}.example", number % 23),
                    format!("/p{}", number % 211),
                )
            })
            .collect();
        for (site, path) in &links {
            sent.entry(site.clone()).or_default().insert(path.clone());
        }
        let mut entry = release(&hub, 0);
        entry.window = WindowUpdate::Replace(hub.pending.clone());
        entry.outside = links
            .iter()
            .map(|(site, path)| link(&format!("https://{site}{path}")))
            .collect();
        entry.then = Then::Keep { want: 0 };
        accept(&mut frontier, round, entry);
        frontier.tidy(round, Duration::ZERO).expect("tidies");
        if round % 10 == 9 {
            collect(&mut frontier, round, 3, &mut found);
        }
    }
    while frontier.tidy(200, Duration::MAX).expect("tidies") {}
    assert!(frontier.status(200).expect("status").runs < 24);
    frontier.flush(200).expect("flushes");
    while collect(&mut frontier, 250, 5, &mut found) > 0 {}
    assert_eq!(found, sent);
}

/// Pages, some of which were answered before.
fn pages(numbers: std::ops::Range<usize>) -> Vec<Pending> {
    let past = |number: usize| {
        number.is_multiple_of(3).then(|| {
            Box::new(Past {
                time: number as i64,
                visited: number as i64 + 1,
                etag: format!("\"{number}\""),
                ..Past::default()
            })
        })
    };
    let pages = numbers.map(|number| Pending {
        past: past(number),
        ..page(&format!("/{number}"))
    });
    pages.collect()
}

/// A check-in of a visit that goes on and has room for `want` more.
fn go_on(lease: &Lease, window: WindowUpdate, want: usize) -> CheckIn {
    CheckIn {
        window,
        then: Then::Keep { want },
        ..release(lease, 0)
    }
}

fn rest(left: usize, more: Vec<Pending>) -> WindowUpdate {
    WindowUpdate::Tail {
        keep_last: left,
        append: more,
    }
}

/// A visit of a site with these pages in its hands, all of them known to the frontier.
fn begin_with(frontier: &mut impl Frontier, window: &[Pending]) -> Lease {
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(frontier, 0);
    let entry = CheckIn {
        done: finish(&lease, 1).done,
        keys: window.iter().map(|page| page.key).collect(),
        ..go_on(&lease, WindowUpdate::Replace(window.to_vec()), 0)
    };
    accept(frontier, 1, entry);
    lease
}

/// What the next visit finds when the one before is gone without a word.
fn left_behind<P: EngineFactory>(place: &P, frontier: P::Engine) -> Vec<Pending> {
    drop(frontier);
    let mut frontier = place.open(Options::default());
    one(&mut frontier, 1 << 40).pending
}

pub(crate) fn pages_that_left_the_front_are_gone(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let window = pages(0..4);
    let lease = begin_with(&mut frontier, &window);
    accept(&mut frontier, 2, go_on(&lease, rest(3, Vec::new()), 0));
    assert_eq!(frontier.status(2).expect("status").pages.queued, 3);
    accept(&mut frontier, 3, go_on(&lease, rest(1, Vec::new()), 0));
    let waits = |frontier: &dyn Frontier, path: &str| {
        let found = frontier.explain(&url(&format!("https://a.example{path}")));
        found.expect("explains").waiting
    };
    assert_eq!(waits(&frontier, "/2"), None);
    assert_eq!(waits(&frontier, "/3"), Some(Waiting::Window));
    assert_eq!(left_behind(place, frontier), window[3..]);
}

pub(crate) fn all_pages_may_leave_and_others_come(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let window = pages(0..6);
    let lease = begin_with(&mut frontier, &window[..3]);
    accept(&mut frontier, 2, go_on(&lease, rest(0, Vec::new()), 0));
    assert_eq!(frontier.status(2).expect("status").pages.queued, 0);
    let more = window[3..].to_vec();
    accept(&mut frontier, 3, go_on(&lease, rest(0, more), 0));
    assert_eq!(left_behind(place, frontier), window[3..]);
}

pub(crate) fn pages_told_of_stand_behind_the_others(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let all = pages(0..8);
    let lease = begin_with(&mut frontier, &all[..4]);
    let more = all[4..6].to_vec();
    accept(&mut frontier, 2, go_on(&lease, rest(2, more), 0));
    // All but one that was told of before have left.
    let more = all[6..].to_vec();
    accept(&mut frontier, 3, go_on(&lease, rest(1, more), 0));
    assert_eq!(left_behind(place, frontier), all[5..]);
}

pub(crate) fn what_an_answer_hands_out_stands_behind_all(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let all = pages(0..8);
    let lease = begin_with(&mut frontier, &all[..3]);
    let entry = CheckIn {
        overflow: all[4..].to_vec(),
        ..go_on(&lease, rest(1, all[3..4].to_vec()), 2)
    };
    assert_eq!(accept(&mut frontier, 2, entry).more, all[4..6]);
    // The page that was in front has left, the other three stay.
    let answer = accept(&mut frontier, 3, go_on(&lease, rest(3, Vec::new()), 1));
    assert_eq!(answer.more, all[6..7]);
    accept(&mut frontier, 4, go_on(&lease, rest(2, Vec::new()), 0));
    assert_eq!(left_behind(place, frontier), all[5..]);
}

pub(crate) fn a_whole_window_takes_the_place_of_what_was_told(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let all = pages(0..9);
    let lease = begin_with(&mut frontier, &all[..2]);
    accept(
        &mut frontier,
        2,
        go_on(&lease, rest(1, all[2..4].to_vec()), 0),
    );
    let other = vec![all[3].clone(), all[1].clone(), all[4].clone()];
    accept(
        &mut frontier,
        3,
        go_on(&lease, WindowUpdate::Replace(other), 0),
    );
    accept(
        &mut frontier,
        4,
        go_on(&lease, rest(2, all[5..6].to_vec()), 0),
    );
    let left = left_behind(place, frontier);
    assert_eq!(paths(&left), ["/1", "/4", "/5"]);
}

pub(crate) fn a_visit_may_end_with_what_is_left(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let all = pages(0..6);
    let lease = begin_with(&mut frontier, &all[..4]);
    let entry = CheckIn {
        window: rest(2, all[4..5].to_vec()),
        ..release(&lease, 50)
    };
    assert!(accept(&mut frontier, 2, entry).released);
    assert_eq!(frontier.status(2).expect("status").next_due, Some(50));
    let lease = one(&mut frontier, 50);
    assert_eq!(lease.pending, all[2..5]);
    // What the lease brought is known, too.
    let entry = CheckIn {
        window: rest(1, all[5..].to_vec()),
        ..release(&lease, 60)
    };
    accept(&mut frontier, 51, entry);
    assert_eq!(left_behind(place, frontier), all[4..]);
}

/// Longer than any chain of blocks; with visits that end, visits that are lost, and pages of every source.
pub(crate) fn windows_keep_their_order(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let mut window = pages(0..3);
    let mut next = 3;
    let mut lease = begin_with(&mut frontier, &window);
    let mut told = window.len();
    for round in 0..200i64 {
        let now = 10 + round * 1_000_000;
        let gone = (round as usize * 7 % 5).min(window.len());
        window.drain(..gone);
        told = told.saturating_sub(gone);
        let new = pages(next..next + round as usize % 4);
        next += new.len();
        let overflow = pages(next..next + round as usize % 3);
        next += overflow.len();
        window.extend_from_slice(&new);
        let held = rest(told, window[told..].to_vec());
        let keys = new.iter().chain(&overflow).map(|page| page.key);
        let mut entry = CheckIn {
            keys: keys.collect(),
            overflow,
            ..go_on(&lease, held, round as usize % 3)
        };
        let ends = round % 13 == 12;
        if ends {
            entry.then = Then::Release { due: now };
        }
        window.extend(accept(&mut frontier, now, entry).more);
        let is_lost = round % 31 == 30;
        if is_lost {
            drop(frontier);
            frontier = place.open(small());
        }
        if ends || is_lost {
            let brought = frontier.check_out(now + 1, "n", 1).expect("works");
            let Some(brought) = brought.into_iter().next() else {
                panic!(
                    "round {round}: the site is due, {} pages wait",
                    window.len()
                );
            };
            assert_eq!(brought.pending[..window.len()], window, "round {round}");
            window.clone_from(&brought.pending);
            lease = brought;
        }
        told = window.len();
    }
    let left = left_behind(place, frontier);
    assert_eq!(left[..window.len()], window);
}

pub(crate) fn more_than_there_is_cannot_be_left(place: &impl EngineFactory) {
    let mut frontier = place.open(small());
    let window = pages(0..3);
    let lease = begin_with(&mut frontier, &window);
    let wrong = go_on(&lease, rest(4, pages(3..4)), 0);
    let error = frontier.check_in(2, vec![wrong]).expect_err("refused");
    assert!(matches!(error, FrontierError::Damaged { .. }), "{error}");
    assert_eq!(left_behind(place, frontier), window);
}

/// Make a test of every case above.
macro_rules! suite {
    ($place:expr) => {
        suite!($place => a_seed_is_leased_once, seeds_come_first_then_the_longest_wait,
            a_seed_that_was_visited_waits_like_others, a_revisit_that_is_not_due_gives_no_place_in_the_queue,
            longest_wait_first_among_equals, queue_is_first_in_first_out, links_reach_their_site_once,
            known_links_make_no_empty_leases, a_lost_lease_is_refused_alone, leases_end_with_their_process,
            a_failed_page_comes_back_in_time, a_blocked_site_is_not_handed_out, a_trap_is_blocked, what_the_user_asks_for_again_is_due_now, what_was_answered_comes_back_with_its_past, a_run_does_not_run_after_its_own_revisits, the_next_run_has_its_own_horizon, a_claim_brings_a_visit_forward, who_is_believed_entirely_is_obeyed, a_pause_does_not_put_off_to_the_next_run, home_page_policy, deep_link_policy,
            combined_policy, a_seed_during_a_visit_is_not_lost, a_page_that_a_signal_tells_of_is_not_lost, every_answer_can_be_asked_for, merging_loses_nothing,
            pages_that_left_the_front_are_gone, all_pages_may_leave_and_others_come, pages_told_of_stand_behind_the_others,
            what_an_answer_hands_out_stands_behind_all, a_whole_window_takes_the_place_of_what_was_told,
            a_visit_may_end_with_what_is_left, windows_keep_their_order, more_than_there_is_cannot_be_left);
    };
    ($place:expr => $($case:ident),*) => {
        $(#[test] fn $case() { $crate::suite::$case(&$place); })*
    };
}
pub(crate) use suite;
