//! The folder of a collection on the command line, and Unix signals to a crawl.

use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status};

fn one_page() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| {
        if path == "/robots.txt" {
            String::new()
        } else {
            page("here")
        }
    })
}

#[test]
fn the_folder_comes_from_the_environment_or_is_the_current_one() {
    let site = one_page();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_status(
        &aranha()
            .arg("status")
            .current_dir(&folder)
            .output()
            .unwrap(),
        2,
    );
    run(aranha().arg("status").current_dir(&collection));
    let mut command = aranha();
    command.arg("status").current_dir(&folder);
    run(command.env("ARANHA_COLLECTION", "c"));
}

#[test]
fn a_folder_with_other_files_becomes_a_collection_with_a_warning() {
    let site = one_page();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let mut command = aranha();
    command.args([
        "crawl",
        &site.url("/"),
        "--allow-private",
        "--pause",
        "0",
        "-c",
    ]);
    let output = command.arg(folder.path()).output().unwrap();
    assert_status(&output, 0);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("has other files"), "{text}");
    let again = command.output().unwrap();
    let text = String::from_utf8(again.stderr).unwrap();
    assert!(!text.contains("has other files"), "{text}");
}

/// Two Unix signals at almost the same time, as `timeout` sends them, stop the crawl cleanly.
#[test]
fn two_signals_within_a_second_count_as_one() {
    let (sender, requested) = mpsc::channel();
    let sender = Mutex::new(sender);
    let site = ScriptedSite::start(move |path, _, before| {
        if path == "/robots.txt" {
            return String::new();
        }
        let _ = sender.lock().unwrap().send(());
        links(&[&format!("{path}{before}"), &format!("{path}x")])
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = crawl(&collection, &site.url("/"));
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..10 {
        requested.recv().unwrap();
    }
    let id = child.id().to_string();
    let script = format!("kill -TERM {id}; kill -INT {id}; kill -CONT {id}");
    run(Command::new("sh").args(["-c", &script]));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let status = aranha()
        .args(["status", "--json", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["crawl"]["killed"], false, "{status}");
    assert_eq!(status["crawl"]["reason"], "interrupted", "{status}");
}
