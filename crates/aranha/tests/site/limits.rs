//! Limits and filters set by the user.

use crate::outcomes;
use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::aranha;

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
    run(crawl(&folder.path().join("size"), &site.url("/")).args(["--size", "20kB"]));
    let archive = std::fs::read_dir(folder.path().join("size/archive")).unwrap();
    let size: u64 = archive
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((20_000..2_000_000).contains(&size), "{size}");
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
        .args([
            "crawl",
            &site.url("/"),
            "--contact",
            "me@example.org",
            "--pause",
            "0",
            "--quiet",
            "-c",
        ])
        .arg(&collection));
    assert_eq!(site.requests(), Vec::<String>::new());
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(outcomes(&collection)["/"], "200");
}
