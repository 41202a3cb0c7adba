//! When pages are visited again: when the user asks for it, when a sitemap says that they have changed, and according
//! to how often they change.

use std::time::{Duration, Instant};

use crate::origin::{Kind, Origin, Request};
use crate::process::BackgroundProcess;
use crate::{Crawl, build, day, page, paths};

#[test]
fn seed_add_now_visits_the_named_pages_only() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let crawl = Crawl::new(
        temporary.path(),
        &origin,
        "policy = \"fixed\"\nevery = \"1d\"",
    );
    let mut crawling = BackgroundProcess::start(crawl.command(&["--continuous", "--quiet"]));
    let all = |requests: &[Request]| (requests.len() > pages.len()).then_some(());
    origin.wait_until(0, all);
    crawl.wait_until_recorded(pages.len());
    let (changed, unchanged, unknown) = ("/plain/two.html", "/bare/two.html", "/plain/new.html");
    origin.write(
        changed,
        &page("plain two, rewritten", &["list.html"]),
        day(2),
    );
    origin.write(unknown, &page("plain new", &["list.html"]), day(2));
    let mark = origin.mark();
    for path in [changed, unchanged, unknown] {
        crawl.read(&["seed", "add", "--now", &origin.url(path)]);
        let request = origin.wait_for(mark, |request| request.path == path);
        assert_eq!(request.status, 200);
    }
    crawl.wait_until_recorded(pages.len() + 1);
    assert_eq!(
        paths(&origin.requests_since(mark)),
        [unchanged, unknown, changed]
    );
    assert_eq!(crawl.found(&origin.url(changed)), ["new", "changed"]);
    assert_eq!(crawl.found(&origin.url(unchanged)), ["new", "same"]);
    assert_eq!(crawl.found(&origin.url(unknown)), ["new"]);
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    crawl.assert_sound();
}

/// Writes a sitemap which says that these pages have changed now. `number` is the day of the sitemap file's own
/// modification time.
fn sitemap(origin: &Origin, number: u32, changed: &[&str]) {
    let now = jiff::Timestamp::now();
    let entry = |path: &&str| {
        let url = origin.url(path);
        format!("<url><loc>{url}</loc><lastmod>{now:.3}</lastmod></url>\n")
    };
    let entries = changed.iter().map(entry).collect::<Vec<_>>().concat();
    let text = format!(
        "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{entries}</urlset>\n"
    );
    origin.write("/sitemap.xml", &text, day(number));
}

/// Writes a sitemap and crawls it. No page except the sitemap may be requested. Returns how far the sitemap brought
/// forward the next visit of the first page, as a share of the time that remained until that visit.
fn brought_forward(crawl: &Crawl, origin: &Origin, number: u32, changed: &[&str]) -> f64 {
    let first = origin.url(changed[0]);
    let before = crawl.due(&first);
    sitemap(origin, number, changed);
    let now = jiff::Timestamp::now().as_millisecond();
    let mark = origin.mark();
    crawl.read(&["seed", "add", "--now", &origin.url("/sitemap.xml")]);
    crawl.run(&[]);
    assert_eq!(paths(&origin.requests_since(mark)), ["/sitemap.xml"]);
    (before - crawl.due(&first)) as f64 / (before - now) as f64
}

#[test]
fn the_weight_of_a_sitemap_follows_its_accuracy() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let robots = format!("Sitemap: {}\n", origin.url("/sitemap.xml"));
    origin.write("/robots.txt", &robots, day(1));
    sitemap(&origin, 1, &[]);
    let crawl = Crawl::new(temporary.path(), &origin, "policy = \"poisson\"");
    crawl.run(&[]);
    let (one, two) = ("/plain/one.html", "/plain/two.html");
    let due_before = crawl.due(&origin.url(two));
    // A new source has a weight of about one half.
    let mut shares = vec![brought_forward(&crawl, &origin, 2, &[one])];
    assert!((0.4..0.7).contains(&shares[0]), "{shares:?}");
    assert_eq!(
        crawl.due(&origin.url(two)),
        due_before,
        "the sitemap does not name this page"
    );
    // If a later sitemap makes the same statement before the next visit, it has no further effect.
    assert!(brought_forward(&crawl, &origin, 3, &[one]) <= 0.0);
    // True statements raise the weight until the page is due immediately.
    for number in 4..8 {
        let words = format!("plain one, version {number}");
        origin.write(one, &page(&words, &["list.html"]), day(number));
        crawl.run(&["--again"]);
        shares.push(brought_forward(&crawl, &origin, number, &[one]));
    }
    assert!(shares.is_sorted() && shares[4] > 0.95, "{shares:?}");
    // False statements lower the weight to zero.
    let all: Vec<_> = pages.iter().map(String::as_str).collect();
    let mut shares = Vec::new();
    for number in 10..15 {
        crawl.run(&["--again"]);
        shares.push(brought_forward(&crawl, &origin, number, &all));
    }
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    assert!(shares[0] > 0.5 && shares[4] <= 0.0, "{shares:?}");
}

#[test]
fn unchanged_pages_are_visited_less_and_less_often() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    build(&origin);
    let crawl = Crawl::new(
        temporary.path(),
        &origin,
        "policy = \"frequency\"\nspread = 0",
    );
    let (restless, still) = ("/plain/one.html", "/plain/two.html");
    let mut crawling = BackgroundProcess::start(crawl.command(&["--every", "1s", "--quiet"]));
    let visits = |requests: &[Request], path| {
        let visits = requests.iter().filter(|request| request.path == path);
        visits.map(|request| request.at).collect::<Vec<_>>()
    };
    for number in 1..=9 {
        origin.wait_until(0, |requests| {
            (visits(requests, restless).len() >= number).then_some(())
        });
        let words = format!("version {number}");
        origin.write(
            restless,
            &page(&words, &["list.html"]),
            day(number as u32 + 1),
        );
    }
    let start = Instant::now();
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "the crawl stops within 5 seconds"
    );
    let requests = origin.requests_since(0);
    let gaps = |path| {
        let visits = visits(&requests, path);
        let gap = |pair: &[i64]| pair[1] / 1000 - pair[0] / 1000;
        visits.windows(2).map(gap).collect::<Vec<_>>()
    };
    let (often, rarely) = (gaps(restless), gaps(still));
    assert!(
        often.iter().filter(|gap| **gap == 1).count() >= 6,
        "{often:?}"
    );
    assert!((2..6).contains(&rarely.len()), "{rarely:?}");
    assert!(
        rarely.is_sorted() && rarely.last() >= Some(&2),
        "{rarely:?}"
    );
    let found = crawl.found(&origin.url(restless));
    assert!(
        found[1..].iter().all(|found| found == "changed"),
        "{found:?}"
    );
    // The same command continues.
    let mark = origin.mark();
    let mut crawling = BackgroundProcess::start(crawl.command(&["--every", "1s", "--quiet"]));
    let request = origin.wait_for(mark, |request| request.path == restless);
    assert_eq!(request.status, 200);
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    crawl.assert_sound();
}
