//! Rules that change between two crawls, and orders to request every page.

use std::path::Path;

use serde_json::Value;

use crate::outcomes;
use crate::scripted_site::{ScriptedSite, crawl, links, page, run, status};
use crate::support::{aranha, assert_status};

/// A chain of pages: `/` links to `/1`, `/1` to `/2`, and so on. Each page has an entity tag, and the server answers
/// every request after the first with 304.
fn unchanging_chain() -> ScriptedSite {
    ScriptedSite::start(|path, _, before| {
        let number = path.trim_start_matches('/').parse().unwrap_or(0);
        match path {
            "/robots.txt" => String::new(),
            path if path.starts_with("/aranha-") => status("404 Not Found"),
            _ if before > 0 => status("304 Not Modified\r\nETag: \"1\""),
            _ => with_tag(&links(&[&format!("/{}", number + 1)])),
        }
    })
}

fn with_tag(response: &str) -> String {
    response.replacen("\r\n", "\r\nETag: \"1\"\r\n", 1)
}

/// The requests of one crawl, sorted.
fn requests_of(site: &ScriptedSite, folder: &Path, more: &[&str]) -> Vec<String> {
    let before = site.requests().len();
    if folder.join("frontier.db").exists() {
        let mut command = aranha();
        command.args(["crawl", "--allow-private", "--pause", "0", "--quiet", "-c"]);
        run(command.arg(folder).args(more));
    } else {
        run(crawl(folder, &site.url("/")).args(more));
    }
    let mut requests = site.requests().split_off(before);
    requests.sort();
    requests
}

