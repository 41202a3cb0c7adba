//! Orders of the user to visit every page, and revisits that a crawl brings forward.

use super::*;

/// A page record with a next visit and a past. `visited` is the time of the fetch.
fn visited(path: &str, visited: i64, next: i64) -> PageRecord {
    let past = Past {
        time: visited,
        visited,
        etag: "\"1\"".into(),
        modified: Some(1),
        ..Past::default()
    };
    PageRecord {
        next: Some(next),
        past: Some(Box::new(past)),
        ..record(&page(path), visited, Outcome::Answer(200))
    }
}

/// A frontier with one site. Each page has a path, the time of its last visit, and its due time.
fn with_pages<P: EngineFactory>(factory: &P, pages: &[(&str, i64, i64)]) -> P::Engine {
    let mut frontier = factory.open(small());
    frontier.seed(0, &[seed("http://a.test/")]).expect("seeds");
    let lease = one(&mut frontier, 0);
    let entry = CheckIn {
        done: pages
            .iter()
            .map(|(path, time, next)| visited(path, *time, *next))
            .collect(),
        keys: pages.iter().map(|(path, ..)| PathKey::of(path)).collect(),
        ..release(&lease, 1)
    };
    accept(&mut frontier, 100, entry);
    frontier
}

pub(crate) fn an_order_that_has_not_ended_is_continued(factory: &impl EngineFactory) {
    let pages = [("/a", 10, 9000), ("/b", 10, 9000), ("/c", 10, 9000)];
    let mut frontier = with_pages(factory, &pages);
    let order = VisitOrder {
        max_age: 5000,
        ..everything()
    };
    assert_eq!(frontier.make_all_due(1000, &order).expect("orders"), 1000);
    // One page is visited, one fails, and the crawl is interrupted.
    let lease = one(&mut frontier, 1001);
    assert_eq!(lease.pending.len(), 3);
    let failed = PageRecord {
        next: Some(8000),
        tries: 1,
        ..record(&lease.pending[1], 1003, Outcome::Timeout)
    };
    let entry = CheckIn {
        done: vec![visited(&lease.pending[0].path, 1002, 9000), failed],
        window: WindowUpdate::Replace(vec![lease.pending[2].clone()]),
        ..release(&lease, 1004)
    };
    accept(&mut frontier, 1004, entry);
    drop(frontier);
    let mut frontier = factory.open(small());
    assert_eq!(frontier.make_all_due(2000, &order).expect("orders"), 1000);
    let rest = one(&mut frontier, 2001);
    assert_eq!(paths(&rest.pending), [lease.pending[2].path.as_str()]);
    accept(&mut frontier, 2002, finish(&rest, 2002));
    // An order is new if it is of another kind, if the earlier order is older than the maximum age, or if the earlier
    // order has ended.
    let full = VisitOrder {
        unconditional: true,
        ..order
    };
    assert_eq!(frontier.make_all_due(3000, &full).expect("orders"), 3000);
    assert_eq!(frontier.make_all_due(8001, &full).expect("orders"), 8001);
    frontier.end_order().expect("ends");
    assert_eq!(frontier.make_all_due(8002, &full).expect("orders"), 8002);
    assert_eq!(one(&mut frontier, 8003).pending.len(), 3);
}

pub(crate) fn an_unconditional_order_forgets_validators(factory: &impl EngineFactory) {
    let mut frontier = with_pages(factory, &[("/a", 10, 500), ("/b", 10, 9000)]);
    let has_validators = |page: &Pending| {
        let past = page.past.as_ref().expect("a past");
        !past.etag.is_empty() && past.modified.is_some()
    };
    // One page is in the window of an interrupted visit.
    let lease = one(&mut frontier, 500);
    assert_eq!(paths(&lease.pending), ["/a"]);
    assert!(has_validators(&lease.pending[0]));
    drop(frontier);
    let mut frontier = factory.open(small());
    let full = VisitOrder {
        unconditional: true,
        ..everything()
    };
    frontier.make_all_due(600, &full).expect("orders");
    let pages = one(&mut frontier, 601).pending;
    assert_eq!(paths(&pages), ["/a", "/b"]);
    for page in &pages {
        let past = page.past.as_ref().expect("a past");
        assert_eq!((past.etag.as_str(), past.modified), ("", None));
    }
}

/// Only revisits that are due by `until` and were last visited by `visited_by` become due.
pub(crate) fn revisits_due_soon_are_brought_forward(factory: &impl EngineFactory) {
    let pages = [
        ("/soon", 10, 2000),
        ("/just-visited", 900, 2000),
        ("/later", 10, 5000),
        ("/due", 10, 990),
    ];
    let mut frontier = with_pages(factory, &pages);
    frontier
        .bring_revisits_forward(1000, 3000, 800)
        .expect("brings forward");
    frontier.revisit_until(1000);
    let lease = one(&mut frontier, 1000);
    assert_eq!(paths(&lease.pending), ["/due", "/soon"]);
    assert!(!lease.has_more);
    let waiting = |path: &str| {
        let url = url(&format!("http://a.test{path}"));
        frontier.explain(&url).expect("explains").waiting
    };
    assert_eq!(waiting("/just-visited"), Some(Waiting::Revisit(2000)));
    assert_eq!(waiting("/later"), Some(Waiting::Revisit(5000)));
}
