//! Tests of the commands that read a collection: compares their output with what the server sent.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scripted_site;
mod support;

use std::path::Path;
use std::process::Output;

use scripted_site::{ScriptedSite, crawl, page, run};
use serde_json::Value;
use support::{aranha, assert_status};

const HOME: &str = "<html lang=pt><title>Casa\u{1b}[31m</title><meta name=description content=lar>\
    <p>Uma <b>aranha</b> na&nbsp;parede.<script>nada()</script>\
    <a href=/fundo#x>fundo</a> <a href='/nao' rel=nofollow>nao</a> <img src=/pic.png> <a href=mailto:a@b>m</a>";

/// A small site with one page that robots.txt disallows.
fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => {
            let rules = "User-agent: *\nDisallow: /proibido\n";
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{rules}",
                rules.len()
            )
        }
        "/" => page(HOME),
        "/fundo" => page("<a href=/proibido>p</a> fim"),
        _ => scripted_site::status("404 Not Found"),
    })
}

fn output(arguments: &[&str], collection: &Path) -> Output {
    let mut command = aranha();
    command.args(arguments).arg("-c").arg(collection);
    command.output().unwrap()
}

fn read(arguments: &[&str], collection: &Path) -> String {
    let output = output(arguments, collection);
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn reading_commands_print_what_the_server_sent() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let home = site.url("/");

    assert_eq!(read(&["cat", &home], &collection), HOME);
    assert_eq!(read(&["cat", "--raw", &home], &collection), HOME);
    assert!(
        read(&["cat", "--head", &home], &collection)
            .starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    );

    let text = read(&["text", &home], &collection);
    assert!(
        text.contains("Uma aranha na") && !text.contains("nada"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&read(&["text", "--json", &home], &collection)).unwrap();
    assert_eq!(
        (json["language"].as_str(), json["description"].as_str()),
        (Some("pt"), Some("lar"))
    );

    let links = read(&["links", &home], &collection);
    assert_eq!(
        links.lines().collect::<Vec<_>>(),
        [
            format!("anchor\t{}", site.url("/fundo")),
            format!("anchor\t{}", site.url("/nao")),
            "-\tmailto:a@b\t(the scheme is `mailto`, not http or https)".to_owned(),
        ]
    );
    assert!(
        read(&["links", "--assets", &home], &collection)
            .contains(&format!("asset\t{}", site.url("/pic.png")))
    );

    let pages = read(&["pages"], &collection);
    let mut rows: Vec<_> = pages
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .collect();
    rows.sort_by_key(|row| row[4].to_owned());
    let listed: Vec<_> = rows.iter().map(|row| (row[0], row[4].to_owned())).collect();
    assert_eq!(
        listed,
        [
            ("200", site.url("/")),
            ("200", site.url("/fundo")),
            ("robots.txt refused", site.url("/proibido")),
        ]
    );
    assert_eq!(
        read(&["pages", "--status", "200"], &collection)
            .lines()
            .count(),
        2
    );
    let unknown = output(&["pages", "--site", "example.org"], &collection);
    assert_status(&unknown, 1);

    let status: Value = serde_json::from_str(&read(&["status", "--json"], &collection)).unwrap();
    assert_eq!(status["pages"]["done"], 3);
    assert_eq!(status["outcomes"]["200"], 2);
    assert_eq!(status["pages"]["queued"], 0);
    assert_eq!(
        status["next_due"], status["next_revisit"],
        "only revisits are due"
    );
    let check: Value = serde_json::from_str(&read(&["check", "--json"], &collection)).unwrap();
    assert_eq!(check["faults"], Value::Array(Vec::new()));
    assert_eq!(check["pages"], 2);
}

#[test]
fn why_names_the_rule_of_every_refusal() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let why = |url: &str| read(&["why", url], &collection);

    let refused = why(&site.url("/proibido"));
    assert!(
        refused.contains("refused: line 2: Disallow: /proibido"),
        "{refused}"
    );
    assert!(refused.contains("robots.txt refused"), "{refused}");
    let outside = why("http://example.org/");
    assert!(outside.contains("outside: "), "{outside}");
    assert!(outside.contains("is unknown"), "{outside}");
    let done = why(&site.url("/fundo"));
    assert!(done.contains("200  text/html"), "{done}");
    assert!(
        done.contains(&format!(
            "found on    {} (a link, link depth 1)",
            site.url("/")
        )),
        "{done}"
    );
    let unknown = why(&site.url("/nao"));
    assert!(
        unknown.contains(
            "unknown: the crawl found no link to this URL that it follows; it does not follow links on pages marked nofollow"
        ),
        "{unknown}"
    );
    let json: Value =
        serde_json::from_str(&read(&["why", "--json", &site.url("/")], &collection)).unwrap();
    assert_eq!(
        (&json["seed"], &json["known"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    assert_eq!(json["history"][0]["status"], 200);
}

#[test]
fn text_of_a_page_without_text_says_so() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => "HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\nConnection: close\r\n\r\nGIF89a"
            .to_owned(),
        "/moved" => scripted_site::status("301 Moved Permanently\r\nLocation: /"),
        _ => scripted_site::status("204 No Content"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let (image, moved, empty) = (site.url("/"), site.url("/moved"), site.url("/empty"));
    run(crawl(&collection, &image).args([&moved, &empty]));
    for (url, expected) in [
        (&image, "has no text: it is image/gif".to_owned()),
        (&moved, format!("has no text: it redirects to {image}")),
        (&empty, "has no text: its body is empty".to_owned()),
    ] {
        let output = output(&["text", url], &collection);
        assert_status(&output, 5);
        assert_eq!(output.stdout, b"");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            text.starts_with(&format!("error: {url} {expected}\nhint: ")),
            "{text}"
        );
    }
    let json = output(&["text", "--json", &image], &collection);
    assert_status(&json, 5);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["text"], "");
}
