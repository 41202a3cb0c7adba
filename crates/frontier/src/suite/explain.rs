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

/// URLs that are explained together have the same explanations as one by one, in the order of the URLs.
pub(crate) fn urls_are_explained_together(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let lease = one(&mut frontier, 0);
    let mut entry = finish(&lease, 1);
    entry.overflow = (0..9).map(|number| page(&format!("/{number}"))).collect();
    entry.keys = entry.overflow.iter().map(|page| page.key).collect();
    entry.later = vec![(50, page("/later"))];
    entry.keys.push(PathKey::of("/later"));
    entry.then = Then::Keep { want: 0 };
    accept(&mut frontier, 2, entry);
    frontier
        .seed(3, &[seed("https://b.example/")])
        .expect("seeds");
    let paths = [
        "https://a.example/7",
        "https://b.example/",
        "https://a.example/later",
        "https://a.example/none",
    ];
    let urls: Vec<_> = paths.iter().map(|text| url(text)).collect();
    let view = factory.view();
    let together = view.explain_all(&urls).expect("explains");
    let single = urls.iter().map(|url| view.explain(url).expect("explains"));
    assert_eq!(together, single.collect::<Vec<_>>());
    let waiting: Vec<_> = together.iter().map(|found| found.waiting).collect();
    assert_eq!(waiting[0], Some(Waiting::Queue));
    assert_eq!(waiting[2..], [Some(Waiting::Retry(50)), None]);
    let seeds: Vec<_> = together.iter().map(|found| found.seed).collect();
    assert_eq!(seeds, [false, true, false, false]);
}
