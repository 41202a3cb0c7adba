//! Bodies that are larger than the limits of the crawl.

use crate::scripted_site::{ScriptedSite, crawl, links, run};
use crate::settings;
use crate::support::{aranha, assert_status};

/// Everything that a command prints. It must succeed.
fn output(command: &mut std::process::Command) -> String {
    let output = command.output().unwrap();
    assert_status(&output, 0);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// The response to a request for a file of this many bytes that cannot be compressed well.
fn file(bytes: usize) -> String {
    let mut body = String::with_capacity(bytes);
    let mut state: u64 = 7;
    while body.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        body.push(char::from(b' ' + (state >> 33) as u8 % 90));
    }
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\
         Content-Length: {bytes}\r\n\r\n{body}"
    )
}

/// A body beyond `fetch.max_body` is stored in part. Everything that shows the page says so.
#[test]
fn a_truncated_page_is_marked_in_pages_why_and_the_summary() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/large", "/small"]),
        "/large" => file(200_000),
        _ => file(1000),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let config = settings(folder.path(), "[fetch]\nmax_body = \"100kB\"\n");
    let mut command = aranha();
    command
        .args(["crawl", &site.url("/"), "--allow-private", "--pause", "0"])
        .arg("--config")
        .arg(&config)
        .arg("-c")
        .arg(&collection);
    let summary = output(&mut command);
    assert!(
        summary.contains("truncated") && summary.contains("1 page stored in part"),
        "{summary}"
    );
    let pages = output(aranha().args(["pages", "-c"]).arg(&collection));
    for line in pages.lines() {
        assert_eq!(
            line.ends_with("\ttruncated"),
            line.contains("/large"),
            "{line}"
        );
    }
    let why = |path: &str| {
        output(
            aranha()
                .args(["why", &site.url(path), "-c"])
                .arg(&collection),
        )
    };
    let large = why("/large");
    assert!(
        large.contains("truncated: the body is longer than fetch.max_body"),
        "{large}"
    );
    assert!(!why("/small").contains("truncated"));
    let mut json = crawl(&folder.path().join("json"), &site.url("/"));
    let json = output(json.args(["--json", "--config"]).arg(&config));
    let end = json.lines().last().unwrap_or_default();
    assert!(end.contains("\"truncated\":1"), "{end}");
    run(aranha().args(["check", "-c"]).arg(&collection));
}
