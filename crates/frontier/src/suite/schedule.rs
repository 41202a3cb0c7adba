//! Retries, revisits and the horizon.

use super::*;

pub(crate) fn a_failed_page_is_retried_at_its_time(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    assert!(frontier.check_out(999, 1).expect("checks out").is_empty());
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

pub(crate) fn a_repeated_seed_makes_its_site_and_retries_due(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    assert!(frontier.check_out(20, 9).expect("checks out").is_empty());
    frontier
        .make_due(20, &[home, seed("http://unknown.test/")])
        .expect("makes due");
    let lease = one(&mut frontier, 20);
    let mut found = paths(&lease.pending);
    found.sort_unstable();
    assert_eq!(found, ["/", "/waits"]);
}

pub(crate) fn a_page_is_revisited_with_its_past(factory: &impl EngineFactory) {
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
            language: Some(crate::Language {
                code: "pt".into(),
                confidence: 97,
            }),
            size: 1000,
            etag: "W/\"é\"".into(),
            modified: Some(-5),
            history: vec![1, 2, 3],
            claim: 0,
        }))
    };
    {
        let mut frontier = factory.open(small());
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
        // A repeated seed does not change the time of its revisit, so that repeating the same command continues a
        // crawl.
        frontier.make_due(30, &[home]).expect("makes due");
        assert!(frontier.check_out(30, 9).expect("checks out").is_empty());
        let lease = one(&mut frontier, 5000);
        assert_eq!(paths(&lease.pending), ["/b"]);
        assert_eq!(lease.pending[0].past, past(5000));
        // A page that was leased but not fetched waits in the window with its past.
        let mut entry = release(&lease, 5010);
        entry.window = WindowUpdate::Replace(lease.pending);
        accept(&mut frontier, 5010, entry);
        frontier.block(5020, "a.test").expect("blocks");
        let pages = frontier.status(5020).expect("status").pages;
        assert_eq!((pages.blocked, pages.revisit, pages.done), (1, 0, 2));
        frontier.unblock(5030, "a.test").expect("unblocks");
    }
    let mut frontier = factory.open(small());
    let lease = one(&mut frontier, 7000);
    let found: Vec<_> = lease.pending.iter().map(|page| page.past.clone()).collect();
    assert_eq!(paths(&lease.pending), ["/b", "/c"]);
    assert_eq!(found, [past(5000), past(7000)]);
}

