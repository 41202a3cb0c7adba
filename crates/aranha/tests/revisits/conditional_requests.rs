//! Unchanged pages are confirmed by a 304 response without a body; changed pages are stored as new versions.

use std::fs;

use serde_json::Value;

use crate::origin::{Kind, Origin, Pywb, Request};
use crate::{Crawl, build, day, page, paths, wait_for_the_round};

/// The counts of revisited pages in a summary: unchanged, changed, gone.
fn revisited(summary: &Value) -> (u64, u64, u64) {
    let tally = &summary["tally"];
    let count = |name: &str| tally[name].as_u64().unwrap();
    (count("unchanged"), count("changed"), count("gone"))
}

/// Requires one request per page, and bodies only for pages under `/bare/`, which have neither `ETag` nor
/// Last-Modified.
#[track_caller]
fn assert_not_modified(requests: &[Request], pages: &[String]) {
    assert_eq!(paths(requests), pages);
    for request in requests {
        if request.path.starts_with("/bare/") {
            assert_eq!(request.status, 200, "{request:?}");
        } else {
            assert_eq!((request.status, request.bytes), (304, 0), "{request:?}");
        }
    }
}

fn check_unchanged_site(kind: Kind) {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(kind, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    let first = crawl.run(&[]);
    assert_eq!(revisited(&first), (0, 0, 0));
    let requests = origin.requests_since(0);
    assert_eq!(
        requests.len(),
        pages.len() + 1,
        "all pages and robots.txt: {requests:?}"
    );
    assert!(
        requests.iter().all(|request| request.status == 200),
        "{requests:?}"
    );
    // Three rounds, because the validators of a 304 response must work for the next request.
    for round in 1..4 {
        let mark = origin.mark();
        let arguments: &[&str] = if round == 1 {
            &["--again"]
        } else {
            wait_for_the_round(&crawl);
            &[]
        };
        let summary = crawl.run(arguments);
        assert_not_modified(&origin.requests_since(mark), &pages);
        assert_eq!(revisited(&summary), (pages.len() as u64, 0, 0), "{round}");
    }
    let expected = |path: &str| {
        let same = if path.starts_with("/bare/") {
            "same"
        } else {
            "not modified"
        };
        ["new", same, same, same]
    };
    for path in &pages {
        assert_eq!(crawl.found(&origin.url(path)), expected(path), "{path}");
    }
    crawl.assert_sound();
}

#[test]
fn the_again_flag_visits_pages_that_the_selective_policy_skips() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"selective\"\nevery = \"7d\"";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    for round in 0..3 {
        let summary = crawl.run(&["--again"]);
        assert_eq!(revisited(&summary), (pages.len() as u64, 0, 0), "{round}");
    }
}

#[test]
fn nginx_sends_no_body_for_unchanged_pages() {
    check_unchanged_site(Kind::Nginx);
}

#[test]
fn apache_sends_no_body_for_unchanged_pages() {
    check_unchanged_site(Kind::Apache);
}

/// Changes the site between two crawls.
fn change(origin: &Origin) {
    let index = ["list.html"];
    // New text; the first page has a link to a new page.
    let words = page("plain one, rewritten", &["list.html", "new.html"]);
    origin.write("/plain/one.html", &words, day(2));
    origin.write("/plain/new.html", &page("plain new", &index), day(2));
    origin.write(
        "/zipped/one.html",
        &page("zipped one, rewritten", &index),
        day(2),
    );
    origin.write(
        "/bare/one.html",
        &page("bare one, rewritten", &index),
        day(2),
    );
    // The same text in other markup.
    for part in ["plain", "bare"] {
        let text = page(&format!("{part} two"), &index).replace("<p>", "<p class=\"new\">");
        origin.write(&format!("/{part}/two.html"), &text, day(2));
    }
    // The same text with other links.
    let links = page("zipped three", &["list.html", "late.html"]);
    origin.write("/zipped/three.html", &links, day(2));
    origin.write("/zipped/late.html", &page("zipped late", &index), day(2));
    // The same bytes with a new modification time.
    origin.write("/zipped/two.html", &page("zipped two", &index), day(2));
    fs::remove_file(origin.file("/plain/three.html")).unwrap();
}

