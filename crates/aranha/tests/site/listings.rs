//! Tests of `sites`, `pages`, `seed list` and `changes`, which list what a crawl found.

use std::path::Path;
use std::process::Output;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run, status};
use crate::support::{aranha, assert_status};
use crate::{closed_port, settings};

/// The crawl ends without waiting for retries.
const NO_WAIT: &str = "[crawl]\nidle_wait = \"0s\"\n";

fn output(arguments: &[&str], collection: &Path) -> Output {
    let mut command = aranha();
    command.args(arguments).arg("-c").arg(collection);
    command.output().unwrap()
}

/// The columns of each line of stdout. The lines are sorted.
#[track_caller]
fn list(arguments: &[&str], collection: &Path) -> Vec<Vec<String>> {
    let output = output(arguments, collection);
    assert_status(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    lines.sort();
    lines
}

/// The last column of each line, which is a URL, as a path.
#[track_caller]
fn paths(arguments: &[&str], site: &ScriptedSite, collection: &Path) -> Vec<String> {
    list(arguments, collection)
        .into_iter()
        .map(|mut line| line.pop().unwrap().replace(&site.url("/"), "/"))
        .collect()
}

fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, before| {
        match (path, before) {
        ("/robots.txt", _) => page("User-agent: *\nDisallow: /private"),
        ("/", _) => links(&["/stays", "/changes", "/goes", "/paper", "/broken", "/private", "/absent"]),
        ("/paper", _) => "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nConnection: close\r\n\r\n%PDF-1.4\n".to_owned(),
        ("/changes", 0) => page("one thing"),
        ("/changes", _) => links(&["/new"]),
        ("/goes", 0) | ("/stays" | "/new", _) => page(&format!("here is {path}")),
        ("/goes", _) => status("410 Gone"),
        ("/broken", _) => String::new(),
        _ => status("404 Not Found"),
    }
    })
}

#[test]
fn pages_are_selected_by_status_type_and_state() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), NO_WAIT);
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let select = |flags: &[&str]| paths(&[&["pages"], flags].concat(), &site, &collection);
    assert_eq!(select(&["--status", "4xx"]), ["/absent"]);
    assert_eq!(select(&["--status", "404"]), ["/absent"]);
    assert_eq!(select(&["--type", "application/p*"]), ["/paper"]);
    assert_eq!(select(&["--failed"]), ["/broken"]);
    assert_eq!(select(&["--queued"]), ["/broken"]);
    let queued = &list(&["pages", "--queued"], &collection)[0];
    assert_eq!(
        (queued[0].as_str(), queued[2].clone()),
        ("retry", site.url("/"))
    );

    for command in [
        &["pages"][..],
        &["changes"],
        &["export", "mirror", "nowhere"],
    ] {
        let output = output(
            &[command, &["--site", "typo.example"]].concat(),
            &collection,
        );
        assert_status(&output, 1);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            text.contains("the collection has no site `typo.example`"),
            "{text}"
        );
    }
    let wrong = output(&["pages", "--status", "4x"], &collection);
    assert_status(&wrong, 2);
}

#[test]
fn soft_404s_and_pages_that_want_another_browser_are_selected() {
    // The probe for soft 404s is sent after the first pages of a site.
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&[
            "/1",
            "/2",
            "/3",
            "/4",
            "/5",
            "/6",
            "/7",
            "/8",
            "/9",
            "/typo",
            "/application",
        ]),
        article if article.len() == 2 => {
            page(&format!("article {article} about rivers and their banks"))
        }
        "/application" => page("Your browser is not supported. Please upgrade your browser."),
        _ => page("Sorry, we looked everywhere for this page and it does not exist."),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let select = |flags: &[&str]| paths(&[&["pages"], flags].concat(), &site, &collection);
    assert_eq!(select(&["--soft"]), ["/typo"]);
    assert_eq!(select(&["--cloaked"]), ["/application"]);
}

#[test]
fn queued_pages_are_listed_before_their_first_fetch() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "1"]));
    let queued = paths(&["pages", "--queued"], &site, &collection);
    assert!(queued.contains(&"/stays".to_owned()), "{queued:?}");
    assert!(!queued.contains(&"/".to_owned()), "{queued:?}");
}

#[test]
fn sites_and_seeds_are_listed_with_the_reason() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let dead = format!("http://127.0.0.1:{}/", closed_port());
    let file = settings(folder.path(), NO_WAIT);
    let mut command = crawl(&collection, &site.url("/"));
    run(command.arg(&dead).arg("--config").arg(file));

    let name = format!("127.0.0.1:{}", site.port);
    let sites = list(&["sites"], &collection);
    assert_eq!(sites.len(), 2, "{sites:?}");
    let alive = sites.iter().find(|line| line[0] == name).unwrap();
    assert_eq!(alive[1..5], ["waiting", "7", "1", "1"], "{alive:?}");
    assert_ne!(alive[5], "0", "bytes");
    assert_eq!(alive[7], "-");
    let unreachable = sites.iter().find(|line| line[0] != name).unwrap();
    assert_eq!(unreachable[1..4], ["waiting", "0", "1"]);
    assert!(
        unreachable[7].contains("connection refused"),
        "{unreachable:?}"
    );

    let seeds = list(&["seed", "list"], &collection);
    assert_eq!(seeds.len(), 2, "{seeds:?}");
    assert_eq!(
        (seeds[0][0].as_str(), &seeds[0][2]),
        ("200", &site.url("/"))
    );
    assert_eq!((seeds[1][0].as_str(), &seeds[1][2]), ("not fetched", &dead));
    assert!(seeds[1][3].contains("connection refused"), "{seeds:?}");
}

#[test]
fn changes_lists_what_is_new_changed_and_gone() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), NO_WAIT);
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let changes = |flags: &[&str]| -> Vec<(String, String)> {
        let lines = list(&[&["changes"], flags].concat(), &collection);
        let short = |line: Vec<String>| (line[0].clone(), line[2].replace(&site.url("/"), "/"));
        lines.into_iter().map(short).collect()
    };
    let of = |change: &str, path: &str| (change.to_owned(), path.to_owned());
    let first: Vec<_> = ["/", "/changes", "/goes", "/paper", "/stays"]
        .map(|path| of("new", path))
        .into();
    let mut found = changes(&[]);
    found.sort();
    assert_eq!(found, first);

    run(aranha()
        .args([
            "crawl",
            "--allow-private",
            "--pause",
            "0",
            "--again",
            "-q",
            "-c",
        ])
        .arg(&collection));
    let mut found = changes(&[]);
    found.sort();
    assert_eq!(
        found,
        [
            of("changed", "/changes"),
            of("gone", "/goes"),
            of("new", "/new")
        ]
    );
    let mut all = changes(&["--since", "2020-01-01"]);
    all.sort();
    let present: Vec<_> = ["/", "/changes", "/new", "/paper", "/stays"]
        .map(|path| of("new", path))
        .into();
    assert_eq!(
        all, present,
        "a page that came and went since then is not listed"
    );
}
