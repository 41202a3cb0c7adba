//! Crawls on different days: the engine's clock starts at a time that the test chooses. The servers are real.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use aranha_engine::config::{Config, Layers};
use aranha_engine::{Collection, Node, Stop, World};
use aranha_frontier::{Embedded, Frontier, Seed};
use aranha_url::Canonicaliser;

use crate::scripted_site::{ScriptedSite, links, page};
use crate::{outcomes, settings};

const HOUR: i64 = 3_600_000;
pub(crate) const DAY: i64 = 24 * HOUR;
/// Midnight in UTC.
pub(crate) const START: i64 = 20_500 * DAY;

/// Crawls the site to the end. The crawl begins at `now`, unix milliseconds.
fn crawl_at(now: i64, folder: &Path, site: &ScriptedSite) {
    crawl_with(now, folder, site, "policy = \"fixed\"\nevery = \"1d\"\n");
}

/// Like [`crawl_at`], with other lines in the section `[revisit]`.
pub(crate) fn crawl_with(now: i64, folder: &Path, site: &ScriptedSite, revisit: &str) {
    crawl_seeds(now, folder, &[site.url("/")], revisit);
}

/// Crawls the collection `c` in `folder` to the end, with these seeds added.
pub(crate) fn crawl_seeds(now: i64, folder: &Path, seeds: &[String], revisit: &str) {
    let file = settings(
        folder,
        &format!("[crawl]\npause = \"0s\"\n[fetch]\nallow_private = true\n[revisit]\n{revisit}"),
    );
    let files = vec![file];
    let layers = Layers {
        files,
        ..Layers::default()
    };
    let (config, _) = Config::load(&layers).unwrap();
    let root = folder.join("c");
    let collection = Collection::at(&root);
    let resumed = collection.exists();
    collection.create().unwrap();
    let canon = Canonicaliser::new(config.url.clone());
    let seeds = seeds.iter().map(|url| Seed::of(&canon.canon(url).unwrap()));
    let seeds: Vec<Seed> = seeds.collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut frontier = Embedded::open(&root, config.frontier.clone()).unwrap();
        frontier.seed(now, &seeds).unwrap();
        let (world, frontier) = (World::real_at(now), Box::new(frontier));
        let stop = Stop::new();
        let node = Node::open_in(&world, &collection, config, frontier, resumed, stop).unwrap();
        node.run().await.unwrap();
    });
}

/// A page that robots.txt refuses is considered again in the next round, when robots.txt has been fetched again.
#[test]
fn a_refused_page_is_fetched_when_robots_txt_allows_it() {
    let crawls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&crawls);
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" if counter.load(Relaxed) < 2 => page("User-agent: *\nDisallow: /private\n"),
        "/robots.txt" => String::new(),
        "/" => links(&["/private"]),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    for day in 0..3 {
        crawls.store(day, Relaxed);
        // 30 hours apart, so that every page is due.
        crawl_at(START + day as i64 * 30 * HOUR, folder.path(), &site);
        let expected = if day < 2 { "robots.txt refused" } else { "200" };
        let found = outcomes(&folder.path().join("c"));
        assert_eq!(found["/private"], expected, "crawl {day}");
    }
}

/// With `every = "1d"`, a crawl at the same time each day requests every page, although the due times move within the
/// first hours of each round.
#[test]
fn thirty_daily_crawls_miss_no_day() {
    let paths = ["/", "/a", "/b"];
    // A round begins at midnight, and pages become due in its first six hours (`revisit.spread`). The crawls begin at
    // the start of a round (0), while pages become due (3), after all are due (12), or near the end of the round (23).
    for hour in [0, 3, 12, 23] {
        let site = ScriptedSite::start(|path, _, _| match path {
            "/robots.txt" => String::new(),
            "/" => links(&["/a", "/b"]),
            _ => page(path),
        });
        let folder = tempfile::tempdir().unwrap();
        let mut missed = Vec::new();
        for day in 0..30 {
            let before = site.requests().len();
            // The start varies by up to ten minutes.
            let start = START + day * DAY + hour * HOUR + (day * 7 % 10) * 60_000;
            crawl_at(start, folder.path(), &site);
            let mut requests = site.requests().split_off(before);
            requests.sort();
            if requests != paths {
                missed.push((day, requests));
            }
            // A second crawl on the same day requests nothing.
            let before = site.requests().len();
            crawl_at(start + HOUR / 2, folder.path(), &site);
            assert_eq!(site.requests().len(), before, "hour {hour}, day {day}");
        }
        assert_eq!(missed, [], "hour {hour}");
    }
}

/// Under the default policy, a site has quick rounds if most of its pages change every day. Other sites have none.
#[test]
fn fast_sites_have_quick_rounds_under_the_default_policy() {
    for (changes, expected) in [(true, 3), (false, 0)] {
        let site = ScriptedSite::start(move |path, _, before| {
            let version = if changes { before } else { 0 };
            match path {
                "/robots.txt" => String::new(),
                "/" => page(&format!(
                    "version {version} <a href=/a>a</a><a href=/b>b</a>"
                )),
                path => page(&format!("{path} version {version}")),
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let revisit = "every = \"1d\"\nquick_every = \"3h\"\nspread = 0\n";
        let noon = START + 12 * HOUR;
        for day in 0..3 {
            crawl_with(noon + day * DAY, folder.path(), &site, revisit);
        }
        let before = site.requests().len();
        let later = noon + 2 * DAY + 4 * HOUR;
        crawl_with(later, folder.path(), &site, revisit);
        assert_eq!(site.requests().len() - before, expected, "{changes}");
    }
}
