//! Collections with missing frontier files. The fault is reported, and nothing is overwritten.

use std::path::Path;
use std::process::Command;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status};

/// The crawl must not create a new frontier, which would not know the pages of the archive.
#[test]
fn an_archive_without_its_frontier_is_an_error() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    for end in [
        |path: &Path| std::fs::write(path, ""),
        |path: &Path| std::fs::remove_file(path),
    ] {
        end(&collection.join("frontier.db")).unwrap();
        assert_frontier_missing(&mut crawl(&collection, &site.url("/")));
        assert_frontier_missing(&mut crawl_again(&collection));
        assert_frontier_missing(&mut add_seed(&collection));
    }
    assert_eq!(site.requests(), ["/"]);
}

/// Link runs are files beside the database, and the database lists them. If the database is missing, a new one must not
/// be created, because it would not list them and they would be deleted.
#[test]
fn link_runs_without_their_frontier_are_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = collection.join("frontier.runs/7.run");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "links").unwrap();
    assert_frontier_missing(&mut add_seed(&collection));
    assert_frontier_missing(&mut crawl(&collection, "http://127.0.0.1:9/"));
    std::fs::write(collection.join("frontier.db"), "").unwrap();
    assert_frontier_missing(&mut add_seed(&collection));
    assert_frontier_missing(&mut crawl_again(&collection));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "links");
}

/// Link runs are files beside the database, so a backup may lack them.
#[test]
fn missing_link_runs_are_reported() {
    let other = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("there"),
    });
    let link = other.url("/");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => links(&[&link]),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--scope", "any"]));
    assert_eq!(other.requests(), ["/"]);
    let check = || {
        aranha()
            .args(["check", "-c"])
            .arg(&collection)
            .output()
            .unwrap()
    };
    assert_status(&check(), 0);
    std::fs::remove_dir_all(collection.join("frontier.runs")).unwrap();
    let output = check();
    assert_status(&output, 1);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("frontier.runs/"), "{text}");
    let output = crawl_again(&collection).output().unwrap();
    assert_status(&output, 1);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("hint: restore frontier.db and frontier.runs/"),
        "{text}"
    );
}

/// The command that continues the crawl of a collection, without a URL.
fn crawl_again(collection: &Path) -> Command {
    let mut command = aranha();
    command
        .args(["crawl", "--allow-private", "--quiet", "-c"])
        .arg(collection);
    command
}

fn add_seed(collection: &Path) -> Command {
    let mut command = aranha();
    command
        .args(["seed", "add", "http://127.0.0.1:9/", "-c"])
        .arg(collection);
    command
}

#[track_caller]
fn assert_frontier_missing(command: &mut Command) {
    let output = command.output().unwrap();
    assert_status(&output, 1);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("frontier.db is missing or empty"), "{text}");
    assert!(
        text.contains("restore frontier.db and frontier.runs/"),
        "{text}"
    );
}