/// The finding of the second visit of a page.
fn finding(path: &str) -> &'static str {
    match path {
        "/plain/one.html" | "/zipped/one.html" | "/bare/one.html" => "changed",
        "/plain/two.html" | "/bare/two.html" | "/zipped/three.html" => "markup only",
        "/plain/three.html" => "gone",
        "/zipped/two.html" => "same",
        _ if path.starts_with("/bare/") => "same",
        _ => "not modified",
    }
}

fn check_changed_site(kind: Kind) {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(kind, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    change(&origin);
    wait_for_the_round(&crawl);
    let mark = origin.mark();
    let summary = crawl.run(&[]);
    let requests = origin.requests_since(mark);
    let mut known = pages.clone();
    known.extend(["/plain/new.html".to_owned(), "/zipped/late.html".to_owned()]);
    known.sort();
    assert_eq!(paths(&requests), known);
    for request in &requests {
        let expected = match finding(&request.path) {
            _ if !pages.contains(&request.path) => 200,
            "not modified" => 304,
            "gone" => 404,
            _ => 200,
        };
        assert_eq!(request.status, expected, "{request:?}");
        assert_eq!(request.bytes == 0, expected == 304, "{request:?}");
    }
    let unchanged = pages.len() as u64 - 4;
    assert_eq!(revisited(&summary), (unchanged, 3, 1), "{summary}");
    wait_for_the_round(&crawl);
    let mark = origin.mark();
    let summary = crawl.run(&["--again"]);
    assert_eq!(revisited(&summary), (known.len() as u64 - 1, 0, 1));
    for request in origin.requests_since(mark) {
        let expected = match finding(&request.path) {
            "gone" => 404,
            _ if request.path.starts_with("/bare/") => 200,
            _ => 304,
        };
        assert_eq!(request.status, expected, "{request:?}");
    }
    crawl.assert_sound();
    assert_versions(&crawl, &origin, &pages);
}

/// Checks that `history`, `cat` and pywb show both versions of every page.
fn assert_versions(crawl: &Crawl, origin: &Origin, pages: &[String]) {
    let pywb = Pywb::start(&crawl.folder);
    for path in pages {
        let url = origin.url(path);
        let found = finding(path);
        let last = match found {
            "gone" => "gone",
            _ if path.starts_with("/bare/") => "same",
            _ => "not modified",
        };
        assert_eq!(crawl.found(&url), ["new", found, last], "{path}");
        let history = crawl.history(&url);
        let times: Vec<_> = (0..3)
            .map(|visit| {
                history["history"][visit]["time"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        let stamps = times.iter().map(|time| timestamp(time)).collect::<Vec<_>>();
        let old = crawl.read(&["cat", &url, "--at", &times[0]]);
        let (head, replayed) = pywb.get(&stamps[0], &url);
        assert!(head.contains(" 200 "), "{path}: {head}");
        assert_eq!(replayed, old, "{path}: {head}");
        if found == "gone" {
            continue;
        }
        let now = fs::read_to_string(origin.file(path)).unwrap();
        let is_new = matches!(found, "changed" | "markup only");
        assert_eq!(old != now, is_new, "{path}");
        for visit in [1, 2] {
            assert_eq!(
                crawl.read(&["cat", &url, "--at", &times[visit]]),
                now,
                "{path}"
            );
            let (head, replayed) = pywb.get(&stamps[visit], &url);
            assert_eq!(replayed, now, "{path} at {}: {head}", stamps[visit]);
        }
        if found == "changed" {
            let words = crawl.read(&["diff", &url]);
            assert!(words.contains("{+one, rewritten+}"), "{words}");
        }
    }
}

/// The time `2026-11-01T10:00:00.000Z` in the form of replay tools: `20261101100000`.
fn timestamp(time: &str) -> String {
    let digits = time.chars().filter(char::is_ascii_digit);
    digits.take(14).collect()
}

#[test]
fn nginx_sends_changed_pages_only_and_both_versions_are_replayed() {
    check_changed_site(Kind::Nginx);
}

#[test]
fn apache_sends_changed_pages_only_and_both_versions_are_replayed() {
    check_changed_site(Kind::Apache);
}
