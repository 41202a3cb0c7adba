//! `history`, `diff` and `--at`: pages with several versions.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scripted_site;
mod support;
mod versions;

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::{aranha, assert_status};
use versions::Fetch;

const PAGE: &str = "http://example.org/page";

/// Writes a collection with five fetches of a page. Their findings: new content, not modified, other markup, a server
/// error, other text.
fn collection(folder: &Path) {
    let first = "<p>The <b>spider</b> sits on the wall. <a href=/one>one</a>";
    versions::write(
        folder,
        &[
            Fetch::html(PAGE, "2026-11-01 10:00:00.250", first),
            Fetch::status(PAGE, "2026-11-02 10:00", 304),
            Fetch::html(PAGE, "2026-11-03 10:00", &first.replace("<b>", "<b id=x>")),
            Fetch::status(PAGE, "2026-11-04 10:00", 500),
            Fetch::html(
                PAGE,
                "2026-11-05 12:30",
                "<p>The spider sits in the web. <a href=/two>two</a>",
            ),
            Fetch::html("http://example.org/other", "2026-11-05 12:30", "other"),
        ],
    );
}

fn run(arguments: &[&str], collection: &Path) -> Output {
    let output = aranha()
        .args(arguments)
        .arg("-c")
        .arg(collection)
        .env_remove("NO_COLOR")
        .output();
    output.unwrap()
}

