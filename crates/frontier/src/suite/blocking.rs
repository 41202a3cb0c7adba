//! Blocked sites.

use super::*;

pub(crate) fn a_trap_is_blocked_until_it_is_unblocked(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
        novelty: crate::NoveltyCounters {
            barren: 50,
            ..crate::NoveltyCounters::default()
        },
        ..SiteFacts::default()
    });
    entry.then = Then::Block;
    assert!(accept(&mut frontier, 2, entry).released);
    let status = frontier.status(3).expect("status");
    assert_eq!((status.pages.queued, status.pages.blocked), (0, 2));
    assert_eq!((status.sites.blocked, status.next_due), (1, None));
    assert_eq!(frontier.check_out(3, 9).expect("checks out"), []);
    drop(frontier);
    let mut frontier = factory.open(small());
    assert!(frontier.unblock(4, "a.example").expect("unblocks"));
    let lease = one(&mut frontier, 4);
    assert_eq!(paths(&lease.pending), ["/1", "/2"]);
    assert_eq!(lease.facts.blocked, None);
    assert_eq!(lease.facts.novelty, crate::NoveltyCounters::default());
    let status = frontier.status(5).expect("status");
    assert_eq!((status.pages.queued, status.pages.blocked), (2, 0));
}

pub(crate) fn a_blocked_site_is_not_leased(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    assert!(frontier.block(1, "a.example").expect("blocks"));
    assert!(!frontier.block(1, "a.example").expect("blocks"));
    assert!(frontier.block(1, "never-seen.example").expect("blocks"));
    assert!(frontier.check_out(2, 9).expect("checks out").is_empty());
    assert_eq!(frontier.status(2).expect("status").sites.blocked, 2);
    assert!(frontier.unblock(3, "a.example").expect("unblocks"));
    assert!(!frontier.unblock(3, "b.example").expect("unblocks"));
    let lease = one(&mut frontier, 3);
    // If a site is blocked during a visit, the next check-in stores its pages and releases the lease.
    frontier.block(4, "a.example").expect("blocks");
    let mut entry = finish(&lease, 5);
    entry.outside = vec![link("https://never-seen.example/1")];
    entry.then = Then::Keep { want: 5 };
    assert!(accept(&mut frontier, 6, entry).released);
    frontier.flush(7).expect("flushes");
    assert!(frontier.check_out(9000, 9).expect("checks out").is_empty());
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
