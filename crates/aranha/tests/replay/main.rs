//! Archives made with `crawl --assets` are complete: Chromium shows the live pages, then the servers of the live web end,
//! and the same browser shows the archived pages.
//!
//! The pages are replayed in three ways: by pywb as an HTTP proxy, which sends the stored responses unchanged under their
//! original URLs; by pywb with its rewritten URLs; and as files of `export mirror`, opened from disk. In each way, no request
//! of the browser may miss. The screenshots must equal those of the live pages byte for byte, except in the second way,
//! where pywb adds a banner. They are kept in `target/tmp/replay`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../browser/mod.rs"]
mod browser;
mod live_web;
#[path = "../origin/mod.rs"]
mod origin;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use browser::{Browser, LoadedPage, Network, Window};
use live_web::LiveWeb;
use origin::Pywb;
use support::{aranha, assert_status};

/// A desktop, and a telephone with two device pixels per CSS pixel. They choose other images and style sheets.
const WINDOWS: [Window; 2] = [
    Window {
        width: 1000,
        height: 700,
        scale: 1,
    },
    Window {
        width: 500,
        height: 700,
        scale: 2,
    },
];

/// Without this flag, Chromium refuses modules, `fetch`, masks and images that another SVG image uses, if they are files.
const FILES_MAY_LOAD_FILES: &str = "--allow-file-access-from-files";

/// Pages of the live web, and a collection of them.
struct Visit {
    /// The URLs of the pages without scheme and host, in the order of the screenshots.
    paths: Vec<&'static str>,
    origin: String,
    /// `screenshots/live-0-1.png` is the second page in the first window.
    screenshots: PathBuf,
    folder: tempfile::TempDir,
}

