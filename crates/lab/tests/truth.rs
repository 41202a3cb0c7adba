//! Compares the URLs that a crawl of the lab must find with those that a simple crawl over real sockets finds.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod client;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use aranha_lab::{Crawler, Expected, Lab, Plan, Web};
use aranha_url::{Base, CanonUrl, Canonicaliser, UrlRules};
use client::{Client, Response, read};

/// A simple crawl with one connection per request and its own robots.txt parser.
async fn crawl(lab: &Lab) -> BTreeMap<String, (u16, bool)> {
    let canonicaliser = Canonicaliser::new(UrlRules::default());
    let mut queue: VecDeque<CanonUrl> = lab
        .seeds()
        .iter()
        .map(|seed| canonicaliser.canon(seed).unwrap())
        .collect();
    let mut robots = HashMap::new();
    let mut found = BTreeMap::new();
    while let Some(url) = queue.pop_front() {
        let key = lab.fold(url.as_str());
        if found.contains_key(&key) || lab.web().address(url.host()).is_none() {
            continue;
        }
        if !robots.contains_key(url.host()) {
            let file = fetch_robots(lab, &url, &canonicaliser).await;
            robots.insert(url.host().to_owned(), file);
        }
        if !allowed(&robots[url.host()], url.path()) {
            continue;
        }
        let got = fetch(lab, &url).await;
        let mut base = Base::of(&url);
        if let Some(location) = got.header("location") {
            let target = canonicaliser.join(&base, location).unwrap();
            if lab.fold(target.as_str()) == key {
                queue.push_front(target); // a redirect to the twin, which has the same folded URL
                continue;
            }
            queue.push_back(target);
        }
        let html = got.status == 200
            && got
                .header("content-type")
                .is_some_and(|t| t.starts_with("text/html"));
        found.insert(key, (got.status, html));
        if !html {
            continue;
        }
        let seen = read(&got.text());
        if let Some(href) = &seen.base {
            base = base.with_href(href);
        }
        if !seen.nofollow {
            let links = seen.links.iter();
            queue.extend(links.filter_map(|href| canonicaliser.join(&base, href).ok()));
        }
    }
    found
}

async fn fetch(lab: &Lab, url: &CanonUrl) -> Response {
    let mut client = Client::to(lab, url.host()).await;
    client
        .get(url.authority(), url.path(), "Accept-Encoding: gzip\r\n")
        .await
}

/// Fetches the robots.txt of a site and follows redirects. Empty if the site has none.
async fn fetch_robots(lab: &Lab, url: &CanonUrl, canonicaliser: &Canonicaliser) -> String {
    let mut target = canonicaliser.join(&Base::of(url), "/robots.txt").unwrap();
    loop {
        let got = fetch(lab, &target).await;
        match got.header("location") {
            Some(location) => target = canonicaliser.join(&Base::of(&target), location).unwrap(),
            None if got.status == 200 => return got.text(),
            None => return String::new(),
        }
    }
}

/// A group of robots.txt: its user agents, and its rules. A rule is a pattern, preceded by `true` for Allow or `false`
/// for Disallow.
type Group = (Vec<String>, Vec<(bool, String)>);

/// Whether robots.txt allows `aranha` to fetch a path. The longest matching rule wins. Patterns may have one `*` and a
/// `$`.
fn allowed(file: &str, path: &str) -> bool {
    let mut groups: Vec<Group> = Vec::new();
    for line in file.trim_start_matches('\u{feff}').lines() {
        let line = line.split('#').next().unwrap();
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().to_owned();
        match field.trim().to_ascii_lowercase().as_str() {
            "user-agent" => match groups.last_mut() {
                Some((agents, rules)) if rules.is_empty() => agents.push(value),
                _ => groups.push((vec![value], Vec::new())),
            },
            rule @ ("allow" | "disallow") => {
                groups.last_mut().unwrap().1.push((rule == "allow", value));
            }
            _ => {}
        }
    }
    let named = |name: &str| {
        groups
            .iter()
            .find(|(agents, _)| agents.iter().any(|a| a == name))
    };
    let Some((_, rules)) = named("aranha").or_else(|| named("*")) else {
        return true;
    };
    let matching = rules.iter().filter(|(_, pattern)| matches(pattern, path));
    let best = matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow));
    best.is_none_or(|(allow, _)| *allow)
}

fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    match pattern.split_once('*') {
        None => {
            if anchored {
                path == pattern
            } else {
                path.starts_with(pattern)
            }
        }
        Some((start, rest)) => {
            path.starts_with(start)
                && if anchored {
                    path.ends_with(rest)
                } else {
                    path[start.len()..].contains(rest)
                }
        }
    }
}

#[tokio::test]
async fn a_crawl_finds_exactly_the_expected_pages() {
    for seed in [1, 2, 77] {
        let lab = Lab::start(Plan::small(seed)).await.unwrap();
        let truth: BTreeMap<_, _> = lab
            .truth(&Crawler::default())
            .into_iter()
            .map(|(url, Expected { status, html, .. })| (url, (status, html)))
            .collect();
        let found = crawl(&lab).await;
        let missing: Vec<_> = truth
            .iter()
            .filter(|(u, _)| !found.contains_key(*u))
            .collect();
        let extra: Vec<_> = found
            .iter()
            .filter(|(u, _)| !truth.contains_key(*u))
            .collect();
        assert!(
            missing.is_empty() && extra.is_empty(),
            "seed {seed}: not found {missing:#?}, not expected {extra:#?}"
        );
        assert_eq!(truth, found, "seed {seed}");
        assert!(lab.log().iter().all(|request| request.complete));
    }
}

