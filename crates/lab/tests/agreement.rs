//! Compares the URLs that a crawl of the lab must find with those that aranha's page reader finds, for crawlers with
//! different rules. No sockets are used, and robots.txt is ignored.
//!
//! If this test fails and the test `truth.rs` passes, the page reader reads the HTML of the lab wrongly.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use aranha_lab::{Crawler, Plan, Web};
use aranha_page::{Input, LinkKind, Options, Page};
use aranha_url::{Base, CanonUrl, Canonicaliser, UrlRules};

const PORT: u16 = 8000;

/// Crawls the web with aranha's page reader. Returns the folded URLs and their status.
fn crawl(web: &Web, crawler: &Crawler) -> BTreeMap<String, u16> {
    let canonicaliser = Canonicaliser::new(UrlRules::default());
    let seeds = web.seeds();
    let mut queue: VecDeque<CanonUrl> = seeds
        .iter()
        .map(|s| canonicaliser.canon(s).unwrap())
        .collect();
    let inside: BTreeSet<String> = queue.iter().map(|url| url.site().to_owned()).collect();
    let mut found = BTreeMap::new();
    while let Some(url) = queue.pop_front() {
        let key = format!("http://{}{}", url.site(), url.path());
        let outside = !crawler.outside && !inside.contains(url.site());
        if outside || found.contains_key(&key) || web.address(url.host()).is_none() {
            continue;
        }
        let answer = web.answer(url.host(), url.path());
        let mut base = Base::of(&url);
        if let Some(location) = answer.header("Location") {
            let target = canonicaliser.join(&base, location).unwrap();
            if target.key() == url.key() {
                queue.push_front(target); // a redirect to the twin, which has the same folded URL
                continue;
            }
            queue.push_back(target);
        }
        found.insert(key, answer.status);
        if answer.status != 200 {
            continue;
        }
        let page = read(&url, answer.header("Content-Type"), &answer.body, crawler);
        if let Some(href) = &page.base {
            base = base.with_href(href);
        }
        let nofollow =
            |(_, content): &(String, String)| content.to_lowercase().contains("nofollow");
        if crawler.meta_nofollow && page.robots.iter().any(nofollow) {
            continue;
        }
        let links = page.links.iter();
        let followed = links.filter(|link| !(link.nofollow && crawler.rel_nofollow));
        queue.extend(followed.filter_map(|link| canonicaliser.join(&base, &link.href).ok()));
    }
    found
}

fn read(url: &CanonUrl, content_type: Option<&str>, body: &[u8], crawler: &Crawler) -> Page {
    let options = Options {
        assets: crawler.assets,
        ..Options::default()
    };
    let input = Input {
        url: url.as_str(),
        content_type,
        body,
        content_language: None,
    };
    aranha_page::read(&input, &options)
}

#[test]
fn the_page_reader_finds_exactly_the_expected_pages() {
    let base = Crawler {
        robots: false,
        ..Crawler::default()
    };
    let crawlers = [
        base.clone(),
        Crawler {
            assets: true,
            ..base.clone()
        },
        Crawler {
            rel_nofollow: false,
            ..base.clone()
        },
        Crawler {
            meta_nofollow: false,
            ..base.clone()
        },
        Crawler {
            outside: false,
            ..base
        },
    ];
    for seed in [4, 9] {
        let web = Web::new(Plan::small(seed), PORT);
        for crawler in &crawlers {
            let truth = web.truth(crawler);
            let truth: BTreeMap<_, _> = truth.into_iter().map(|(url, e)| (url, e.status)).collect();
            let found = crawl(&web, crawler);
            let only = |a: &BTreeMap<String, u16>, b: &BTreeMap<String, u16>| -> Vec<String> {
                a.keys()
                    .filter(|url| !b.contains_key(*url))
                    .cloned()
                    .collect()
            };
            assert_eq!(
                only(&truth, &found),
                [""; 0],
                "not found: seed {seed}, {crawler:?}"
            );
            assert_eq!(
                only(&found, &truth),
                [""; 0],
                "not expected: seed {seed}, {crawler:?}"
            );
            assert_eq!(truth, found);
        }
    }
}

/// The page reader finds titles, languages and text in every character set.
#[test]
fn title_text_and_language_of_every_page_are_read() {
    let web = Web::new(Plan::demo(), PORT);
    let canonicaliser = Canonicaliser::new(UrlRules::default());
    let mut languages = BTreeSet::new();
    for url in web
        .truth(&Crawler::default())
        .iter()
        .filter(|(_, e)| e.html)
        .map(|(url, _)| url)
    {
        let url = canonicaliser.canon(url).unwrap();
        let answer = web.answer(url.host(), url.path());
        if answer.status != 200 {
            continue; // a twin, which redirects
        }
        let page = read(
            &url,
            answer.header("Content-Type"),
            &answer.body,
            &Crawler::default(),
        );
        assert!(page.links.iter().all(|link| link.kind != LinkKind::Script));
        assert!(page.title.is_some_and(|title| title.len() > 8), "{url:?}");
        assert!(
            !page.text.contains('\u{fffd}') && !page.text.contains('Ã'),
            "{url:?}"
        );
        languages.extend(page.language);
    }
    assert_eq!(
        languages,
        ["de", "en", "es", "pt"].map(str::to_owned).into()
    );
}