pub(crate) fn a_site_with_a_revisit_beyond_the_horizon_waits_from_its_first_link(
    factory: &impl EngineFactory,
) {
    let mut frontier = factory.open(small());
    let seeds = [seed("https://a.example/"), seed("https://b.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    frontier.revisit_until(10);
    let leases = frontier.check_out(10, 2).expect("checks out");
    let by_name = |name: &str| {
        let found = leases.iter().find(|lease| lease.site == name);
        found.expect("both are leased")
    };
    let mut entry = finish(by_name("a.example"), 20);
    entry.done[0].next = Some(100);
    entry.done[0].past = Some(Box::default());
    accept(&mut frontier, 20, entry);
    // The revisit is beyond the horizon, so the site is not due.
    assert!(frontier.check_out(4000, 2).expect("checks out").is_empty());
    let mut entry = finish(by_name("b.example"), 5000);
    entry.outside = vec![link("https://a.example/new")];
    accept(&mut frontier, 5000, entry);
    frontier.flush(5000).expect("flushes");
    let lease = one(&mut frontier, 6000);
    assert_eq!((lease.site.as_str(), lease.due), ("a.example", 5000));
}

pub(crate) fn revisits_beyond_the_horizon_wait_for_the_next_crawl(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let again = |path: &str, next| PageRecord {
        next: Some(next),
        past: Some(Box::default()),
        ..record(&page(path), 10, Outcome::Answer(200))
    };
    frontier
        .seed(0, &[seed("http://a.test/"), seed("http://b.test/")])
        .expect("seeds");
    frontier.revisit_until(50);
    for lease in frontier.check_out(0, 2).expect("checks out") {
        let mut entry = release(&lease, 20);
        entry.done = vec![again("/", 40), again("/late", 60)];
        entry.keys = vec![PathKey::of("/late")];
        accept(&mut frontier, 20, entry);
    }
    let status = frontier.status(30).expect("status");
    assert_eq!((status.next_due, status.next_revisit), (Some(40), Some(40)));
    let leases = frontier.check_out(100, 2).expect("checks out");
    let (lease, other) = (&leases[0], &leases[1]);
    assert_eq!((paths(&lease.pending), lease.has_more), (vec!["/"], false));
    // The site of `other` gets a retry at 500. Its revisit at 60 is beyond the horizon, so the site is not leased
    // before 500.
    let mut entry = release(other, 100);
    entry.done = vec![PageRecord {
        next: Some(500),
        tries: 1,
        ..again("/", 0)
    }];
    accept(&mut frontier, 100, entry);
    let mut entry = finish(lease, 100);
    entry.then = Then::Keep { want: 5 };
    let reply = accept(&mut frontier, 110, entry);
    assert_eq!((reply.more.len(), reply.has_more), (0, false));
    accept(&mut frontier, 110, release(lease, 110));
    assert!(frontier.check_out(200, 9).expect("checks out").is_empty());
    let status = frontier.status(200).expect("status");
    assert_eq!(
        (status.next_due, status.next_revisit),
        (Some(500), Some(110))
    );
    // In the next crawl both sites are due.
    frontier.revisit_until(i64::MAX);
    let leases = frontier.check_out(200, 9).expect("checks out");
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
    // The user makes all pages due.
    assert_eq!(frontier.status(600).expect("status").next_due, Some(9000));
    frontier
        .make_all_due(600, &everything())
        .expect("makes due");
    let leases = frontier.check_out(600, 9).expect("checks out");
    let mut found: Vec<_> = leases.iter().flat_map(|l| paths(&l.pending)).collect();
    found.sort_unstable();
    assert_eq!(found, ["/", "/", "/late", "/late"]);
}

/// A revisit beyond the horizon of one crawl is due in the next.
pub(crate) fn each_crawl_has_its_own_horizon(factory: &impl EngineFactory) {
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
        let mut frontier = factory.open(small());
        frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
        frontier.revisit_until(50);
        let lease = one(&mut frontier, 0);
        let mut entry = release(&lease, 20);
        entry.done = vec![answered("/", 100), failed("/away", 900)];
        entry.keys = vec![PathKey::of("/away")];
        accept(&mut frontier, 20, entry);
        assert!(frontier.check_out(200, 9).expect("checks out").is_empty());
        assert_eq!(frontier.status(200).expect("status").next_due, Some(900));
    }
    let mut frontier = factory.open(small());
    frontier.revisit_until(200);
    let lease = one(&mut frontier, 210);
    assert_eq!(paths(&lease.pending), ["/"]);
    let mut entry = release(&lease, 230);
    entry.done = vec![answered("/", 300)];
    accept(&mut frontier, 220, entry);
    // The revisit is beyond the horizon, so the site is not leased.
    assert_eq!(frontier.check_out(400, 9).expect("checks out"), []);
    assert_eq!(frontier.status(400).expect("status").next_due, Some(900));
    drop(frontier);
    // This crawl has no horizon.
    let mut frontier = factory.open(small());
    let lease = one(&mut frontier, 400);
    assert_eq!(paths(&lease.pending), ["/"]);
    let mut entry = release(&lease, 430);
    entry.done = vec![answered("/", 600)];
    accept(&mut frontier, 420, entry);
    assert_eq!(frontier.status(420).expect("status").next_due, Some(600));
    // This horizon is before the next revisit.
    frontier.revisit_until(500);
    assert_eq!(frontier.check_out(500, 9).expect("checks out"), []);
    assert_eq!(frontier.status(500).expect("status").next_due, Some(900));
}

/// A page without a next visit is made due twice. In between it was postponed, so its record still has no next visit.
pub(crate) fn a_postponed_page_is_made_due_once(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier
        .seed(
            0,
            &[seed("https://a.example/"), seed("https://a.example/b")],
        )
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    accept(&mut frontier, 20, finish(&lease, 20));
    frontier
        .make_all_due(100, &everything())
        .expect("makes due");
    let lease = one(&mut frontier, 100);
    let mut entry = release(&lease, 120);
    for page in &lease.pending {
        if page.path == "/b" {
            entry.later.push((9000, page.clone()));
        } else {
            entry.done.push(record(page, 110, Outcome::Answer(404)));
        }
    }
    accept(&mut frontier, 120, entry);
    frontier
        .make_all_due(200, &everything())
        .expect("makes due");
    let lease = one(&mut frontier, 200);
    let mut found = paths(&lease.pending);
    found.sort_unstable();
    assert_eq!(found, ["/", "/b"]);
}

/// A revisit that was due when the crawl began belongs to this crawl, even if the courtesy pause ends later.
pub(crate) fn a_revisit_due_at_the_horizon_is_done_after_the_courtesy_pause(
    factory: &impl EngineFactory,
) {
    let mut frontier = factory.open(small());
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
    // A window has four pages, and a pause follows each visit.
    for time in [300, 310, 320] {
        assert_eq!(frontier.check_out(time - 1, 9).expect("checks out"), []);
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
    assert_eq!(frontier.check_out(400, 9).expect("checks out"), []);
    let status = frontier.status(400).expect("status");
    assert_eq!((status.next_due, status.next_revisit), (None, Some(330)));
}
