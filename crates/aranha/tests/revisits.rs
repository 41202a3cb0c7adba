//! The second visit, by the real binary, to real servers: nginx and Apache with files whose times are touched. Their
//! logs are the judges of what was asked and transferred; pywb is the judge of what was kept.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod origin;
mod process;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use origin::{Asked, Kind, Origin, Pywb};
use process::Running;
use serde_json::Value;
use support::{aranha, assert_status, assert_valid};

/// Parts of the site: how their pages are sent.
const PARTS: [&str; 3] = ["plain", "zipped", "bare"];
/// Pages in each part.
const PAGES: [&str; 4] = ["list", "one", "two", "three"];
/// A year ago: no date of a file is near the time of a visit, unless the test wants it.
const YEAR: Duration = Duration::from_hours(365 * 24);

fn day(number: u32) -> SystemTime {
    SystemTime::now() - YEAR + Duration::from_hours(24) * number
}

/// A page with these words, which is long enough to be worth packing.
fn page(words: &str, links: &[&str]) -> String {
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

/// The site that all tests begin with: an entry page, and in each part an index with three pages.
fn build(origin: &Origin) -> Vec<String> {
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

/// A collection, and the settings it began with.
struct Crawl {
    folder: PathBuf,
    entry: String,
}

impl Crawl {
    fn new(folder: &Path, origin: &Origin, revisit: &str) -> Self {
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

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = aranha();
        command.arg("crawl");
        if !self.folder.exists() {
            let settings = self.folder.with_file_name("settings.toml");
            command.arg(&self.entry).arg("--config").arg(settings);
        }
        command.arg("-c").arg(&self.folder).args(arguments);
        command
    }

    /// Crawls to the end; what the summary says.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").output().unwrap();
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().expect("a summary");
        serde_json::from_str(last).unwrap()
    }

    #[track_caller]
    fn read(&self, arguments: &[&str]) -> String {
        let mut command = aranha();
        let output = command.args(arguments).arg("-c").arg(&self.folder).output();
        let output = output.unwrap();
        assert_status(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.read(&[arguments, &["--json"]].concat())).unwrap()
    }

    fn history(&self, url: &str) -> Value {
        self.json(&["history", url])
    }

    /// What each visit of the page found.
    fn found(&self, url: &str) -> Vec<String> {
        let history = self.history(url);
        let visits = history["history"].as_array().unwrap();
        visits
            .iter()
            .map(|visit| visit["found"].as_str().unwrap().to_owned())
            .collect()
    }

    /// When the page is visited again, Unix milliseconds.
    #[track_caller]
    fn due(&self, url: &str) -> i64 {
        let why = self.json(&["why", url]);
        let time = why["waiting"].as_str().unwrap_or_default();
        let told = self.history(url)["next"].clone();
        assert_eq!(told, time, "history and why agree: {why}");
        let time: jiff::Timestamp = time.parse().unwrap_or_else(|_| panic!("{why}"));
        time.as_millisecond()
    }

    /// Until nothing is under way, and so many pages wait for their next visit.
    fn wait_until_recorded(&self, pages: usize) {
        let began = Instant::now();
        loop {
            let status = self.json(&["status"]);
            let again = status["pages"]["again"].as_u64().unwrap();
            if again >= pages as u64 && status["pages"]["pending"] == 0 {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{status}");
        }
    }

    #[track_caller]
    fn assert_sound(&self) {
        assert_eq!(self.json(&["check"])["faults"], Value::Array(Vec::new()));
        assert_valid(&self.folder);
    }
}

/// `(unchanged, changed, gone)` of a summary.
fn again(summary: &Value) -> (u64, u64, u64) {
    let tally = &summary["tally"];
    let count = |name: &str| tally[name].as_u64().unwrap();
    (count("unchanged"), count("changed"), count("gone"))
}

fn paths(asked: &[Asked]) -> Vec<String> {
    let mut paths: Vec<_> = asked.iter().map(|asked| asked.path.clone()).collect();
    paths.sort();
    paths
}

/// Every page once and nothing else; no body but for the pages that give nothing to ask again with.
#[track_caller]
fn assert_nothing_transferred(asked: &[Asked], pages: &[String]) {
    assert_eq!(paths(asked), pages);
    for request in asked {
        if request.path.starts_with("/bare/") {
            assert_eq!(request.status, 200, "{request:?}");
        } else {
            assert_eq!((request.status, request.bytes), (304, 0), "{request:?}");
        }
    }
}

fn check_unchanged_site(kind: Kind) {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(kind, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    let first = crawl.run(&[]);
    assert_eq!(again(&first), (0, 0, 0));
    let asked = origin.asked_since(0);
    assert_eq!(asked.len(), pages.len() + 1, "and robots.txt: {asked:?}");
    assert!(asked.iter().all(|asked| asked.status == 200), "{asked:?}");
    // Three times: what a 304 says of a page must do for the next visit, too.
    for round in 1..4 {
        let mark = origin.mark();
        let arguments: &[&str] = if round == 1 {
            &["--again"]
        } else {
            wait_for_the_round(&crawl);
            &[]
        };
        let summary = crawl.run(arguments);
        assert_nothing_transferred(&origin.asked_since(mark), &pages);
        assert_eq!(again(&summary), (pages.len() as u64, 0, 0), "{round}");
    }
    let expected = |path: &str| {
        let same = if path.starts_with("/bare/") {
            "same"
        } else {
            "not modified"
        };
        ["new", same, same, same]
    };
    for path in &pages {
        assert_eq!(crawl.found(&origin.url(path)), expected(path), "{path}");
    }
    crawl.assert_sound();
}

/// Until every page is due again.
fn wait_for_the_round(crawl: &Crawl) {
    let now = SystemTime::now();
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // Rounds of a second begin with the second, but two visits are half a round apart.
    let due = Duration::from_millis(now.as_secs() * 1000 + 1500);
    std::thread::sleep(due.saturating_sub(now));
    let status = crawl.json(&["status"]);
    assert_eq!(status["pages"]["pending"], 0, "{status}");
}

/// `selective` passes pages over, but not those that the user wants.
#[test]
fn the_again_flag_visits_pages_that_the_selective_policy_skips() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"selective\"\nevery = \"7d\"";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    for round in 0..3 {
        let summary = crawl.run(&["--again"]);
        assert_eq!(again(&summary), (pages.len() as u64, 0, 0), "{round}");
    }
}

#[test]
fn nginx_sends_no_body_for_unchanged_pages() {
    check_unchanged_site(Kind::Nginx);
}

#[test]
fn apache_sends_no_body_for_unchanged_pages() {
    check_unchanged_site(Kind::Apache);
}

/// What is done to the site between two crawls.
fn change(origin: &Origin) {
    let index = ["list.html"];
    // Other words; the first has a link to a page that is new.
    let words = page("plain one, rewritten", &["list.html", "new.html"]);
    origin.write("/plain/one.html", &words, day(2));
    origin.write("/plain/new.html", &page("plain new", &index), day(2));
    origin.write(
        "/zipped/one.html",
        &page("zipped one, rewritten", &index),
        day(2),
    );
    origin.write(
        "/bare/one.html",
        &page("bare one, rewritten", &index),
        day(2),
    );
    // The same words in another mark-up.
    for part in ["plain", "bare"] {
        let text = page(&format!("{part} two"), &index).replace("<p>", "<p class=\"new\">");
        origin.write(&format!("/{part}/two.html"), &text, day(2));
    }
    // The same words, other links.
    let links = page("zipped three", &["list.html", "late.html"]);
    origin.write("/zipped/three.html", &links, day(2));
    origin.write("/zipped/late.html", &page("zipped late", &index), day(2));
    // The same bytes, touched.
    origin.write("/zipped/two.html", &page("zipped two", &index), day(2));
    fs::remove_file(origin.place("/plain/three.html")).unwrap();
}

/// What the second visit of each page finds.
fn finding(path: &str) -> &'static str {
    match path {
        "/plain/one.html" | "/zipped/one.html" | "/bare/one.html" => "changed",
        "/plain/two.html" | "/bare/two.html" | "/zipped/three.html" => "markup only",
        "/plain/three.html" => "gone",
        "/zipped/two.html" => "same",
        _ if path.starts_with("/bare/") => "same",
        _ => "not modified",
    }
}

fn check_changed_site(kind: Kind) {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(kind, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    change(&origin);
    wait_for_the_round(&crawl);
    let mark = origin.mark();
    let summary = crawl.run(&[]);
    let asked = origin.asked_since(mark);
    let mut known = pages.clone();
    known.extend(["/plain/new.html".to_owned(), "/zipped/late.html".to_owned()]);
    known.sort();
    assert_eq!(paths(&asked), known);
    for request in &asked {
        let expected = match finding(&request.path) {
            _ if !pages.contains(&request.path) => 200,
            "not modified" => 304,
            "gone" => 404,
            _ => 200,
        };
        assert_eq!(request.status, expected, "{request:?}");
        assert_eq!(request.bytes == 0, expected == 304, "{request:?}");
    }
    let unchanged = pages.len() as u64 - 4;
    assert_eq!(again(&summary), (unchanged, 3, 1), "{summary}");
    wait_for_the_round(&crawl);
    let mark = origin.mark();
    let summary = crawl.run(&["--again"]);
    assert_eq!(again(&summary), (known.len() as u64 - 1, 0, 1));
    for request in origin.asked_since(mark) {
        let expected = match finding(&request.path) {
            "gone" => 404,
            _ if request.path.starts_with("/bare/") => 200,
            _ => 304,
        };
        assert_eq!(request.status, expected, "{request:?}");
    }
    crawl.assert_sound();
    assert_versions(&crawl, &origin, &pages);
}

/// Both versions of every page are told of, read and replayed.
fn assert_versions(crawl: &Crawl, origin: &Origin, pages: &[String]) {
    let pywb = Pywb::start(&crawl.folder);
    for path in pages {
        let url = origin.url(path);
        let found = finding(path);
        let last = match found {
            "gone" => "gone",
            _ if path.starts_with("/bare/") => "same",
            _ => "not modified",
        };
        assert_eq!(crawl.found(&url), ["new", found, last], "{path}");
        let history = crawl.history(&url);
        let times: Vec<_> = (0..3)
            .map(|visit| {
                history["history"][visit]["time"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        let stamps = times.iter().map(|time| stamp(time)).collect::<Vec<_>>();
        let old = crawl.read(&["cat", &url, "--at", &times[0]]);
        let (head, replayed) = pywb.get(&stamps[0], &url);
        assert!(head.contains(" 200 "), "{path}: {head}");
        assert_eq!(replayed, old, "{path}: {head}");
        if found == "gone" {
            continue;
        }
        let now = fs::read_to_string(origin.place(path)).unwrap();
        let is_new = matches!(found, "changed" | "markup only");
        assert_eq!(old != now, is_new, "{path}");
        for visit in [1, 2] {
            assert_eq!(
                crawl.read(&["cat", &url, "--at", &times[visit]]),
                now,
                "{path}"
            );
            let (head, replayed) = pywb.get(&stamps[visit], &url);
            assert_eq!(replayed, now, "{path} at {}: {head}", stamps[visit]);
        }
        if found == "changed" {
            let words = crawl.read(&["diff", &url]);
            assert!(words.contains("{+one, rewritten+}"), "{words}");
        }
    }
}

/// `2026-11-01T10:00:00.000Z` as replay tools write it.
fn stamp(time: &str) -> String {
    let digits = time.chars().filter(char::is_ascii_digit);
    digits.take(14).collect()
}

#[test]
fn nginx_sends_changed_pages_only_and_both_versions_are_replayed() {
    check_changed_site(Kind::Nginx);
}

#[test]
fn apache_sends_changed_pages_only_and_both_versions_are_replayed() {
    check_changed_site(Kind::Apache);
}

/// Every page once, as its history tells: when, with what status, and which content.
fn recorded(crawl: &Crawl, origin: &Origin, pages: &[String]) -> BTreeMap<String, Vec<Value>> {
    let visits = |path: &String| {
        let history = crawl.history(&origin.url(path));
        history["history"].as_array().unwrap().clone()
    };
    pages
        .iter()
        .map(|path| (path.clone(), visits(path)))
        .collect()
}

#[test]
fn kills_during_and_between_rounds_lose_no_history() {
    const KILLS: usize = 8;
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    let mut before = recorded(&crawl, &origin, &pages);
    let version = |number: usize| page(&format!("version {number} of a page"), &["list.html"]);
    for kill in 1..=KILLS {
        for path in ["/plain/one.html", "/zipped/one.html", "/bare/one.html"] {
            origin.write(path, &version(kill), day(kill as u32 + 1));
        }
        let mark = origin.mark();
        let arguments = ["--continuous", "--quiet", "--pause", "10ms"];
        let mut crawling = Running::start(crawl.command(&arguments));
        if kill % 2 == 0 {
            // Between two rounds, as far as that can be seen from here.
            let all = |asked: &[Asked]| (asked.len() >= pages.len()).then_some(());
            origin.wait_until(mark, all);
            crawl.wait_until_recorded(pages.len());
        } else {
            // Within a round, every time somewhere else.
            origin.wait_until(mark, |asked| (asked.len() > kill).then_some(()));
        }
        crawling.0.kill().unwrap();
        crawling.0.wait().unwrap();
        let now = recorded(&crawl, &origin, &pages);
        for (path, visits) in &now {
            assert!(visits.starts_with(&before[path]), "{path}: {visits:?}");
        }
        // Not one of the pages is forgotten.
        let status = crawl.json(&["status"]);
        let count = |name: &str| status["pages"][name].as_u64().unwrap();
        let waiting = count("again") + count("pending") + count("later");
        assert_eq!(waiting, pages.len() as u64, "{status}");
        before = now;
    }
    wait_for_the_round(&crawl);
    crawl.run(&[]);
    crawl.assert_sound();
    for (path, visits) in recorded(&crawl, &origin, &pages) {
        assert!(visits.starts_with(&before[&path]), "{path}: {visits:?}");
        let served = origin.since(0);
        let served = served.iter().filter(|asked| asked.path == path).count();
        assert!(
            visits.len() <= served,
            "{path}: {} of {served}",
            visits.len()
        );
        let url = origin.url(&path);
        let mut seen = 0;
        for visit in visits.iter().filter(|visit| visit["status"] == 200).skip(1) {
            let kept = crawl.read(&["cat", &url, "--at", visit["time"].as_str().unwrap()]);
            let number = (0..=KILLS).find(|number| version(*number) == kept);
            if path.ends_with("/one.html") {
                assert!(number >= Some(seen), "{path}: {kept}");
                seen = number.unwrap();
            } else {
                assert_eq!(kept, fs::read_to_string(origin.place(&path)).unwrap());
            }
        }
        assert!(seen == KILLS || !path.ends_with("/one.html"), "{path}");
    }
}

#[test]
fn seed_add_now_visits_the_named_pages_only() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let crawl = Crawl::new(
        temporary.path(),
        &origin,
        "policy = \"fixed\"\nevery = \"1d\"",
    );
    let mut crawling = Running::start(crawl.command(&["--continuous", "--quiet"]));
    let all = |asked: &[Asked]| (asked.len() > pages.len()).then_some(());
    origin.wait_until(0, all);
    crawl.wait_until_recorded(pages.len());
    let (changed, unchanged, unknown) = ("/plain/two.html", "/bare/two.html", "/plain/new.html");
    origin.write(
        changed,
        &page("plain two, rewritten", &["list.html"]),
        day(2),
    );
    origin.write(unknown, &page("plain new", &["list.html"]), day(2));
    let mark = origin.mark();
    for path in [changed, unchanged, unknown] {
        crawl.read(&["seed", "add", "--now", &origin.url(path)]);
        let asked = origin.wait_for(mark, |asked| asked.path == path);
        assert_eq!(asked.status, 200);
    }
    crawl.wait_until_recorded(pages.len() + 1);
    assert_eq!(
        paths(&origin.asked_since(mark)),
        [unchanged, unknown, changed]
    );
    assert_eq!(crawl.found(&origin.url(changed)), ["new", "changed"]);
    assert_eq!(crawl.found(&origin.url(unchanged)), ["new", "same"]);
    assert_eq!(crawl.found(&origin.url(unknown)), ["new"]);
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    crawl.assert_sound();
}

/// Says of these pages that they changed just now; `number`: how often it was written.
fn sitemap(origin: &Origin, number: u32, changed: &[&str]) {
    let now = jiff::Timestamp::now();
    let entry = |path: &&str| {
        let url = origin.url(path);
        format!("<url><loc>{url}</loc><lastmod>{now:.3}</lastmod></url>\n")
    };
    let entries = changed.iter().map(entry).collect::<Vec<_>>().concat();
    let text = format!(
        "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{entries}</urlset>\n"
    );
    origin.write("/sitemap.xml", &text, day(number));
}

/// By what share of its waiting time the first page's visit is brought forward by what the sitemap says of all of them.
/// It is asked for, and nothing else.
fn brought_forward(crawl: &Crawl, origin: &Origin, number: u32, changed: &[&str]) -> f64 {
    let first = origin.url(changed[0]);
    let before = crawl.due(&first);
    sitemap(origin, number, changed);
    let now = jiff::Timestamp::now().as_millisecond();
    let mark = origin.mark();
    crawl.read(&["seed", "add", "--now", &origin.url("/sitemap.xml")]);
    crawl.run(&[]);
    assert_eq!(paths(&origin.asked_since(mark)), ["/sitemap.xml"]);
    (before - crawl.due(&first)) as f64 / (before - now) as f64
}

#[test]
fn the_weight_of_a_sitemap_follows_its_accuracy() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let robots = format!("Sitemap: {}\n", origin.url("/sitemap.xml"));
    origin.write("/robots.txt", &robots, day(1));
    sitemap(&origin, 1, &[]);
    let crawl = Crawl::new(temporary.path(), &origin, "policy = \"poisson\"");
    crawl.run(&[]);
    let (one, two) = ("/plain/one.html", "/plain/two.html");
    let untold = crawl.due(&origin.url(two));
    // At first half is believed.
    let mut shares = vec![brought_forward(&crawl, &origin, 2, &[one])];
    assert!((0.4..0.7).contains(&shares[0]), "{shares:?}");
    assert_eq!(
        crawl.due(&origin.url(two)),
        untold,
        "nothing was said of it"
    );
    // It says so again, before anybody has looked: that is no more than it said.
    assert!(brought_forward(&crawl, &origin, 3, &[one]) <= 0.0);
    // It tells the truth, and is believed more, at last at once.
    for number in 4..8 {
        let words = format!("plain one, version {number}");
        origin.write(one, &page(&words, &["list.html"]), day(number));
        crawl.run(&["--again"]);
        shares.push(brought_forward(&crawl, &origin, number, &[one]));
    }
    assert!(shares.is_sorted() && shares[4] > 0.95, "{shares:?}");
    // It lies, and is believed less and less, at last not at all.
    let lies: Vec<_> = pages.iter().map(String::as_str).collect();
    let mut shares = Vec::new();
    for number in 10..15 {
        crawl.run(&["--again"]);
        shares.push(brought_forward(&crawl, &origin, number, &lies));
    }
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    assert!(shares[0] > 0.5 && shares[4] <= 0.0, "{shares:?}");
}

#[test]
fn unchanged_pages_are_visited_less_and_less_often() {
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    build(&origin);
    let crawl = Crawl::new(
        temporary.path(),
        &origin,
        "policy = \"frequency\"\nspread = 0",
    );
    let (restless, still) = ("/plain/one.html", "/plain/two.html");
    let mut crawling = Running::start(crawl.command(&["--every", "1s", "--quiet"]));
    let visits = |asked: &[Asked], path| {
        let visits = asked.iter().filter(|asked| asked.path == path);
        visits.map(|asked| asked.at).collect::<Vec<_>>()
    };
    for number in 1..=9 {
        origin.wait_until(0, |asked| {
            (visits(asked, restless).len() >= number).then_some(())
        });
        let words = format!("version {number}");
        origin.write(
            restless,
            &page(&words, &["list.html"]),
            day(number as u32 + 1),
        );
    }
    let began = Instant::now();
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(5), "it stops at once");
    let asked = origin.asked_since(0);
    let gaps = |path| {
        let visits = visits(&asked, path);
        let gap = |pair: &[i64]| pair[1] / 1000 - pair[0] / 1000;
        visits.windows(2).map(gap).collect::<Vec<_>>()
    };
    let (often, rarely) = (gaps(restless), gaps(still));
    assert!(
        often.iter().filter(|gap| **gap == 1).count() >= 6,
        "{often:?}"
    );
    assert!((2..6).contains(&rarely.len()), "{rarely:?}");
    assert!(
        rarely.is_sorted() && rarely.last() >= Some(&2),
        "{rarely:?}"
    );
    let found = crawl.found(&origin.url(restless));
    assert!(
        found[1..].iter().all(|found| found == "changed"),
        "{found:?}"
    );
    // The same command goes on.
    let mark = origin.mark();
    let mut crawling = Running::start(crawl.command(&["--every", "1s", "--quiet"]));
    let asked = origin.wait_for(mark, |asked| asked.path == restless);
    assert_eq!(asked.status, 200);
    crawling.signal("INT");
    assert_eq!(crawling.0.wait().unwrap().code(), Some(130));
    crawl.assert_sound();
}
