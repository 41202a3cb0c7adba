//! Tracking parameters of links (`?utm_source=…`), and pages that an earlier crawl stored under URLs that contain them.

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::settings;
use crate::support::aranha;

fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&[
            "/a?utm_source=mail&utm_medium=x",
            "/a?fbclid=77",
            "/a?id=1&gclid=5",
            "/a",
        ]),
        other => page(&format!("the page {other}")),
    })
}

#[test]
fn a_page_is_fetched_once_whatever_tracking_parameters_its_links_have() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    run(&mut crawl(&folder.path().join("c"), &site.url("/")));
    assert_eq!(site.requests(), ["/", "/a", "/a?id=1"]);
}

#[test]
fn the_list_of_tracking_parameters_can_be_changed() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = settings(folder.path(), "[url]\ntracking_names = [\"gclid\"]\n");
    run(crawl(&folder.path().join("c"), &site.url("/"))
        .arg("--config")
        .arg(file));
    let mut requests = site.requests();
    requests.sort();
    assert_eq!(
        requests,
        [
            "/",
            "/a",
            "/a?fbclid=77",
            "/a?id=1",
            "/a?utm_source=mail&utm_medium=x"
        ]
    );
}

/// Crawls of earlier versions did not remove tracking parameters. Their pages keep their URLs, and are found and
/// visited again.
#[test]
fn pages_stored_with_tracking_parameters_are_still_found() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/a?utm_source=mail"]),
        other => page(&format!("the page {other}")),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), "[url]\ndrop_tracking = false\n");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    std::fs::remove_file(collection.join("aranha.toml")).unwrap();

    let old = site.url("/a?utm_source=mail");
    let read = |command: &str| {
        let mut command_line = aranha();
        command_line.args([command, &old, "-c"]).arg(&collection);
        let output = command_line.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(read("text"), "the page /a?utm_source=mail\n");
    assert!(read("why").contains(&old), "{}", read("why"));
    let mut export = aranha();
    export.args(["export", "mirror", "--json", "-c"]);
    export.arg(&collection).arg(folder.path().join("mirror"));
    let counts: serde_json::Value =
        serde_json::from_slice(&export.output().unwrap().stdout).unwrap();
    assert_eq!(counts["links"]["inside"], 1, "{counts}");

    run(crawl(&collection, &site.url("/")).arg("--again"));
    let mut requests = site.requests().split_off(2);
    requests.sort();
    assert_eq!(requests, ["/", "/a", "/a?utm_source=mail"]);
}
