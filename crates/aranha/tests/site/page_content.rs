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
        let page = "unknown: the crawl found no link to this URL that it follows; it does not follow \
                    links beyond crawl.depth = 1, links on pages marked nofollow, links marked nofollow, \
                    or links on a copy of another page if the other page has them too";
        assert!(text.contains(page), "{text}");
    }
}

/// The directories `/one/` and `/two/` have the same pages. A link of a copy is not followed if the first page has the
/// same link. The copy also links to a page to which the first page does not link.
fn site_with_copies() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| {
        let text = "The same long text about the web, its pages, its links and the crawlers that follow them. \
                    It is long enough for a sketch, because short texts are often equal by chance. "
            .repeat(4);
        match path {
            "/robots.txt" => String::new(),
            "/" => links(&["/one/", "/two/", "/gallery/1"]),
            "/one/" => page(&format!(
                "{text}<a href=next>next</a><a href=/menu>menu</a>"
            )),
            "/two/" => page(&format!(
                "{text}<a href=next>next</a><a href=more></a><a href=/menu>menu</a>"
            )),
            // Pages of a gallery have the same text. Each has an image and a link to the next page.
            "/gallery/1" => page("Gallery <a href=2>next</a>"),
            "/gallery/2" => page("Gallery <a href=3>next</a>"),
            // Pages without text do not count as copies.
            "/gallery/3" => page("<a href=/empty/one/>"),
            "/empty/one/" => page("<a href=a></a><a href=../two/></a>"),
            "/empty/two/" => page("<a href=a></a>"),
            path => page(path),
        }
    })
}

#[test]
fn links_of_a_copy_are_not_followed() {
    let check = |mode: Option<&str>, expected: &[&str]| {
        let site = site_with_copies();
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        let mode = mode.map_or(String::new(), |mode| {
            format!("duplicate_links = \"{mode}\"\n")
        });
        let file = crate::settings(folder.path(), &format!("[crawl]\nsoft_404 = false\n{mode}"));
        run(crawl(&collection, &site.url("/"))
            .arg("--config")
            .arg(&file));
        let mut requests = site.requests();
        requests.retain(|path| path.starts_with("/one/") || path.starts_with("/two/"));
        requests.sort();
        assert_eq!(requests, expected, "{mode}");
        for path in ["/menu", "/gallery/3", "/empty/one/a", "/empty/two/a"] {
            assert!(site.requests().contains(&path.to_owned()), "{mode} {path}");
        }
        // A later crawl with wider rules does not follow these links either. It follows them only if the user asks for
        // it.
        let text = std::fs::read_to_string(collection.join("aranha.toml")).unwrap();
        let follow = "duplicate_links = \"follow\"";
        let text = match mode.as_str() {
            "" => text.replace("[crawl]", &format!("[crawl]\n{follow}")),
            mode => text.replace(mode.trim(), follow),
        };
        std::fs::write(collection.join("aranha.toml"), text).unwrap();
        let before = site.requests().len();
        run(crate::support::aranha()
            .args(["crawl", "--allow-private", "-q", "-c"])
            .arg(&collection));
        let mut later = site.requests().split_off(before);
        later.extend(requests);
        later.sort();
        assert_eq!(
            later,
            ["/one/", "/one/next", "/two/", "/two/more", "/two/next"]
        );
    };
    check(None, &["/one/", "/one/next", "/two/", "/two/more"]);
    check(
        Some("skip_copies"),
        &["/one/", "/one/next", "/two/", "/two/more"],
    );
    check(Some("skip_all"), &["/one/", "/one/next", "/two/"]);
    check(
        Some("follow"),
        &["/one/", "/one/next", "/two/", "/two/more", "/two/next"],
    );
}
