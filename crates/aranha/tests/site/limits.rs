//! Limits and filters set by the user.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use aranha_engine::Clock;
use aranha_units::calendar;

use crate::outcomes;
use crate::scripted_site::{ScriptedSite, crawl, links, page, run, run_without_answer};
use crate::support::{aranha, assert_status};

#[test]
fn the_page_limit_is_exact() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/a", "/b", "/c", "/d", "/e"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "3", "--connections", "4"]));
    assert_eq!(site.requests().len(), 3);
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(
        site.requests().len(),
        6,
        "the limit does not apply to the next crawl"
    );
}

#[test]
fn time_and_size_limits_end_an_endless_site() {
    let site = ScriptedSite::start(|path, _, before| match path {
        "/robots.txt" => String::new(),
        _ => links(&[&format!("{path}{before}"), &format!("{path}x")]),
    });
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("time"), &site.url("/")).args(["--time", "500ms"]));
    let soon = calendar::rfc3339(Clock::new().now() + 1_500);
    run(crawl(&folder.path().join("until"), &site.url("/")).args(["--until", &soon]));
    run(crawl(&folder.path().join("size"), &site.url("/")).args(["--size", "20kB"]));
    let archive = std::fs::read_dir(folder.path().join("size/archive")).unwrap();
    let size: u64 = archive
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((20_000..2_000_000).contains(&size), "{size}");
}

/// The size of the archive is compared with the limit after every record. The last record may exceed the limit; nothing
/// is fetched after that record.
#[test]
fn the_size_limit_is_exceeded_by_one_record_at_most() {
    const RECORD: u64 = 50_000;
    let site = ScriptedSite::start(|path, _, before| {
        if path == "/robots.txt" {
            return String::new();
        }
        // Digits of a hash, so that compression leaves about half of the text.
        let digits = (0..RECORD / 8)
            .map(|number| format!("{:016x}", RandomState::new().hash_one((path, number))));
        let text: String = digits.collect();
        page(&format!(
            "<a href='{path}{before}'></a><a href='{path}x'></a>{text}"
        ))
    });
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("c"), &site.url("/")).args(["--size", "500kB"]));
    let archive = std::fs::read_dir(folder.path().join("c/archive")).unwrap();
    let size: u64 = archive
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((500_000..500_000 + 3 * RECORD).contains(&size), "{size}");
}

/// A response that never ends delays the end of the crawl by only about a second.
#[test]
fn the_time_limit_does_not_wait_for_slow_responses() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => loop {
            std::thread::park();
        },
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let start = Instant::now();
    run(crawl(&collection, &site.url("/")).args(["--time", "1s"]));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(site.requests(), ["/"]);
    let status = aranha()
        .args(["status", "--json", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(
        status["pages"]["queued"], 1,
        "the page is not lost: {status}"
    );
}

/// The quota counts the new pages of all crawls. The site is not blocked, and its pages are revisited. Pages beyond the
/// quota are fetched when the quota is removed.
#[test]
fn a_quota_per_site_is_reached_quietly_and_revisits_go_on() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/a", "/b", "/c", "/d", "/e"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let crawl = |more: &[&str]| {
        let before = site.requests().len();
        run(crawl(&collection, &site.url("/")).args(more));
        let mut requests = site.requests().split_off(before);
        requests.sort();
        requests
    };
    let quota = ["--pages-per-site", "3", "--connections", "4"];
    assert_eq!(crawl(&quota), ["/", "/a", "/b"]);
    assert_eq!(crawl(&["--again"]), ["/", "/a", "/b"], "the quota is kept");
    let status = aranha()
        .args(["status", "--json", "-c"])
        .arg(&collection)
        .output();
    let status: serde_json::Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
    assert_eq!(status["sites"]["blocked"], 0, "{status}");
    assert_eq!(crawl(&["--pages-per-site", "none"]), ["/c", "/d", "/e"]);
}

/// The pages beyond the quota have not failed. A crawl with a higher quota fetches them at once, although no seed is given.
#[test]
fn pages_beyond_the_quota_are_told_from_failed_pages() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/a", "/b", "/c"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let text = |arguments: &[&str]| {
        let mut command = aranha();
        let output = command.args(arguments).arg("-c").arg(&collection).output();
        let output = output.unwrap();
        assert_status(&output, 0);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let crawl = ["crawl", "--allow-private", "--pause", "0"];
    let seed = site.url("/");
    let first = [&crawl[..], &[&seed, "--pages-per-site", "2"]].concat();
    let summary = text(&first);
    assert!(
        summary.contains("2 pages done, 0 queued, 2 waiting for a later visit"),
        "{summary}"
    );
    let queued = text(&["pages", "--queued"]);
    assert!(
        queued.lines().all(|line| line.starts_with("later\t")),
        "{queued}"
    );
    let why = text(&["why", &site.url("/c")]);
    assert!(
        why.contains("its site has reached crawl.pages_per_site"),
        "{why}"
    );
    let before = site.requests().len();
    text(&[&crawl[..], &["--pages-per-site", "3"]].concat());
    assert_eq!(site.requests().split_off(before), ["/b"]);
}

