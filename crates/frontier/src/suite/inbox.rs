//! Links to other sites: duplicates, the policies for external links, and merging.

use super::*;

pub(crate) fn links_reach_their_site_once(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
    // Links to a leased site wait until its next check-out.
    let mut entry = finish(&b, 1001);
    entry.outside = vec![
        link("https://a.example/"),
        link("https://b.example/4"),
        link("https://b.example/1"),
    ];
    accept(&mut frontier, 1002, entry);
    frontier.flush(1002).expect("flushes");
    let leases = frontier.check_out(3000, 9).expect("checks out");
    // The only link to a.example leads to a known page, so this site is not leased.
    assert_eq!(sites(&leases), ["b.example"]);
    assert_eq!(paths(&leases[0].pending), ["/4"]);
    let status = frontier.status(3000).expect("status");
    assert_eq!(
        (status.sites.idle, status.pages.known, status.next_due),
        (1, 5, Some(leases[0].expires))
    );
}

pub(crate) fn the_domains_of_links_are_counted(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let from = |via: &str, to: &str| Outside {
        via: via.to_owned(),
        ..link(to)
    };
    frontier
        .seed(0, &[seed("https://a.example/")])
        .expect("seeds");
    let a = one(&mut frontier, 0);
    assert_eq!(a.facts.sources, 0, "a seed");
    let mut entry = finish(&a, 1);
    entry.outside = vec![
        from("https://a.example/1", "https://b.example/"),
        from("https://www.a.example/2", "https://b.example/b"),
        from("https://a.example/1", "https://c.example/"),
    ];
    accept(&mut frontier, 2, entry);
    let leases = frontier.check_out(1000, 9).expect("checks out");
    for lease in leases {
        assert_eq!(lease.facts.sources.count_ones(), 1, "{}", lease.site);
        let mut entry = finish(&lease, 1001);
        if lease.site == "b.example" {
            // The visit stores the facts, and the site has a page to fetch later.
            entry.facts = Some(lease.facts.clone());
            entry.later = vec![(2000, page("/later"))];
        } else {
            entry.outside = vec![from("https://c.example/", "https://b.example/c")];
        }
        accept(&mut frontier, 1002, entry);
    }
    frontier.flush(1003).expect("flushes");
    let b = one(&mut frontier, 2000);
    assert_eq!(b.site, "b.example");
    assert_eq!(b.facts.sources.count_ones(), 2);
}

pub(crate) fn a_site_with_only_known_links_is_not_leased(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
    let names: Vec<String> = (0..40).map(|n| format!("https://s{n}.example/")).collect();
    let seeds: Vec<Seed> = names.iter().map(|name| seed(name)).collect();
    frontier.seed(0, &seeds).expect("seeds");
    let leases = frontier.check_out(0, 40).expect("checks out");
    for lease in &leases {
        let mut entry = finish(lease, 1);
        entry.outside = names.iter().map(|name| link(name)).collect();
        accept(&mut frontier, 2, entry);
    }
    frontier.flush(3).expect("flushes");
    // The work of one call is bounded, so several calls may be needed until `next_due` is `None`.
    for call in 0.. {
        assert!(call < 40, "too many calls");
        assert!(frontier.check_out(1000, 1).expect("checks out").is_empty());
        if frontier.status(1000).expect("status").next_due.is_none() {
            break;
        }
    }
    assert_eq!(frontier.status(1000).expect("status").sites.idle, 40);
}

fn external(factory: &impl EngineFactory, policy: External, expected: &[&str]) {
    let mut frontier = factory.open(Options {
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
    let leases = frontier.check_out(4, 9).expect("checks out");
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

pub(crate) fn home_page_policy(factory: &impl EngineFactory) {
    external(factory, External::HomePage, &["b.example/"]);
}

pub(crate) fn deep_link_policy(factory: &impl EngineFactory) {
    external(
        factory,
        External::DeepLink,
        &["a.example/y", "b.example/1", "b.example/2"],
    );
}

pub(crate) fn combined_policy(factory: &impl EngineFactory) {
    external(
        factory,
        External::Combined,
        &["a.example/y", "b.example/", "b.example/1", "b.example/2"],
    );
}

pub(crate) fn a_seed_of_a_leased_site_is_admitted_at_the_next_check_out(
    factory: &impl EngineFactory,
) {
    for external in [External::DeepLink, External::HomePage] {
        let name = format!(
            "https://{}.example",
            if external == External::HomePage {
                "h"
            } else {
                "d"
            }
        );
        let mut frontier = factory.open(Options {
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

/// A claimed page that was counted as new must be visited, even under a policy that drops links.
pub(crate) fn a_claimed_page_passes_the_home_page_policy(factory: &impl EngineFactory) {
    let mut frontier = factory.open(Options {
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
    let leases = frontier.check_out(3000, 9).expect("checks out");
    let found: BTreeMap<_, _> = leases
        .iter()
        .map(|lease| (lease.site.as_str(), paths(&lease.pending)))
        .collect();
    assert_eq!(found["a.example"], ["/", "/new"]);
    assert_eq!(found["b.example"], ["/new"]);
}

/// Sends enough links for several levels of link runs. No link may be lost, and no page may be leased twice.
pub(crate) fn merging_loses_nothing(factory: &impl EngineFactory) {
    let mut frontier = factory.open(small());
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
        let leases = frontier.check_out(now, room).expect("checks out");
        for mut lease in leases.iter().cloned() {
            loop {
                for page in &lease.pending {
                    let new = found
                        .entry(lease.site.clone())
                        .or_default()
                        .insert(page.path.clone());
                    assert!(new, "{}{} was leased twice", lease.site, page.path);
                }
                let mut entry = finish(&lease, now);
                entry.then = Then::Keep { want: 4 };
                let mut replies = frontier.check_in(now, vec![entry]).expect("stored");
                let reply = replies.pop().expect("one").expect("in force");
                lease.pending = reply.more;
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