/// Number of pages, redirects and errors.
fn counts(truth: &BTreeMap<String, Expected>) -> (usize, usize, usize) {
    let count = |test: &dyn Fn(&Expected) -> bool| truth.values().filter(|e| test(e)).count();
    (
        count(&|e| e.html),
        count(&|e| (300..400).contains(&e.status)),
        count(&|e| e.status >= 400),
    )
}

#[test]
fn plans_have_the_documented_size() {
    for seed in 0..20 {
        let web = Web::new(Plan::small(seed), 8000);
        let (pages, redirects, broken) = counts(&web.truth(&Crawler::default()));
        assert!((100..=200).contains(&pages), "seed {seed}: {pages} pages");
        assert!(
            redirects > 5 && broken > 1,
            "seed {seed}: {redirects}, {broken}"
        );
        assert_eq!(web.seeds().len(), 3);
    }
    let demo = Web::new(Plan::demo(), 8000);
    let (pages, redirects, broken) = counts(&demo.truth(&Crawler::default()));
    assert!((500..=700).contains(&pages), "{pages} pages");
    assert!(redirects > 30 && broken > 10);
}

#[test]
fn all_sites_are_reached_without_robots_txt() {
    let web = Web::new(Plan::small(5), 8000);
    let truth = web.truth(&Crawler {
        robots: false,
        ..Crawler::default()
    });
    let sites: BTreeSet<_> = truth
        .keys()
        .map(|url| url.split('/').nth(2).unwrap())
        .collect();
    assert_eq!(sites.len(), 12, "{sites:?}");
}

#[test]
fn every_rule_of_the_crawler_changes_the_result() {
    let web = Web::new(Plan::small(1), 8000);
    let honest = Crawler::default();
    let default = web.truth(&honest).len();
    let check = |crawler: Crawler, more: bool| {
        let found = web.truth(&crawler).len();
        assert!(
            if more {
                found > default
            } else {
                found < default
            },
            "{crawler:?}: {found}, {default}"
        );
    };
    check(
        Crawler {
            robots: false,
            ..honest.clone()
        },
        true,
    );
    check(
        Crawler {
            meta_nofollow: false,
            ..honest.clone()
        },
        true,
    );
    check(
        Crawler {
            rel_nofollow: false,
            ..honest.clone()
        },
        true,
    );
    check(
        Crawler {
            assets: true,
            ..honest.clone()
        },
        true,
    );
    check(
        Crawler {
            outside: false,
            ..honest.clone()
        },
        false,
    );
    check(
        Crawler {
            agent: "badbot".to_owned(),
            ..honest.clone()
        },
        false,
    );
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let webs = [1, 1, 2].map(|seed| Web::new(Plan::small(seed), 8000));
    let urls = webs[0].truth(&Crawler {
        assets: true,
        ..Crawler::default()
    });
    assert_eq!(
        urls,
        webs[1].truth(&Crawler {
            assets: true,
            ..Crawler::default()
        })
    );
    let mut different = 0;
    for url in urls.keys() {
        let (host, path) = url[7..].split_once(":8000").unwrap();
        let [one, same, other] = webs.each_ref().map(|web| web.answer(host, path));
        assert_eq!(one, same, "{url}");
        different += usize::from(one != other);
    }
    assert!(different > urls.len() / 2);
}

#[test]
fn every_copy_has_the_bytes_of_exactly_one_original() {
    let web = Web::new(Plan::demo(), 8000);
    let truth = web.truth(&Crawler::default());
    let mut by_body: HashMap<Vec<u8>, Vec<&String>> = HashMap::new();
    for (url, _) in truth.iter().filter(|(_, expected)| expected.html) {
        let (host, path) = url[7..].split_once(":8000").unwrap();
        let mut answer = web.answer(host, path);
        if answer.status != 200 {
            answer = web.answer(&format!("www.{host}"), path);
        }
        assert_eq!(answer.status, 200, "{url}");
        by_body.entry(answer.body).or_default().push(url);
    }
    let copies: Vec<_> = by_body.values().filter(|urls| urls.len() > 1).collect();
    assert!(copies.len() >= 10, "{copies:?}");
    for urls in copies {
        assert!(
            urls.iter()
                .any(|u| u.contains("/copy/") || u.ends_with("/index.html")),
            "{urls:?}"
        );
        assert_eq!(urls.len(), 2, "{urls:?}");
    }
}

#[test]
fn a_web_of_100_000_sites_can_be_used() {
    let web = Web::new(Plan::large(100_000), 8000);
    let mut reached = 0;
    for number in (0..100_000).step_by(9973) {
        let names = [
            format!("site{number:03}.lab"),
            format!("www.site{number:03}.lab"),
        ];
        for name in names {
            if web.address(&name).is_some() {
                reached += 1;
                assert!(!web.answer(&name, "/").body.is_empty());
            }
        }
    }
    assert!(reached >= 11);
    assert!(web.address("site100000.lab").is_none());
}
