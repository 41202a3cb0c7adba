//! Everything known about one URL.

use super::*;

pub(crate) fn explain_finds_a_page_wherever_it_waits(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    assert!(found.inbox && !found.known, "in a link run");
    assert_eq!(found.site.expect("known").state, SiteState::Waiting);
    let nothing = frontier
        .explain(&url("https://c.example/"))
        .expect("explains");
    assert_eq!(nothing, Explanation::default());
}
