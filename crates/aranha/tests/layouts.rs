//! Tests that this version can open collections of earlier layouts, which are in `tests/corpus/collections`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use aranha_frontier::{BlockedBy, PageFilter, SiteState, View};
use aranha_url::{Canonicaliser, UrlRules};

const PAGE: &str = "http://site001.lab:18391/private/1.html";

/// Copies a collection of the corpus, because opening a collection writes to it.
fn copy_of(name: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/collections");
    let target = folder.join(name);
    copy(&source.join(name), &target);
    target
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder is made");
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("the file is copied");
        }
    }
}

fn output(collection: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aranha"))
        .args(arguments)
        .arg("-c")
        .arg(collection)
        .output()
        .expect("aranha starts")
}

fn run(collection: &Path, arguments: &[&str]) -> String {
    let output = output(collection, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_collection_of_layout_4_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    let collection = copy_of("layout4", folder.path());

    let view = View::open(&collection).expect("opens for reading");
    let status = view.status(0).expect("has a status");
    assert_eq!((status.sites.known, status.sites.blocked), (6, 2));
    assert_eq!((status.pages.known, status.pages.blocked), (93, 6));
    assert_eq!((status.records, status.runs), (105, 3));
    let mut blocked = Vec::new();
    view.sites(|site| {
        if site.state == SiteState::Blocked {
            blocked.push(site.site);
        }
        true
    })
    .expect("lists the sites");
    let canon = Canonicaliser::new(UrlRules::default());
    let mut by: Vec<_> = blocked
        .iter()
        .map(|site| {
            let url = canon.canon(&format!("http://{site}/")).expect("a URL");
            let facts = view.explain(&url).expect("explains").facts;
            let blocked = facts
                .and_then(|facts| facts.blocked.clone())
                .expect("blocked");
            (blocked.by == BlockedBy::User, blocked.reason)
        })
        .collect();
    by.sort();
    assert_eq!(
        by,
        [
            (
                false,
                "its pages bring new links but nothing new to read".to_owned()
            ),
            (true, "site000.lab".to_owned()),
        ]
    );
    let mut records = 0;
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    view.pages(&filter, |_| {
        records += 1;
        true
    })
    .expect("lists the pages");
    assert_eq!(records, 105);
    drop(view);

    assert!(run(&collection, &["status"]).contains("6 known"));
    assert_eq!(run(&collection, &["pages"]).lines().count(), 90);
    assert!(run(&collection, &["why", PAGE]).contains("site001.lab"));
    assert!(!run(&collection, &["seed", "list"]).contains("depth="));
    assert!(run(&collection, &["history", PAGE]).lines().count() >= 2);
    run(&collection, &["check"]);
    // The lab does not run, so the crawl finds no server. But it opens the collection for writing.
    let crawl = output(&collection, &["crawl", "--time", "1s", "-q"]);
    assert_eq!(crawl.status.code(), Some(4), "no seed can be fetched");
    let seed = "http://site001.lab:18391/";
    run(&collection, &["seed", "add", seed, "--depth", "2"]);
    assert!(run(&collection, &["seed", "list"]).contains("\tdepth=2\n"));
    run(&collection, &["check"]);
}
