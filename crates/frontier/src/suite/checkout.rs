//! Check-out: leases, and the order of sites.

use super::*;

pub(crate) fn a_seed_is_leased_once(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    assert!(frontier.check_out(11, 9).expect("checks out").is_empty());
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
    assert!(frontier.check_out(31, 9).expect("checks out").is_empty());
}

pub(crate) fn seeds_come_first_then_the_longest_wait(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier
        .seed(0, &[seed("https://s1.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = release(&lease, 500);
    entry.window = WindowUpdate::Replace(lease.pending.clone());
    entry.outside = vec![link("https://late.example/")];
    accept(&mut frontier, 100, entry);
    frontier.flush(100).expect("flushes");
    // A due seed site without page records is leased before a site that was found by links and has waited longer.
    assert_eq!(
        sites(&frontier.check_out(400, 0).expect("checks out")),
        [""; 0]
    );
    let both = frontier.check_out(600, 5).expect("checks out");
    assert_eq!(sites(&both), ["s1.example", "late.example"]);
    for (lease, due) in both.iter().zip([900, 800]) {
        let mut entry = release(lease, due);
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        accept(&mut frontier, 700, entry);
    }
    assert_eq!(frontier.status(700).expect("status").next_due, Some(800));
    assert!(frontier.check_out(799, 5).expect("checks out").is_empty());
    assert_eq!(
        sites(&frontier.check_out(800, 5).expect("checks out")),
        ["late.example"]
    );
    assert_eq!(
        sites(&frontier.check_out(900, 5).expect("checks out")),
        ["s1.example"]
    );
}

/// If a visited seed site still had precedence, many large seed sites would exclude all other sites.
pub(crate) fn a_visited_seed_has_no_precedence(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    let all = frontier.check_out(600, 5).expect("checks out");
    assert_eq!(sites(&all), ["new.example", "found.example", "s.example"]);
    assert!(all[2].seed, "the site is still a seed");
}

pub(crate) fn the_longest_wait_comes_first(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let seeds = [
        "https://a.example/",
        "https://b.example/",
        "https://c.example/",
    ]
    .map(seed);
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, 3).expect("checks out");
    for (lease, due) in leases.iter().zip([30, 10, 20]) {
        let mut entry = release(lease, due);
        entry.window = WindowUpdate::Replace(lease.pending.clone());
        accept(&mut frontier, 5, entry);
    }
    let first = leases[1].site.clone();
    let then = leases[2].site.clone();
    let again = frontier.check_out(40, 2).expect("checks out");
    assert_eq!(sites(&again), [first, then]);
}

pub(crate) fn a_lost_lease_does_not_affect_the_rest_of_the_batch(factory: &impl EngineFactory) {
    let options = Options {
        lease: Duration::from_secs(1),
        ..small()
    };
    let mut frontier = factory.open(options);
    let seeds = [seed("https://a.example/"), seed("https://b.example/")];
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, 2).expect("checks out");
    assert_eq!(
        frontier.renew(900, &[leases[1].id, 77]).expect("renews"),
        [LeaseLost { lease: 77 }]
    );
    assert_eq!(frontier.status(900).expect("status").next_due, Some(1000));
    let taken = frontier.check_out(1500, 2).expect("checks out");
    assert_eq!(sites(&taken), [leases[0].site.as_str()]);
    assert_eq!(taken[0].pending, leases[0].pending);
    let batch = leases.iter().map(|lease| finish(lease, 1600)).collect();
    let replies = frontier.check_in(1700, batch).expect("stored");
    assert_eq!(
        replies[0],
        Err(LeaseLost {
            lease: leases[0].id
        })
    );
    assert!(replies[1].is_ok());
    assert_eq!(frontier.status(1700).expect("status").records, 1);
    accept(&mut frontier, 1800, finish(&taken[0], 1750));
    assert_eq!(frontier.release_all(1900).expect("releases"), 0);
}

pub(crate) fn leases_are_released_when_the_frontier_is_opened(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    let mut frontier = factory.open(small());
    let leases = frontier.check_out(30, 9).expect("checks out");
    assert_eq!(sites(&leases), ["a.example", "b.example"]);
    assert_eq!(leases[0].due, 1, "due since its check-out");
    assert_eq!(paths(&leases[0].pending), ["/1", "/2"]);
    assert_eq!(Some(&leases[0].facts), facts.as_ref());
    assert_eq!(paths(&leases[1].pending), ["/deep"]);
    let lost = frontier
        .check_in(40, vec![release(&lease, 40)])
        .expect("checks in");
    assert_eq!(lost, [Err(LeaseLost { lease: lease.id })]);
}
