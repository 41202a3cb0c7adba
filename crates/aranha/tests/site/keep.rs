//! Pages that are read for links but not stored: `--keep` and `crawl.noindex`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::settings;
use crate::support::{aranha, assert_status, assert_valid, pages};

const PDF: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nConnection: close\r\nContent-Length: 9\r\n\r\n%PDF-1.7\n";

fn site() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/list", "/small.pdf", "/gone.html", "/moved"]),
        "/list" => links(&["/deep.pdf"]),
        "/moved" => {
            "HTTP/1.1 301 Moved\r\nLocation: /list\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                .to_owned()
        }
        "/small.pdf" | "/deep.pdf" => PDF.to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngone".to_owned(),
    }
    })
}

/// The paths of the pages whose response is in the archive.
fn stored(collection: &Path) -> Vec<String> {
    let all = pages(collection).into_iter();
    let stored = all.filter(|(_, page)| !page["archive"].is_null());
    stored
        .map(|(url, _)| format!("/{}", url.splitn(4, '/').nth(3).unwrap()))
        .collect()
}

fn check(collection: &Path) -> Command {
    let mut command = aranha();
    command.args(["check", "-c"]).arg(collection);
    command
}

#[test]
fn links_of_pages_that_are_not_kept_are_followed() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = crawl(&collection, &site.url("/"));
    command.args(["--keep", "type:application/pdf", "--json"]);
    let output = command.output().unwrap();
    assert_status(&output, 0);
    assert_eq!(stored(&collection), ["/deep.pdf", "/moved", "/small.pdf"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let end: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(end["tally"]["not_kept"], 3, "{end}");
    let home = &pages(&collection)[&site.url("/")];
    assert_eq!(
        (&home["status"], &home["kept"]),
        (&200.into(), &false.into())
    );
    assert_valid(&collection);
    run(&mut check(&collection));

    // A later crawl keeps the rule. Its requests for pages that are not stored are unconditional.
    run(crawl(&collection, &site.url("/")).arg("--again"));
    assert_eq!(stored(&collection), ["/deep.pdf", "/moved", "/small.pdf"]);
    let mut why = aranha();
    why.args(["why", &site.url("/"), "-c"]).arg(&collection);
    let text = String::from_utf8(why.output().unwrap().stdout).unwrap();
    assert!(
        text.contains("(not stored: crawl.keep or crawl.noindex)"),
        "{text}"
    );
}

#[test]
fn responses_are_kept_by_size_and_by_url() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = crawl(&collection, &site.url("/"));
    run(command.args([
        "--keep",
        "size>10 and type:text/html",
        "--keep",
        "path:/small*",
    ]));
    assert_eq!(stored(&collection), ["/", "/list", "/moved", "/small.pdf"]);
}

#[test]
fn noindex_pages_are_stored_marked_or_skipped() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page("<meta name=robots content=noindex><a href=/next>next</a>"),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    for (value, is_stored, is_marked) in [
        ("store", true, false),
        ("mark", true, true),
        ("skip", false, true),
    ] {
        let collection = folder.path().join(value);
        let file = settings(folder.path(), &format!("[crawl]\nnoindex = \"{value}\"\n"));
        run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
        let pages = pages(&collection);
        assert_eq!(pages.len(), 2, "{value}: the links are followed");
        let home = &pages[&site.url("/")];
        assert_eq!(!home["archive"].is_null(), is_stored, "{value}");
        assert_eq!(home["noindex"], is_marked, "{value}");
        let archive = std::fs::read_dir(collection.join("archive")).unwrap();
        let bytes: Vec<u8> = archive
            .flat_map(|file| unpacked(&file.unwrap().path()))
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(
            text.contains("robots: noindex"),
            is_stored && is_marked,
            "{value}"
        );
        run(&mut check(&collection));
    }
}

/// The decompressed bytes of a WARC file.
fn unpacked(file: &Path) -> Vec<u8> {
    let output = Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success());
    output.stdout
}