#[test]
fn new_filters_apply_to_queued_pages() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/calendar/1", "/calendar/2", "/news"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "1"]));
    run(crawl(&collection, &site.url("/")).args(["--reject", "path:/calendar/*"]));
    assert_eq!(site.requests(), ["/", "/news"]);
    assert_eq!(outcomes(&collection)["/calendar/1"], "out of scope");
}

/// Filters of a later crawl are added to those of the collection, and kept for the crawls that follow.
#[test]
fn filters_of_a_later_crawl_are_kept() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/a.zip", "/calendar/1", "/news"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "1", "--reject", "ext:zip"]));
    run(crawl(&collection, &site.url("/")).args(["--reject", "path:/calendar/*"]));
    run(crawl(&collection, &site.url("/")).arg("--again"));
    assert_eq!(site.requests(), ["/", "/news", "/", "/news"]);
    let shown = aranha()
        .args(["config", "show", "--json", "-c"])
        .arg(&collection)
        .output();
    let shown: serde_json::Value = serde_json::from_slice(&shown.unwrap().stdout).unwrap();
    let expected = serde_json::json!(["ext:zip", "path:/calendar/*"]);
    assert_eq!(shown["crawl.reject"]["value"], expected);
}

/// `--config` applies to one crawl. Its filters replace those of the collection in that crawl, but not in
/// `aranha.toml`.
#[test]
fn filters_of_another_configuration_file_are_not_kept() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--reject", "ext:zip"]));
    let other = folder.path().join("other.toml");
    let filters = "[crawl]\naccept = [\"path:/*\"]\nreject = [\"ext:pdf\"]\n";
    std::fs::write(&other, filters).unwrap();
    run(crawl(&collection, &site.url("/"))
        .args(["--reject", "path:/calendar/*", "--config"])
        .arg(&other));
    let stored = std::fs::read_to_string(collection.join("aranha.toml")).unwrap();
    let stored: toml::Table = stored.parse().unwrap();
    let crawl = stored["crawl"].as_table().unwrap();
    let reject: Vec<_> = crawl["reject"].as_array().unwrap().iter().collect();
    assert_eq!(reject, [&"ext:zip".into(), &"path:/calendar/*".into()]);
    assert!(!crawl.contains_key("accept"), "{crawl}");
}

#[test]
fn a_refused_address_can_be_allowed_later() {
    let site = ScriptedSite::start(|path, _, _| {
        if path == "/robots.txt" {
            String::new()
        } else {
            page("here")
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(aranha()
        .args(["seed", "add", &site.url("/"), "-c"])
        .arg(&collection));
    run_without_answer(
        aranha()
            .args(["crawl", "--contact", "me@example.org", "--quiet", "-c"])
            .arg(&collection),
    );
    assert_eq!(site.requests(), Vec::<String>::new());
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(outcomes(&collection)["/"], "200");
}

#[test]
fn links_that_are_not_followed_are_counted_by_reason() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page(&format!(
            "<a href=/a>a</a><a href=/b rel=nofollow>b</a><a href=http://elsewhere.test/>c</a><a href=/x.zip>d</a>\
             <a href=mailto:a@example.org>e</a><a href=http://[x>f</a><a href=/y/y/y/y>g</a><a href=/black>h</a><a href={}>i</a>",
            "/n".repeat(40)
        )),
        "/a" => links(&["/deep"]),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let list = format!("[crawl]\nblacklist = [\"{}\"]\n", site.url("/black"));
    let mut command = crawl(&folder.path().join("c"), &site.url("/"));
    command.args(["--depth", "1", "--reject", "ext:zip", "--json", "--config"]);
    let output = command
        .arg(crate::settings(folder.path(), &list))
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let end: serde_json::Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    let counters = &end["tally"];
    for (reason, expected) in [
        ("links", 10),
        ("links_nofollow", 1),
        ("links_out_of_scope", 1),
        ("links_too_deep", 1),
        ("links_filtered", 1),
        ("links_blacklisted", 1),
        ("links_other_scheme", 1),
        ("links_growing", 2),
        ("links_malformed", 1),
    ] {
        assert_eq!(counters[reason], expected, "{reason}: {counters}");
    }
}
