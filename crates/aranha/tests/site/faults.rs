//! Faults of aranha itself, injected into a crawl: each costs a page or a site, never the crawl (M2, M6).

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status, pages};
use crate::{resolver_to_loopback, settings};

/// Short limits, so that a fault is noticed and a problem site is visited again after about a second.
const SETTINGS: &str = "[crawl]\nidle_wait = \"100ms\"\nmax_pause = \"100ms\"\nno_progress_limit = \"1s\"\n\
                        [fetch]\ntotal_timeout = \"500ms\"\n";
const PATHS: [&str; 5] = ["/", "/a", "/b", "/c", "/d"];

/// A server for any number of sites with five pages each.
fn five_pages() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&PATHS[1..]),
        path => page(&format!("the page {path}")),
    })
}

fn url(site: &ScriptedSite, name: &str, path: &str) -> String {
    format!("http://{name}.example:{}{path}", site.port)
}

/// The command that crawls three sites of the server with injected faults.
fn faulty_crawl(folder: &Path, site: &ScriptedSite, faults: &str) -> Command {
    let mut command = crawl(&folder.join("c"), &url(site, "one", "/"));
    command.args([url(site, "two", "/"), url(site, "three", "/")]);
    command.args(["--contact", "test@localhost", "--resolver"]);
    command.arg(resolver_to_loopback());
    command.arg("--config").arg(settings(folder, SETTINGS));
    command.env("ARANHA_INJECT_FAULTS", faults);
    command
}

/// The objects that `aranha status --problems` prints.
fn problems(folder: &Path) -> Vec<Value> {
    let mut command = aranha();
    command.args(["status", "--problems", "--json", "-c"]);
    let output = command.arg(folder.join("c")).output().unwrap();
    assert_status(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Requires that all pages of these sites were fetched.
#[track_caller]
fn assert_complete(folder: &Path, site: &ScriptedSite, names: &[&str]) {
    let pages = pages(&folder.join("c"));
    for name in names {
        for path in PATHS {
            let url = url(site, name, path);
            assert_eq!(pages[&url]["status"], 200, "{url}");
        }
    }
}

#[test]
fn a_panic_ends_one_visit_and_its_site_is_visited_last() {
    let site = five_pages();
    let folder = tempfile::tempdir().unwrap();
    run(&mut faulty_crawl(folder.path(), &site, "visit=panic:two"));
    assert_complete(folder.path(), &site, &["one", "three"]);
    let found = problems(folder.path());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["site"], format!("two.example:{}", site.port));
    assert_eq!(found[0]["problem"], "a panic: injected fault");
    assert_eq!(found[0]["faults"], 2, "visited a second time");
    // Without the fault, the next crawl finishes the site.
    run(&mut faulty_crawl(folder.path(), &site, ""));
    assert_complete(folder.path(), &site, &["two"]);
    assert_eq!(problems(folder.path()), [] as [Value; 0]);
}

/// The page limit must not wait for the pages of a visit that panicked.
#[test]
fn a_panic_returns_the_reserved_pages() {
    let site = five_pages();
    let folder = tempfile::tempdir().unwrap();
    let mut command = faulty_crawl(folder.path(), &site, "visit=panic:two");
    run(command.args(["--pages", "10", "--time", "30s"]));
    assert_complete(folder.path(), &site, &["one", "three"]);
}

#[test]
fn a_visit_that_hangs_is_ended_and_started_again() {
    let site = five_pages();
    let folder = tempfile::tempdir().unwrap();
    let mut command = faulty_crawl(
        folder.path(),
        &site,
        "visit=hang:two,fetch=hang:three.example",
    );
    run(&mut command);
    assert_complete(folder.path(), &site, &["one"]);
    let found = problems(folder.path());
    assert_eq!(found.len(), 2, "{found:?}");
    for problem in found {
        assert_eq!(problem["problem"], "no progress for 1s");
        assert_eq!(problem["faults"], 2, "visited a second time");
    }
}

#[test]
fn a_reader_that_fails_costs_one_page() {
    let site = five_pages();
    let folder = tempfile::tempdir().unwrap();
    let faults = format!(
        "read=panic:{},read=hang:{},fetch=panic:{}",
        url(&site, "one", "/b"),
        url(&site, "two", "/b"),
        url(&site, "three", "/b")
    );
    run(&mut faulty_crawl(folder.path(), &site, &faults));
    let found = pages(&folder.path().join("c"));
    for name in ["one", "two", "three"] {
        for path in PATHS {
            let url = url(&site, name, path);
            let expected = if path == "/b" {
                "internal error"
            } else {
                "200"
            };
            assert_eq!(found[&url]["outcome"], expected, "{url}");
        }
    }
    assert_eq!(problems(folder.path()), [] as [Value; 0]);
    let events = std::fs::read_to_string(folder.path().join("c/logs/events.jsonl")).unwrap();
    assert!(
        events.contains("reading the page took longer than 5s"),
        "{events}"
    );
}
