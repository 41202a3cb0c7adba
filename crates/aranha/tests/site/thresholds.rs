//! Thresholds per site (Viuva Negra 5.4). The links of a site that reaches a threshold are not followed any more.

use std::path::Path;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::settings;
use crate::support::aranha;

/// A home page with links to `/0` to `/9`. Each of these pages has a link to a further page.
fn site(text: impl Fn(&str) -> String + Send + Sync + 'static) -> ScriptedSite {
    ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => {
            let paths: Vec<_> = (0..10).map(|number| format!("/{number}")).collect();
            let paths: Vec<_> = paths.iter().map(String::as_str).collect();
            links(&paths)
        }
        path => page(&format!("{} <a href='/below{path}'></a>", text(path))),
    })
}

fn requests_of(site: &ScriptedSite, folder: &Path, thresholds: &str, more: &[&str]) -> Vec<String> {
    let text = format!("[crawl]\nsoft_404 = false\n[thresholds]\n{thresholds}");
    let file = settings(folder, &text);
    let before = site.requests().len();
    let mut command = crawl(&folder.join("c"), &site.url("/"));
    run(command.arg("--config").arg(file).args(more));
    let mut requests = site.requests().split_off(before);
    requests.sort();
    requests
}

fn blocked_sites(folder: &Path) -> u64 {
    let status = aranha()
        .args(["status", "--json", "-c"])
        .arg(folder.join("c"))
        .output();
    let status: serde_json::Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
    status["sites"]["blocked"].as_u64().unwrap()
}

/// With `urls = 8`, eight URLs are fetched. With `duplicates = 3`, the links of the first pages are followed, and all
/// pages in the queue are fetched. In both cases the pages are revisited.
#[test]
fn thresholds_stop_links_and_keep_the_queue() {
    let folder = tempfile::tempdir().unwrap();
    let pages = site(str::to_owned);
    let first = ["/", "/0", "/1", "/2", "/3", "/4", "/5", "/6"];
    let limit = "urls = 8\n";
    assert_eq!(requests_of(&pages, folder.path(), limit, &[]), first);
    assert_eq!(blocked_sites(folder.path()), 0);
    let again = requests_of(&pages, folder.path(), limit, &["--again"]);
    assert_eq!(again, first, "the pages are revisited");
    // With a higher threshold, the links of stored pages are read again.
    let more = requests_of(&pages, folder.path(), "urls = 12\n", &[]);
    assert_eq!(more.len(), 4, "{more:?}");

    let folder = tempfile::tempdir().unwrap();
    let copies = site(|_| "the same text".to_owned());
    let found = requests_of(&copies, folder.path(), "duplicates = 3\n", &[]);
    let below = |path: &&String| path.starts_with("/below/");
    let (below, others): (Vec<_>, Vec<_>) = found.iter().partition(below);
    assert_eq!(others.len(), 11, "the whole queue: {others:?}");
    assert!((3..5).contains(&below.len()), "{below:?}");
    assert_eq!(blocked_sites(folder.path()), 0);
    let again = requests_of(&copies, folder.path(), "duplicates = 3\n", &["--again"]);
    assert_eq!(again, found, "the pages are revisited");
}

/// With `block = true` the queue is not fetched, and no page is revisited.
#[test]
fn thresholds_can_block_the_site() {
    let folder = tempfile::tempdir().unwrap();
    let site = site(|_| "the same text".to_owned());
    let limit = "duplicates = 3\nblock = true\n";
    let found = requests_of(&site, folder.path(), limit, &[]);
    assert!(found.len() < 8, "{found:?}");
    assert_eq!(blocked_sites(folder.path()), 1);
    assert_eq!(
        requests_of(&site, folder.path(), limit, &["--again"]),
        [""; 0]
    );
}

/// The depth of a site is counted from the page where the crawl entered it.
#[test]
fn the_depth_threshold_is_counted_from_the_entry_page() {
    let folder = tempfile::tempdir().unwrap();
    let chain = ScriptedSite::start(|path, _, _| {
        let number: u32 = path.trim_start_matches('/').parse().unwrap_or(0);
        match path {
            "/robots.txt" => String::new(),
            _ => links(&[&format!("/{}", number + 1)]),
        }
    });
    let found = requests_of(&chain, folder.path(), "depth = 3\n", &[]);
    assert_eq!(found, ["/", "/1", "/2", "/3"]);
    assert_eq!(blocked_sites(folder.path()), 0);
    let deeper = requests_of(&chain, folder.path(), "depth = 4\n", &[]);
    assert_eq!(deeper, ["/4"], "the links of stored pages are read again");
}