impl Visit {
    /// Takes screenshots of the live pages and crawls them. Afterwards, the live web has ended.
    fn live(
        name: &str,
        origin: impl Fn(&LiveWeb) -> &String,
        paths: &[&'static str],
        flags: &[&str],
    ) -> Self {
        let web = LiveWeb::start();
        let folder = tempfile::tempdir().unwrap();
        let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("replay")
            .join(name);
        fs::create_dir_all(&screenshots).unwrap();
        let visit = Self {
            paths: paths.to_vec(),
            origin: origin(&web).clone(),
            screenshots,
            folder,
        };
        let mut browser = Browser::start(&Network::Loopback, &[]);
        visit.assert_complete(&mut browser, "live", "", str::to_owned);
        let output = aranha()
            .args(["crawl", &format!("{}{}", visit.origin, paths[0])])
            .args(["--allow-private", "--pause", "0", "--quiet"])
            .args(flags)
            .arg("-c")
            .arg(visit.collection())
            .output()
            .unwrap();
        assert_status(&output, 0);
        visit
    }

    fn collection(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    /// Opens every page in every window and saves screenshots. `place` returns the URL under which the browser finds a page.
    fn open_all(
        &self,
        browser: &mut Browser,
        way: &str,
        place: impl Fn(&str) -> String,
    ) -> Vec<(&'static str, usize, LoadedPage)> {
        let mut loaded = Vec::new();
        for (number, window) in WINDOWS.into_iter().enumerate() {
            for (page, path) in self.paths.iter().enumerate() {
                let file = self.screenshot(way, number, page);
                let url = place(&format!("{}{path}", self.origin));
                loaded.push((*path, number, browser.open(&url, window, Some(&file))));
            }
        }
        loaded
    }

    fn screenshot(&self, way: &str, window: usize, page: usize) -> PathBuf {
        self.screenshots.join(format!("{way}-{window}-{page}.png"))
    }

    /// Requires that the archived pages load nothing from outside `inside` and miss nothing.
    fn assert_complete(
        &self,
        browser: &mut Browser,
        way: &str,
        inside: &str,
        place: impl Fn(&str) -> String,
    ) {
        for (path, window, loaded) in self.open_all(browser, way, place) {
            let misses = misses(&loaded, inside);
            assert_eq!(misses, [""; 0], "{way} {path} {window}");
        }
    }

    fn assert_same_screenshots(&self, way: &str) {
        for window in 0..WINDOWS.len() {
            for page in 0..self.paths.len() {
                let [live, archived] = ["live", way].map(|way| self.screenshot(way, window, page));
                assert!(
                    fs::read(&live).unwrap() == fs::read(&archived).unwrap(),
                    "{} and {} differ",
                    live.display(),
                    archived.display()
                );
            }
        }
    }

    /// Requires that the archive is complete in all three ways.
    fn assert_archived(&self) {
        let pywb = Pywb::start(&self.collection());
        let mut browser = Browser::start(&Network::Proxy(pywb.url()), &[]);
        self.assert_complete(&mut browser, "proxy", "", str::to_owned);
        self.assert_same_screenshots("proxy");

        let mut browser = Browser::start(&Network::Loopback, &[]);
        let rewritten = format!("{}/", pywb.url());
        self.assert_complete(&mut browser, "rewritten", &rewritten, |url| {
            format!("{rewritten}c/{url}")
        });

        let mirror = self.mirror();
        let inside = format!("file://{}/", mirror.display());
        let mut browser = Browser::start(&Network::Cut, &[FILES_MAY_LOAD_FILES]);
        self.assert_complete(&mut browser, "mirror", &inside, |url| {
            self.file(&mirror, url)
        });
        self.assert_same_screenshots("mirror");
    }

    /// Exports a mirror and returns its folder.
    fn mirror(&self) -> PathBuf {
        let copy = self.folder.path().join("copy");
        let output = aranha()
            .args(["export", "mirror", "--json", "-c"])
            .args([&self.collection(), &copy])
            .output()
            .unwrap();
        assert_status(&output, 0);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        PathBuf::from(report["folder"].as_str().unwrap())
    }

    /// The `file:` URL of a page in a mirror.
    fn file(&self, mirror: &Path, url: &str) -> String {
        let path = url.strip_prefix(&self.origin).unwrap();
        let site = self
            .origin
            .strip_prefix("http://")
            .unwrap()
            .replace(':', "_");
        format!("file://{}/{site}{path}", mirror.display())
    }
}

/// The requests of a page that failed, or that left for a URL that does not begin with `inside`. One string per request.
fn misses(page: &LoadedPage, inside: &str) -> Vec<String> {
    let has_host = |url: &str| !url.starts_with("data:") && !url.starts_with("blob:");
    page.requests
        .iter()
        .filter(|request| {
            request.is_miss() || has_host(&request.url) && !request.url.starts_with(inside)
        })
        .map(|request| {
            let status = request.status.unwrap_or_default();
            let failure = request.failure.as_deref().unwrap_or_default();
            format!("{} {} {status} {failure}", request.kind, request.url)
        })
        .collect()
}

/// The names of the files that were missed, sorted.
fn file_names(misses: &[String]) -> Vec<&str> {
    let mut names: Vec<_> = misses
        .iter()
        .filter_map(|miss| miss.split(' ').nth(1)?.rsplit('/').next())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A page that loads files in many ways, from two hosts.
const ALBUM: [&str; 1] = ["/album/page.html"];
/// Pages of python3-doc, whose style sheets and scripts lay them out differently in the two windows.
const DOCUMENTS: [&str; 4] = [
    "/index.html",
    "/library/json.html",
    "/library/tkinter.messagebox.html",
    "/search.html",
];

#[test]
fn one_page_is_complete_in_a_replay() {
    let flags = ["--scope", "page", "--assets"];
    let album = Visit::live("one-page", |web| &web.page, &ALBUM, &flags);
    album.assert_archived();

    // Without the flag, Chromium refuses these files in a page that is opened from disk: docs/commands.md lists the kinds. It
    // also refuses the worker, which ends the script `classic.js` there.
    let mirror = album.mirror();
    let mut browser = Browser::start(&Network::Cut, &[]);
    let url = album.file(&mirror, &format!("{}{}", album.origin, ALBUM[0]));
    let loaded = browser.open(&url, WINDOWS[0], None);
    assert_eq!(
        file_names(&misses(&loaded, "file://")),
        [
            "app.mjs",
            "draw.mjs",
            "mask.svg",
            "shapes.svg",
            "words.json"
        ]
    );
}

#[test]
fn one_page_of_a_large_site_is_complete_in_a_replay() {
    let flags = ["--scope", "page", "--assets"];
    Visit::live(
        "one-document",
        |web| &web.documents,
        &DOCUMENTS[2..3],
        &flags,
    )
    .assert_archived();
}

#[test]
fn a_small_site_is_complete_in_a_replay() {
    Visit::live("small-site", |web| &web.page, &ALBUM, &["--assets"]).assert_archived();
}

#[test]
fn a_large_site_is_complete_in_a_replay() {
    let flags = ["--assets", "--connections", "4"];
    Visit::live("large-site", |web| &web.documents, &DOCUMENTS, &flags).assert_archived();
}

/// The browser does not reach the live web, and the misses are seen.
#[test]
fn without_assets_the_replay_misses_files() {
    let flags = ["--scope", "page"];
    let album = Visit::live("no-assets", |web| &web.page, &ALBUM, &flags);
    let pywb = Pywb::start(&album.collection());
    let mut browser = Browser::start(&Network::Proxy(pywb.url()), &[]);
    let url = format!("{}{}", album.origin, ALBUM[0]);
    let file = album.screenshot("proxy", 0, 0);
    let loaded = browser.open(&url, WINDOWS[0], Some(&file));
    let misses = misses(&loaded, "");
    for name in [
        "main.css",
        "sans.woff2",
        "plain.svg",
        "classic.js",
        "frame.html",
    ] {
        assert!(file_names(&misses).contains(&name), "{name}: {misses:#?}");
    }
    let live = album.screenshot("live", 0, 0);
    assert!(fs::read(live).unwrap() != fs::read(file).unwrap());
}
