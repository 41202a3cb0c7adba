//! Revisits of pages on real servers: nginx and Apache with files whose modification times the tests set.
//!
//! The access logs of the servers show what was requested and sent; pywb replays what was stored.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod conditional_requests;
mod kills;
#[path = "../origin/mod.rs"]
mod origin;
#[path = "../process/mod.rs"]
mod process;
mod schedule;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use origin::{Origin, Request};
use serde_json::Value;
use support::{aranha, assert_status, assert_valid};

/// Folders of the site. They are served without compression, with compression, and without validators.
pub(crate) const PARTS: [&str; 3] = ["plain", "zipped", "bare"];

/// Names of the pages in each folder.
pub(crate) const PAGES: [&str; 4] = ["list", "one", "two", "three"];

/// Modification times begin this long before now, so that none of them is close to the time of a visit.
pub(crate) const YEAR: Duration = Duration::from_hours(365 * 24);

pub(crate) fn day(number: u32) -> SystemTime {
    SystemTime::now() - YEAR + Duration::from_hours(24) * number
}

/// A page with this text, long enough for the server to compress it.
pub(crate) fn page(words: &str, links: &[&str]) -> String {
    let links = links
        .iter()
        .map(|link| format!("<li><a href=\"{link}\"></a>\n"));
    let links = links.collect::<Vec<_>>().concat();
    let more = "<p>The spider sits in the middle of its web, and waits for what will come.</p>\n";
    format!(
        "<!DOCTYPE html>\n<title>{words}</title>\n<p>{words}</p>\n<ul>\n{links}</ul>\n{}",
        more.repeat(20)
    )
}

/// Writes the site of all tests: an entry page, and in each folder a list with three pages. Returns the paths, sorted.
pub(crate) fn build(origin: &Origin) -> Vec<String> {
    let entries = PARTS.map(|part| format!("/{part}/list.html"));
    let links: Vec<_> = entries.iter().map(String::as_str).collect();
    origin.write("/entry.html", &page("entry", &links), day(1));
    origin.write("/robots.txt", "User-agent: *\nDisallow:\n", day(1));
    let mut paths = vec!["/entry.html".to_owned()];
    for part in PARTS {
        for name in PAGES {
            let path = format!("/{part}/{name}.html");
            let links: &[&str] = match name {
                "list" => &["one.html", "two.html", "three.html"],
                _ => &["list.html"],
            };
            origin.write(&path, &page(&format!("{part} {name}"), links), day(1));
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// A collection and its first seed.
pub(crate) struct Crawl {
    pub(crate) folder: PathBuf,
    pub(crate) entry: String,
}

impl Crawl {
    pub(crate) fn new(folder: &Path, origin: &Origin, revisit: &str) -> Self {
        let settings = format!(
            "[crawl]\ncheck_in_interval = \"100ms\"\npause = \"0s\"\npause_factor = 0\n\
             [fetch]\nallow_private = true\n[revisit]\n{revisit}\n"
        );
        fs::write(folder.join("settings.toml"), settings).unwrap();
        Self {
            folder: folder.join("collection"),
            entry: origin.url("/entry.html"),
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = aranha();
        command.arg("crawl");
        if !self.folder.exists() {
            let settings = self.folder.with_file_name("settings.toml");
            command.arg(&self.entry).arg("--config").arg(settings);
        }
        command.arg("-c").arg(&self.folder).args(arguments);
        command
    }

    /// Crawls to the end and returns the summary.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").output().unwrap();
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().expect("the crawl prints a summary");
        serde_json::from_str(last).unwrap()
    }

    #[track_caller]
    pub(crate) fn read(&self, arguments: &[&str]) -> String {
        let mut command = aranha();
        let output = command.args(arguments).arg("-c").arg(&self.folder).output();
        let output = output.unwrap();
        assert_status(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.read(&[arguments, &["--json"]].concat())).unwrap()
    }

    pub(crate) fn history(&self, url: &str) -> Value {
        self.json(&["history", url])
    }

    /// The finding of each visit of a page.
    pub(crate) fn found(&self, url: &str) -> Vec<String> {
        let history = self.history(url);
        let visits = history["history"].as_array().unwrap();
        visits
            .iter()
            .map(|visit| visit["found"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The time of the next visit of a page, Unix milliseconds.
    #[track_caller]
    pub(crate) fn due(&self, url: &str) -> i64 {
        let why = self.json(&["why", url]);
        let time = why["waiting"].as_str().unwrap_or_default();
        let next = self.history(url)["next"].clone();
        assert_eq!(next, time, "history and why differ: {why}");
        let time: jiff::Timestamp = time.parse().unwrap_or_else(|_| panic!("{why}"));
        time.as_millisecond()
    }

    /// Waits until no page is queued and this many pages are scheduled for a revisit.
    pub(crate) fn wait_until_recorded(&self, pages: usize) {
        let start = Instant::now();
        loop {
            let status = self.json(&["status"]);
            let again = status["pages"]["revisit"].as_u64().unwrap();
            if again >= pages as u64 && status["pages"]["queued"] == 0 {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{status}");
        }
    }

    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.json(&["check"])["faults"], Value::Array(Vec::new()));
        assert_valid(&self.folder);
    }
}

pub(crate) fn paths(requests: &[Request]) -> Vec<String> {
    let mut paths: Vec<_> = requests
        .iter()
        .map(|request| request.path.clone())
        .collect();
    paths.sort();
    paths
}

/// Waits until every page is due.
pub(crate) fn wait_for_the_round(crawl: &Crawl) {
    let now = SystemTime::now();
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // A round of one second begins at each full second. Two visits of a page are at least half a round apart.
    let due = Duration::from_millis(now.as_secs() * 1000 + 1500);
    std::thread::sleep(due.saturating_sub(now));
    let status = crawl.json(&["status"]);
    assert_eq!(status["pages"]["queued"], 0, "{status}");
}
