//! `--log FILTER` and `log.level`: which log messages appear on stderr.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scripted_site;
mod support;

use std::process::Command;

use scripted_site::{ScriptedSite, crawl, page};
use support::{aranha, assert_status};

fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/" => page("<p>One page."),
        _ => scripted_site::status("404 Not Found"),
    })
}

fn stderr(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_status(&output, 0);
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn without_a_filter_nothing_is_logged() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        stderr(&mut crawl(&folder.path().join("c"), &site.url("/"))),
        ""
    );
}

#[test]
fn a_filter_selects_crates_and_levels() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let filter = ["--log", "aranha_fetch=debug,aranha_engine=debug"];
    let log = stderr(crawl(&collection, &site.url("/")).args(filter));
    let fetch = format!(":fetch{{url=\"{}\"}}: aranha_fetch", site.url("/"));
    for part in [
        "INFO crawl: aranha_engine",
        "crawl started",
        "crawl ended",
        "crawl:visit{site=",
        &fetch,
    ] {
        assert!(log.contains(part), "no `{part}` in {log}");
    }
    for part in ["TRACE", "aranha_frontier", "aranha_volume"] {
        assert!(!log.contains(part), "`{part}` in {log}");
    }
    // The flag applies to one crawl, so it is not saved in a new collection.
    let saved = std::fs::read_to_string(collection.join("aranha.toml")).unwrap();
    assert!(!saved.contains("level"), "{saved}");
}

#[test]
fn the_configuration_sets_the_filter_of_a_crawl() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.toml");
    std::fs::write(&file, "[log]\nlevel = \"aranha_volume=info\"\n").unwrap();
    let log = stderr(
        crawl(&folder.path().join("c"), &site.url("/"))
            .arg("--config")
            .arg(file),
    );
    assert!(
        log.contains("INFO") && log.contains("volume opened"),
        "{log}"
    );
    assert!(
        log.lines().all(|line| line.contains("aranha_volume")),
        "{log}"
    );
}

#[test]
fn an_invalid_filter_is_refused() {
    let output = aranha()
        .args(["lab", "--list", "--log", "loud"])
        .output()
        .unwrap();
    assert_status(&output, 2);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("error: --log: `loud` is not a log filter\nhint: "),
        "{said}"
    );
}
