//! The language of pages: found in the text, whatever the page declares and wherever its host is (T6, U12).

use std::path::Path;

use serde_json::Value;

use crate::dns::{DnsAnswer, DnsServer};
use crate::scripted_site::{ScriptedSite, crawl, run};
use crate::support::{aranha, archive_text, assert_status, assert_valid, pages};

const PORTUGUESE: &str = "<html lang=en><title>Direitos</title><p>Todos os seres humanos nascem livres e iguais em dignidade \
    e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.\
    <a href=/en>English</a> <a href=/short>x</a>";
const ENGLISH: &str = "<p>All human beings are born free and equal in dignity and rights. They are endowed with reason and \
    conscience and should act towards one another in a spirit of brotherhood.";

/// A Portuguese home page, an English page, and a page with little text. Later requests for the home page get a 304
/// response.
fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, before| {
        let body = match path {
            "/robots.txt" => return String::new(),
            "/" if before > 0 => {
                return "HTTP/1.1 304 Not Modified\r\nConnection: close\r\nETag: \"1\"\r\n\r\n"
                    .to_owned();
            }
            "/" => PORTUGUESE,
            "/en" => ENGLISH,
            _ => "<p>ok",
        };
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: \"1\"\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    })
}

/// The output of a command for this collection, which must succeed.
fn output(collection: &Path, arguments: &[&str]) -> String {
    let mut command = aranha();
    let output = command.args(arguments).arg("-c").arg(collection).output();
    let output = output.unwrap();
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

/// The index entries, as (path and query, languages).
fn indexed(collection: &Path) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(collection.join("indexes")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "cdxj") {
            continue;
        }
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let entry: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
            let path = entry["url"]
                .as_str()
                .unwrap()
                .splitn(4, '/')
                .nth(3)
                .unwrap();
            found.push((format!("/{path}"), entry["languages"].clone()));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[test]
fn a_portuguese_page_on_an_org_host_is_portuguese() {
    let site = site();
    let dns = DnsServer::start(|_| DnsAnswer::Loopback(&[1]));
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path();
    let url = |path: &str| format!("http://exemplo.org:{}{path}", site.port);
    let identify = ["--set", "page.identify_language=true"];
    run(dns.crawl(collection, &url("/")).args(identify));

    let languages = || {
        let pages = pages(collection);
        ["/", "/en", "/short"].map(|path| pages[&url(path)]["language_found"].clone())
    };
    assert_eq!(languages(), ["pt".into(), "en".into(), Value::Null]);
    let confidence = &pages(collection)[&url("/")]["language_confidence"];
    assert!(confidence.as_u64().unwrap() > 90, "{confidence}");
    let selected = output(collection, &["pages", "--language", "gl,PT"]);
    assert!(selected.ends_with(&format!("{}\n", url("/"))), "{selected}");
    assert_eq!(selected.lines().count(), 1, "{selected}");
    let why = output(collection, &["why", &url("/")]);
    assert!(why.contains("in language pt ("), "{why}");
    let text = output(collection, &["text", "--json", &url("/")]);
    let text: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&text["language"], &text["language_found"]),
        (&"en".into(), &"pt".into())
    );

    let archive = archive_text(collection);
    let header = "WARC-Identified-Content-Language: ";
    let values: Vec<_> = archive
        .split(header)
        .skip(1)
        .map(|rest| &rest[..3])
        .collect();
    assert_eq!(values, ["por", "eng"]);
    let indexed = indexed(collection);
    let expected = [
        ("/", "por".into()),
        ("/en", "eng".into()),
        ("/robots.txt", Value::Null),
    ];
    for (path, language) in expected {
        assert!(
            indexed.contains(&(path.to_owned(), language)),
            "{path} {indexed:?}"
        );
    }
    assert_valid(collection);

    // The text of a 304 response is that of the stored version, and so is its language.
    run(dns.crawl(collection, &url("/")).arg("--again"));
    let home = &pages(collection)[&url("/")];
    assert_eq!(home["status"], 304, "{home}");
    assert_eq!(languages(), ["pt".into(), "en".into(), Value::Null]);
}

#[test]
fn only_pages_in_a_language_are_kept() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--keep", "language:gl,pt"]));
    let pages = pages(&collection);
    let kept = ["/", "/en", "/short"].map(|path| pages[&site.url(path)]["kept"].clone());
    assert_eq!(kept, [true, false, false].map(Value::from));
}

#[test]
fn a_language_filter_needs_identification() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&folder.path().join("c"), "http://127.0.0.1:1/");
    let output = command
        .args([
            "--keep",
            "language:pt",
            "--set",
            "page.identify_language=false",
        ])
        .output()
        .unwrap();
    assert_status(&output, 2);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("crawl.keep") && error.contains("page.identify_language"),
        "{error}"
    );
}
