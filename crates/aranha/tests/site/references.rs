//! The links of a collection, and the references to each URL.

use std::process::Output;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status};

#[test]
fn references_are_counted_once_per_page() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/a", "/b", "/a#top", "http://elsewhere.test/x"]),
        "/a" => {
            page("<base href=/sub/><a href=../b>b</a><a href=mailto:a@b.c>m</a><a href=/gone>g</a>")
        }
        "/gone" => {
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n<a href=/never>x</a>".to_owned()
        }
        _ => links(&["/", "http://elsewhere.test/x"]),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let export = |more: &[&str]| {
        let mut command = aranha();
        command.args(["export", "links"]).args(more);
        text(&command.arg("-c").arg(&collection).output().unwrap())
    };
    let expected: String = [
        (1, site.url("/")),
        (1, site.url("/a")),
        (2, site.url("/b")),
        (1, site.url("/gone")),
        (2, "http://elsewhere.test/x".to_owned()),
    ]
    .map(|(count, url)| format!("{count}\t{url}\n"))
    .concat();
    assert_eq!(export(&["--references"]), expected);

    let every = export(&[]);
    assert_eq!(every.lines().count(), 7, "{every}");
    let link = format!("{}\tanchor\t{}\n", site.url("/a"), site.url("/b"));
    assert!(every.contains(&link), "{every}");
}

fn text(output: &Output) -> String {
    assert_status(output, 0);
    String::from_utf8(output.stdout.clone()).unwrap()
}
