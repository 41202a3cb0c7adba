//! Collections that have lost files, and `aranha check --repair`.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status, pages, volumes};

const PATHS: [&str; 4] = ["/", "/a", "/b", "/c"];

fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&PATHS[1..]),
        path => page(&format!("<p>the page {path}")),
    })
}

/// Crawls the site. Returns the folder of the collection.
fn crawled(folder: &Path, site: &ScriptedSite) -> PathBuf {
    let collection = folder.join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), PATHS);
    collection
}

fn command(collection: &Path, arguments: &[&str]) -> Output {
    let mut command = aranha();
    command.args(arguments).arg("-c").arg(collection);
    command.output().unwrap()
}

fn stdout(collection: &Path, arguments: &[&str]) -> String {
    let output = command(collection, arguments);
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

fn repaired(collection: &Path) -> Value {
    let report = stdout(collection, &["check", "--repair", "--json"]);
    serde_json::from_str::<Value>(&report).unwrap()["repaired"].clone()
}

/// The paths that were requested after the first crawl, without the soft 404 probe.
fn requested_again(site: &ScriptedSite) -> Vec<String> {
    let mut again = site.requests()[PATHS.len()..].to_vec();
    again.retain(|path| !path.starts_with("/aranha-"));
    again.sort();
    again
}

/// What a crawl that finds nothing to do prints on stderr.
fn warnings_of_a_crawl(collection: &Path) -> String {
    let output = command(collection, &["crawl", "--quiet", "--allow-private"]);
    assert_status(&output, 0);
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn lost_indexes_are_reported_and_rebuilt() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = crawled(folder.path(), &site);
    assert_eq!(warnings_of_a_crawl(&collection), "");
    std::fs::remove_dir_all(collection.join("indexes")).unwrap();
    let warnings = warnings_of_a_crawl(&collection);
    assert!(
        warnings.contains("warning: 1 index file is missing"),
        "{warnings}"
    );
    assert!(warnings.contains("check --repair"), "{warnings}");
    assert_status(&command(&collection, &["check"]), 1);
    assert_eq!(repaired(&collection)["rebuilt_indexes"], 1);
    assert_status(&command(&collection, &["check"]), 0);
    assert_eq!(warnings_of_a_crawl(&collection), "");
    assert_eq!(
        repaired(&collection)["rebuilt_indexes"],
        0,
        "nothing to repair"
    );
}

#[test]
fn pages_of_a_lost_volume_are_fetched_again() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = crawled(folder.path(), &site);
    for volume in volumes(&collection) {
        std::fs::remove_file(volume).unwrap();
    }
    let warnings = warnings_of_a_crawl(&collection);
    assert!(
        warnings.contains("warning: 1 volume is missing"),
        "{warnings}"
    );
    assert_eq!(site.requests().len(), PATHS.len(), "nothing is due");
    let url = site.url("/a");
    assert_status(&command(&collection, &["text", &url]), 1);
    let output = command(&collection, &["check", "--repair"]);
    assert_status(&output, 1);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(
        messages.contains("queued 4 pages whose stored response is lost"),
        "{messages}"
    );
    run(aranha().args(["crawl", "--quiet", "-c"]).arg(&collection));
    assert_eq!(requested_again(&site), PATHS);
    assert!(stdout(&collection, &["text", &url]).contains("the page /a"));
}

#[test]
fn a_lost_frontier_is_named_by_every_command_and_rebuilt() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = crawled(folder.path(), &site);
    let before = pages(&collection);
    let url = site.url("/a");
    let visits = || {
        let history = stdout(&collection, &["history", &url]);
        history.lines().next().unwrap().to_owned()
    };
    let history = visits();
    for damage in [
        |path: &Path| std::fs::write(path, ""),
        |path: &Path| std::fs::remove_file(path),
    ] {
        damage(&collection.join("frontier.db")).unwrap();
        let commands: [&[&str]; 13] = [
            &["status"],
            &["pages"],
            &["why", &url],
            &["text", &url],
            &["cat", &url],
            &["links", &url],
            &["history", &url],
            &["diff", &url],
            &["check"],
            &["block", "spam.example"],
            &["unblock", "spam.example"],
            &["seed", "add", &url],
            &["crawl", &url, "--allow-private"],
        ];
        for arguments in commands {
            let output = command(&collection, arguments);
            assert_status(&output, 1);
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(
                text.contains("frontier.db is missing or empty"),
                "{arguments:?}: {text}"
            );
            assert!(text.contains("check --repair"), "{arguments:?}: {text}");
        }
        assert_eq!(repaired(&collection)["restored_pages"], 4);
        let after = pages(&collection);
        assert!(after.keys().eq(before.keys()), "{after:?}");
        for (url, page) in &after {
            for field in ["status", "digest", "size", "media_type", "time"] {
                assert_eq!(page[field], before[url][field], "{field} of {url}");
            }
        }
        assert_eq!(visits(), history);
        assert!(stdout(&collection, &["text", &url]).contains("the page /a"));
    }
    // The links are found again by the next crawl, which fetches every page once.
    run(aranha().args(["crawl", "--quiet", "-c"]).arg(&collection));
    assert_eq!(requested_again(&site), PATHS);
    assert_status(&command(&collection, &["check"]), 0);
}

/// The database of the frontier is overwritten with noise, cut off, or damaged in the middle.
#[test]
fn a_damaged_frontier_is_set_aside_and_rebuilt() {
    let site = site();
    for damage in [
        |bytes: &mut Vec<u8>| bytes.fill(7),
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes[4096..].fill(7),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        run(&mut crawl(&collection, &site.url("/")));
        let before = pages(&collection);
        let file = collection.join("frontier.db");
        let mut bytes = std::fs::read(&file).unwrap();
        damage(&mut bytes);
        std::fs::write(&file, &bytes).unwrap();
        let output = command(&collection, &["status"]);
        assert_status(&output, 1);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("damaged database"), "{text}");
        assert!(text.contains("aranha check --repair"), "{text}");
        let report = repaired(&collection);
        assert_eq!(report["restored_pages"], 4, "{report}");
        let aside = std::fs::read(collection.join("frontier.db.damaged")).unwrap();
        assert_eq!(aside.len(), bytes.len());
        assert!(pages(&collection).keys().eq(before.keys()));
        assert_eq!(repaired(&collection)["restored_pages"], Value::Null);
    }
}