#[track_caller]
fn read(arguments: &[&str], collection: &Path) -> String {
    let output = run(arguments, collection);
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(arguments: &[&str], collection: &Path, status: i32) -> String {
    let output = run(arguments, collection);
    assert_status(&output, status);
    assert_eq!(output.stdout, b"");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn history_lists_the_finding_of_every_visit() {
    let folder = tempfile::tempdir().unwrap();
    collection(folder.path());
    let history = read(&["history", PAGE], folder.path());
    let mut digests = Vec::new();
    let lines: Vec<_> = history
        .lines()
        .map(|line| {
            let mut words: Vec<_> = line.split_whitespace().collect();
            if words.len() > 4 && words[4].len() == 8 {
                digests.push(words.remove(4));
            }
            words.join(" ")
        })
        .collect();
    assert_eq!(
        lines,
        [
            "2026-11-01 10:00:00 200 59 new",
            "2026-11-02 10:00:00 304 59 not modified 23h59m",
            "2026-11-03 10:00:00 200 64 markup only 1d23h",
            "2026-11-04 10:00:00 500 0 failed 2d23h",
            "2026-11-05 12:30:00 200 51 changed 4d2h",
            "5 fetches, 1 change; first 2026-11-01 10:00:00, last 2026-11-05 12:30:00 UTC; no next visit planned",
        ]
    );
    assert_eq!(digests.len(), 5);
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);

    let json: Value =
        serde_json::from_str(&read(&["history", "--json", PAGE], folder.path())).unwrap();
    assert_eq!(
        (&json["visits"], &json["changes"]),
        (&Value::from(5), &Value::from(1))
    );
    assert_eq!(json["last_change"], "2026-11-05T12:30:00.000Z");
    assert_eq!(json["history"][2]["found"], "markup only");
    assert_eq!(json["history"][0]["milliseconds_since_change"], Value::Null);
    assert_eq!(
        json["history"][1]["milliseconds_since_change"],
        86_400_000 - 250
    );

    let unknown = refused(&["history", "http://example.org/never"], folder.path(), 1);
    assert!(
        unknown.contains("has not been fetched\nhint: "),
        "{unknown}"
    );
}

#[test]
fn a_time_selects_the_version_of_a_page() {
    let folder = tempfile::tempdir().unwrap();
    collection(folder.path());
    let text = |at: &str| read(&["text", PAGE, "--at", at], folder.path());
    let (wall, web) = (
        "The spider sits on the wall. one\n",
        "The spider sits in the web. two\n",
    );
    assert_eq!(text("2026-11-01"), wall);
    // A time without milliseconds includes the whole second. The page was fetched at 10:00:00.250.
    assert_eq!(text("2026-11-01 10:00:00"), wall);
    assert_eq!(text("2026-11-01T13:00:00+03:00"), wall);
    assert_eq!(text("2026-11-02"), wall);
    assert_eq!(text("2026-11-05"), web);
    assert_eq!(
        text("2026-11-05 12:29"),
        wall,
        "the last version before the error"
    );
    assert_eq!(read(&["text", PAGE], folder.path()), web);

    let cat = |at: &str| read(&["cat", PAGE, "--at", at], folder.path());
    assert!(
        cat("2026-11-02").contains("<b>spider"),
        "a 304 has the bytes of the earlier fetch"
    );
    assert!(cat("2026-11-03").contains("<b id=x>spider"));
    let head = read(
        &["cat", "--head", PAGE, "--at", "2026-11-02"],
        folder.path(),
    );
    assert!(head.starts_with("HTTP/1.1 200 X\r\n"), "{head}");
    let links = |at: &str| read(&["links", PAGE, "--at", at], folder.path());
    assert_eq!(links("2026-11-03"), "anchor\thttp://example.org/one\n");
    assert_eq!(links("2026-11-06"), "anchor\thttp://example.org/two\n");

    let early = refused(&["cat", PAGE, "--at", "2026-10-31"], folder.path(), 1);
    assert_eq!(
        early,
        format!(
            "error: there is no version of {PAGE} at 2026-10-31 23:59:59 UTC; the first version is from 2026-11-01 10:00:00 UTC\n\
             hint: `aranha history {PAGE} -c {}` lists all versions\n",
            folder.path().display()
        )
    );
    let wrong = refused(&["cat", PAGE, "--at", "soon"], folder.path(), 2);
    assert!(wrong.contains("write a day (2026-11-01)"), "{wrong}");
}

/// The second fetch is stored as a revisit record, the third is a 304. The content of both is in the first record.
#[test]
fn a_repeated_payload_is_read_from_its_first_record() {
    let folder = tempfile::tempdir().unwrap();
    let body = format!("<p>{}", "the same words again and again. ".repeat(40));
    versions::write(
        folder.path(),
        &[
            Fetch::html(PAGE, "2026-11-01 10:00", &body),
            Fetch::html(PAGE, "2026-11-02 10:00", &body),
            Fetch::status(PAGE, "2026-11-03 10:00", 304),
        ],
    );
    let json: Value =
        serde_json::from_str(&read(&["history", "--json", PAGE], folder.path())).unwrap();
    assert_eq!(json["history"][1]["found"], "same");
    assert_eq!(json["history"][1]["duplicate"], true, "a revisit record");
    for at in ["2026-11-01", "2026-11-02", "2026-11-03"] {
        assert_eq!(read(&["cat", PAGE, "--at", at], folder.path()), body);
    }
}

#[test]
fn diff_shows_added_and_removed_words() {
    let folder = tempfile::tempdir().unwrap();
    collection(folder.path());
    let expected = "--- 2026-11-03 10:00:00 UTC\n\
        +++ 2026-11-05 12:30:00 UTC\n\
        The spider sits [-on-]{+in+} the [-wall. one-]{+web. two+}\n\
        3 words removed, 3 words added\n";
    assert_eq!(read(&["diff", PAGE], folder.path()), expected);
    let by_date = ["diff", PAGE, "--from", "2026-11-03", "--to", "2026-11-05"];
    assert_eq!(read(&by_date, folder.path()), expected);
    let json: Value =
        serde_json::from_str(&read(&["diff", "--json", PAGE], folder.path())).unwrap();
    assert_eq!(
        (&json["removed"], &json["added"]),
        (&Value::from(3), &Value::from(3))
    );
    assert_eq!(json["from"], "2026-11-03T10:00:00.000Z");
    assert_eq!(json["changes"][0]["removed"], "on … wall. one");
    assert_eq!(json["changes"][0]["pieces"][0]["kept"], "The spider sits");

    // Changes of the markup are not shown.
    let output = run(&["diff", PAGE, "--to", "2026-11-03"], folder.path());
    assert_status(&output, 0);
    assert_eq!(output.stdout, b"");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "The text of {PAGE} is the same at 2026-11-01 10:00:00 and 2026-11-03 10:00:00 UTC.\n"
        )
    );
    let early = refused(&["diff", PAGE, "--from", "2026-10-01"], folder.path(), 1);
    assert!(
        early.contains("the first version is from 2026-11-01"),
        "{early}"
    );
    let only = refused(&["diff", PAGE, "--to", "2026-11-01"], folder.path(), 5);
    let expected = format!("error: {PAGE} has only one version, of 2026-11-01 10:00:00 UTC\n");
    assert!(only.starts_with(&expected), "{only}");
    let turned = ["diff", PAGE, "--from", "2026-11-02", "--to", "2026-11-01"];
    assert!(refused(&turned, folder.path(), 2).contains("--from is later"));
}

