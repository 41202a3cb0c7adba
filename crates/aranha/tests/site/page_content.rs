//! Pages that a crawl may easily misjudge, and what the reading commands print about them.

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::settings;
use crate::support::{aranha, assert_status};

/// The server sends the same page for every path, so the page equals the response to the soft-404 probe.
#[test]
fn the_home_page_is_never_a_soft_404() {
    let site = ScriptedSite::start(|path, _, _| {
        let others: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
        let others: Vec<_> = others.iter().map(String::as_str).collect();
        match path {
            "/robots.txt" => String::new(),
            _ => links(&others),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    run(crawl(&collection, &site.url("/")).arg("--again"));
    let history = |path: &str| {
        let mut command = aranha();
        command.args(["history", &site.url(path), "--json", "-c"]);
        let stdout = command.arg(&collection).output().unwrap().stdout;
        let json: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
        let visits = json["history"].as_array().unwrap().clone();
        let found = visits.iter().map(|visit| visit["found"].to_string());
        found.collect::<Vec<_>>()
    };
    assert_eq!(history("/"), ["\"new\"", "\"same\""]);
    let other = history("/19");
    assert_ne!(
        other.last().map(String::as_str),
        Some("\"same\""),
        "a soft 404: {other:?}"
    );
}

#[test]
fn text_is_extracted_even_if_the_crawl_did_not_extract_it() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("<p>the spider sits in the web</p>"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), "[page]\ntext = false\n");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let mut text = aranha();
    text.args(["text", &site.url("/"), "-c"]).arg(&collection);
    let output = text.output().unwrap();
    assert_status(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "the spider sits in the web\n");
}

#[test]
fn why_says_that_links_were_not_followed() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page("<a href='/near'>near</a> <a rel=nofollow href='/marked'>marked</a>"),
        "/near" => links(&["/far"]),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--depth", "1"]));
    assert_eq!(site.requests(), ["/", "/near"]);
    for unknown in ["/marked", "/far"] {
        let mut why = aranha();
        why.args(["why", &site.url(unknown), "-c"]).arg(&collection);
        let text = String::from_utf8(why.output().unwrap().stdout).unwrap();
        let page = "unknown: the crawl found no link to this URL that it follows \
                    (not followed: links beyond crawl.depth = 1, links on pages marked nofollow, links marked nofollow)";
        assert!(text.contains(page), "{text}");
    }
}