fn why(folder: &Path, url: &str) -> Value {
    let output = aranha()
        .args(["why", url, "--json", "-c"])
        .arg(folder)
        .output();
    let output = output.unwrap();
    assert_status(&output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The links of unchanged pages are read from the archive. Without `--again`, no page is requested twice.
#[test]
fn a_larger_depth_finds_the_links_of_stored_pages() {
    let folder = tempfile::tempdir().unwrap();
    for (name, again) in [("plain", None), ("again", Some("--again"))] {
        let site = unchanging_chain();
        let collection = folder.path().join(name);
        let mut requests = requests_of(&site, &collection, &["-l", "1"]);
        assert_eq!(requests, ["/", "/1"]);
        let deeper: Vec<_> = ["-l", "3"].into_iter().chain(again).collect();
        requests = requests_of(&site, &collection, &deeper);
        match again {
            None => assert_eq!(requests, ["/2", "/3"]),
            Some(_) => assert_eq!(requests, ["/", "/1", "/2", "/3"]),
        }
        // The rules have not changed since the last crawl, so nothing is read or requested.
        assert_eq!(requests_of(&site, &collection, &["-l", "3"]), [""; 0]);
    }
}

/// `why` judges a URL by the rules of the last crawl, and says if `aranha.toml` has other rules.
#[test]
fn why_names_the_rules_of_the_last_crawl() {
    let site = unchanging_chain();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    requests_of(&site, &collection, &["-l", "1"]);
    let before = why(&collection, &site.url("/2"));
    assert_eq!(before["known"], false, "{before}");
    requests_of(&site, &collection, &["-l", "3"]);
    let after = why(&collection, &site.url("/2"));
    assert_eq!(after["scope"]["inside"], true, "{after}");
    assert_eq!(after["next_scope"]["inside"], false, "{after}");
    assert_eq!(after["history"][0]["outcome"], "200", "{after}");
    requests_of(&site, &collection, &["-l", "1"]);
    let last = why(&collection, &site.url("/2"));
    assert_eq!(last["scope"]["inside"], false, "{last}");
    assert_eq!(last["next_scope"], Value::Null, "{last}");
}

/// A black list entry is removed, a filter is removed, and then assets are requested.
#[test]
fn pages_that_a_rule_excluded_are_fetched_when_it_is_removed() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => page("<a href=/a.zip></a><a href=/shut></a><a href=/open></a><img src=/image.png>"),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = |name: &str, text: &str| {
        let path = collection.join(name);
        std::fs::create_dir_all(&collection).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file("blacklist.txt", &format!("{}\n", site.url("/shut")));
    file("aranha.toml", "[crawl]\nreject = [\"ext:zip\"]\n");
    assert_eq!(requests_of(&site, &collection, &[]), ["/", "/open"]);
    file("blacklist.txt", "");
    assert_eq!(requests_of(&site, &collection, &[]), ["/shut"]);
    file("aranha.toml", "");
    assert_eq!(requests_of(&site, &collection, &[]), ["/a.zip"]);
    assert_eq!(
        requests_of(&site, &collection, &["--assets"]),
        ["/favicon.ico", "/image.png"]
    );
}

/// A page that was queued when a filter excluded it has a record with the outcome "out of scope". It is queued again
/// when the filter is removed.
#[test]
fn pages_refused_from_the_queue_are_fetched_when_the_filter_is_removed() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/calendar/1", "/news"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    requests_of(&site, &collection, &["--pages", "1"]);
    let filter = ["--reject", "path:/calendar/*"];
    assert_eq!(requests_of(&site, &collection, &filter), ["/news"]);
    assert_eq!(outcomes(&collection)["/calendar/1"], "out of scope");
    let file = collection.join("aranha.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let without: Vec<_> = text
        .lines()
        .filter(|line| !line.contains("calendar"))
        .collect();
    std::fs::write(&file, without.join("\n")).unwrap();
    assert_eq!(requests_of(&site, &collection, &[]), ["/calendar/1"]);
}

/// Links to other sites are found in stored pages as well.
#[test]
fn a_wider_scope_finds_other_sites_in_stored_pages() {
    let other = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let target = other.url("/there");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/" => links(&[&target]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    assert_eq!(requests_of(&site, &collection, &[]), ["/"]);
    assert_eq!(
        requests_of(&site, &collection, &["--scope", "any"]),
        [""; 0]
    );
    assert_eq!(other.requests(), ["/there"]);
}

/// The first page has a link to a page of another site that the home page of that site does not link to. It is followed when a
/// page of the other site becomes a seed. A seed on a known site changes nothing.
#[test]
fn a_new_seed_brings_links_of_stored_pages_into_scope() {
    let other = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let target = other.url("/there");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/" => links(&[&target]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    assert_eq!(requests_of(&site, &collection, &[]), ["/"]);
    let notices = |seed: &str| {
        let mut command = crawl(&collection, seed);
        let output = command.arg("--json").output().unwrap();
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        text.matches("rules_widened").count()
    };
    assert_eq!(notices(&site.url("/second")), 0);
    assert_eq!(notices(&other.url("/")), 1);
    let mut requests = other.requests();
    requests.sort();
    assert_eq!(requests, ["/", "/there"]);
    assert_eq!(notices(&other.url("/")), 0, "the rules are the same");
}

/// `--full` sends unconditional requests, so that a server sends every page in full.
#[test]
fn the_full_flag_requests_pages_unconditionally() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => with_tag(&links(&["/a"])),
        path => with_tag(&page(path)),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    requests_of(&site, &collection, &[]);
    assert_eq!(requests_of(&site, &collection, &["--again"]), ["/", "/a"]);
    assert_eq!(site.conditional_requests().len(), 2);
    assert_eq!(requests_of(&site, &collection, &["--full"]), ["/", "/a"]);
    assert_eq!(site.conditional_requests().len(), 2);
    assert_eq!(requests_of(&site, &collection, &["--again"]), ["/", "/a"]);
    assert_eq!(site.conditional_requests().len(), 4, "only once");
}

/// The same command continues an interrupted `--again`. It does not repeat any request, not even for pages that failed.
#[test]
fn an_interrupted_again_is_continued() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/absent", "/broken", "/c", "/d", "/e"]),
        "/absent" => status("404 Not Found"),
        "/broken" => status("503 Service Unavailable"),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let all = ["/", "/absent", "/broken", "/c", "/d", "/e"];
    for flag in ["--again", "--full"] {
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        assert_eq!(requests_of(&site, &collection, &[]), all);
        let mut requests = requests_of(&site, &collection, &[flag, "--pages", "4"]);
        assert_eq!(requests.len(), 4, "{flag}");
        requests.extend(requests_of(&site, &collection, &[flag]));
        requests.sort();
        assert_eq!(requests, all, "{flag}");
        // The interrupted `--again` has been completed, so the next one requests every page.
        assert_eq!(requests_of(&site, &collection, &[flag]), all, "{flag}");
    }
}