/// Output to a file has no colours, and control characters of the page are escaped.
#[test]
fn diff_prints_no_colours_and_no_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    versions::write(
        folder.path(),
        &[
            Fetch::html(PAGE, "2026-11-01 10:00", "<p>calm"),
            Fetch::html(PAGE, "2026-11-02 10:00", "<p>calm \u{202e}evil"),
            Fetch::of(
                "http://example.org/i",
                "2026-11-01 10:00",
                "image/png",
                b"\x89PNG\r\n\x1a\n1",
            ),
            Fetch::of(
                "http://example.org/i",
                "2026-11-02 10:00",
                "image/png",
                b"\x89PNG\r\n\x1a\n2",
            ),
        ],
    );
    let diff = read(&["diff", PAGE], folder.path());
    assert!(diff.contains("calm {+\\u{202e}evil+}"), "{diff}");
    let image = refused(&["diff", "http://example.org/i"], folder.path(), 5);
    assert!(image.contains("no text to compare (image/png)"), "{image}");
}

/// Three crawls: the page is new, not modified, then changed.
#[test]
fn history_of_a_page_after_three_crawls() {
    let site = scripted_site::ScriptedSite::start(|path, _, before| match (path, before) {
        ("/robots.txt", _) => String::new(),
        ("/", 1) => "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nConnection: close\r\n\r\n".into(),
        ("/", _) => {
            let place = if before == 0 {
                "on the wall"
            } else {
                "in the web"
            };
            let body = format!("<p>The spider sits {place}.");
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"{before}\"\r\nConnection: close\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            )
        }
        _ => scripted_site::status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("c");
    let home = site.url("/");
    scripted_site::run(&mut scripted_site::crawl(&store, &home));
    scripted_site::run(scripted_site::crawl(&store, &home).arg("--again"));
    scripted_site::run(scripted_site::crawl(&store, &home).arg("--again"));
    let json: Value = serde_json::from_str(&read(&["history", "--json", &home], &store)).unwrap();
    let found: Vec<_> = json["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|visit| &visit["found"])
        .collect();
    assert_eq!(found, ["new", "not modified", "changed"]);
    let second = json["history"][1]["time"].as_str().unwrap();
    assert_eq!(
        read(&["text", &home, "--at", second], &store),
        "The spider sits on the wall.\n"
    );
    assert_eq!(
        read(&["text", &home], &store),
        "The spider sits in the web.\n"
    );
    let diff = read(&["diff", &home], &store);
    assert!(
        diff.contains("The spider sits [-on-]{+in+} the [-wall.-]{+web.+}"),
        "{diff}"
    );
    assert!(read(&["history", &home], &store).contains("; next visit due 2"));
}
