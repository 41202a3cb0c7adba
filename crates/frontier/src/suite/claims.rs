//! Claims that pages have changed.

use super::*;

pub(crate) fn a_claim_brings_a_visit_forward(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    let mut apply = || {
        let weigh = |facts: &SiteFacts, source| {
            assert_eq!((facts.origin.as_str(), source), ("http://a.test", 3));
            0.5
        };
        frontier.claim(2000, &claims, weigh).expect("claims")
    };
    assert_eq!(
        apply(),
        Claimed {
            brought_forward: 1,
            new: 1
        }
    );
    // A repeated claim before the visit has no effect.
    assert_eq!(
        apply(),
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
    // If a check-in contains a claim of the site itself with weight 1.0, the reply contains the page.
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

/// The user claims that pages have changed, while a crawl with a horizon is running.
pub(crate) fn a_claim_of_full_weight_makes_the_page_due(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    // A claim of the site itself does not bring a retry forward.
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
    // The courtesy pause is kept.
    assert_eq!(frontier.check_out(299, 9).expect("checks out"), []);
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
    assert_eq!(frontier.check_out(400, 9).expect("checks out"), []);
    // `make_all_due` includes pages that were never fetched, and pages without a next visit.
    frontier.revisit_until(400);
    frontier
        .make_all_due(400, &everything())
        .expect("makes due");
    let lease = one(&mut frontier, 400);
    let expected = ["/never", "/stays", "/away", "/far"].to_vec();
    assert_eq!((paths(&lease.pending), lease.has_more), (expected, true));
    let failed = PageRecord {
        next: Some(9000),
        tries: 2,
        ..record(&page("/never"), 410, Outcome::Timeout)
    };
    let mut entry = release(&lease, 420);
    entry.done = vec![record(&page("/stays"), 410, Outcome::Answer(404)), failed];
    accept(&mut frontier, 410, entry);
    frontier
        .make_all_due(420, &everything())
        .expect("makes due");
    let expected = ["/never", "/", "/stays", "/away"];
    assert_eq!(paths(&one(&mut frontier, 420).pending), expected);
}
