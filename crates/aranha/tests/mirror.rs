//! `aranha export mirror`: the exported files and their links.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scripted_site;
mod support;
mod versions;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use aranha_page::{Input, LinkRewriter, Options};
use scripted_site::ScriptedSite;
use serde_json::Value;
use support::{aranha, assert_status};
use versions::Fetch;

fn export(collection: &Path, into: &Path, more: &[&str]) -> Output {
    let mut command = aranha();
    command
        .args(["export", "mirror"])
        .arg(into)
        .arg("-c")
        .arg(collection)
        .args(more);
    command.output().unwrap()
}

/// The paths of all files below a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let below = path.strip_prefix(folder).unwrap();
                found.insert(below.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// The links of a file: HTML is parsed as in a crawl, style sheets by the link rewriter.
fn links(path: &Path) -> Vec<String> {
    let body = std::fs::read(path).unwrap();
    let ending = path.extension().and_then(|ending| ending.to_str());
    let input = |content_type| Input {
        url: "http://mirror.invalid/",
        content_type: Some(content_type),
        body: &body,
        content_language: None,
    };
    match ending {
        Some("html" | "htm") => {
            let options = Options {
                assets: true,
                ..Options::default()
            };
            let page = aranha_page::read(&input("text/html"), &options);
            assert!(page.base.unwrap_or_default().is_empty());
            page.links.into_iter().map(|link| link.href).collect()
        }
        Some("css") => {
            let mut links = Vec::new();
            let sheet = input("text/css");
            LinkRewriter::new(&sheet).unwrap().rewrite(|_, link| {
                links.push(link.to_owned());
                None
            });
            links
        }
        _ => Vec::new(),
    }
}

/// The file to which a relative link leads.
fn target(from: &Path, link: &str) -> PathBuf {
    let path = link.split(['#', '?']).next().unwrap();
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let code = std::str::from_utf8(&rest[..2]).unwrap();
            bytes.push(u8::from_str_radix(code, 16).unwrap());
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    let path = String::from_utf8(bytes).unwrap();
    if path.is_empty() {
        return from.to_owned();
    }
    from.parent().unwrap().join(path)
}

/// Checks that every relative link of every file leads to a file of the mirror. Returns the number of links.
#[track_caller]
fn follow(mirror: &Path) -> usize {
    let mut followed = 0;
    let root = mirror.canonicalize().unwrap();
    for file in files(mirror) {
        let from = root.join(&file);
        for link in links(&from) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let found = target(&from, &link).canonicalize();
            let found = found.unwrap_or_else(|error| panic!("{link} of {file}: {error}"));
            assert!(
                found.starts_with(&root) && found.is_file(),
                "{link} of {file}"
            );
            followed += 1;
        }
    }
    followed
}

const HOME: &str = "<!doctype html><title>Home</title>\
    <link rel=stylesheet href='/style.css?v=1' integrity=sha256-abc>\
    <link rel=canonical href=/>\
    <a href=/about>about</a> <a href='/about/team#lead'>team</a> <a href='http://www.a.example/a b?q=1&amp;r=2'>ab</a>\
    <a href=//b.example/>b</a> <a href='https://elsewhere.example/x#y'>else</a> <a href=/never?x=1>never</a>\
    <a href=#here>here</a> <a href=mailto:x@y>mail</a> <a href=/old>old</a> <a href=/gone>gone</a>\
    <img src=pic.png srcset='pic.png 1x, /big.png 2x'> <p style=\"background:url('pic.png')\">\
    <form action=/search><style>@import 'style.css?v=1'; p{background:url(pic.png)}</style>";

fn collection(folder: &Path) {
    let a = |path: &str| format!("http://a.example{path}");
    let first = "2026-11-01 10:00";
    let second = "2026-11-03 10:00";
    let png = b"\x89PNG\r\n\x1a\nnot really a picture";
    versions::write(
        folder,
        &[
            Fetch::html(&a("/"), first, HOME),
            Fetch::html(&a("/about"), first, "first about <a href=about/team>t</a>"),
            Fetch::html(
                &a("/about/team"),
                first,
                "<base href='http://a.example/deep/er/'><a href=../../>home</a><a href=#x>x</a>",
            ),
            Fetch::html(
                &a("/a%20b?q=1&r=2"),
                first,
                "<meta http-equiv=refresh content='5; url=/about'>a b",
            ),
            Fetch::of(
                &a("/style.css?v=1"),
                first,
                "text/css",
                b"@import \"sub/more.css\"; b{background:url(/pic.png)} c{d:url(http://x.example/y.png)}",
            ),
            Fetch::of(&a("/sub/more.css"), first, "text/css", b"e{f:url( ../pic.png )}"),
            Fetch::of(&a("/pic.png"), first, "image/png", png),
            Fetch::redirect(&a("/old"), first, "http://a.example/about"),
            Fetch::html(&a("/gone"), first, "still here <a href=/>home</a>"),
            Fetch::html("http://b.example/", first, "<a href=http://a.example/>a</a>"),
            // Two days later:
            Fetch::status(&a("/"), second, 304),
            Fetch::html(&a("/about"), second, "second about <a href=/>home</a>"),
            Fetch::status(&a("/gone"), second, 404),
            Fetch::status("http://b.example/", second, 500),
        ],
    );
}

#[test]
fn links_between_exported_pages_lead_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    collection(&store);
    let output = export(&store, &copy, &["--at", "2026-11-02", "--json"]);
    assert_status(&output, 0);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mirror = copy.join("2026-11-02");
    assert_eq!(result["folder"], mirror.to_str().unwrap());
    assert_eq!(
        (&result["pages"], &result["unchanged"]),
        (&9.into(), &0.into())
    );

    let expected = [
        "a.example/a b/index@q=1&r=2.html",
        "a.example/about/index.html",
        "a.example/about/team/index.html",
        "a.example/gone/index.html",
        "a.example/index.html",
        "a.example/pic.png",
        "a.example/style@v=1.css",
        "a.example/sub/more.css",
        "b.example/index.html",
        "index.html",
    ];
    assert_eq!(files(&mirror), expected.map(str::to_owned).into());
    let home = std::fs::read_to_string(mirror.join("a.example/index.html")).unwrap();
    assert_eq!(
        home,
        "<!doctype html><title>Home</title>\
        <link rel=stylesheet href='style@v=1.css' integrity=\"\">\
        <link rel=canonical href=http://a.example/>\
        <a href=about/index.html>about</a> <a href='about/team/index.html#lead'>team</a> <a href='a%20b/index@q=1%26r=2.html'>ab</a>\
        <a href=../b.example/index.html>b</a> <a href='https://elsewhere.example/x#y'>else</a> <a href=http://a.example/never?x=1>never</a>\
        <a href=#here>here</a> <a href=mailto:x@y>mail</a> <a href=about/index.html>old</a> <a href=gone/index.html>gone</a>\
        <img src=pic.png srcset='pic.png 1x, http://a.example/big.png 2x'> <p style=\"background:url('pic.png')\">\
        <form action=http://a.example/search><style>@import 'style@v=1.css'; p{background:url(pic.png)}</style>"
    );
    let read = |file: &str| std::fs::read_to_string(mirror.join(file)).unwrap();
    assert_eq!(
        read("a.example/about/team/index.html"),
        "<base href=''><a href=../../index.html>home</a><a href=http://a.example/deep/er/#x>x</a>"
    );
    assert_eq!(
        read("a.example/style@v=1.css"),
        "@import \"sub/more.css\"; b{background:url(pic.png)} c{d:url(http://x.example/y.png)}"
    );
    assert!(read("a.example/a b/index@q=1&r=2.html").contains("5; url=../about/index.html"));
    assert!(follow(&mirror) > 15);

    // A second export changes nothing.
    let again = export(&store, &copy, &["--at", "2026-11-02", "--json"]);
    let result: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(result["unchanged"], result["files"]);
}

#[test]
fn an_export_contains_the_versions_of_its_date() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    collection(&store);
    for at in ["2026-11-01", "2026-11-04"] {
        assert_status(&export(&store, &copy, &["--at", at]), 0);
        assert!(follow(&copy.join(at)) > 15);
    }
    let read = |file: &str| std::fs::read_to_string(copy.join(file)).unwrap();
    assert!(read("2026-11-01/a.example/about/index.html").starts_with("first"));
    assert!(read("2026-11-04/a.example/about/index.html").starts_with("second"));
    // If the latest fetch was a 304 response or failed, the version before it is exported. A page that is gone is not
    // exported, and links to it lead to the web.
    assert!(read("2026-11-04/a.example/index.html").contains("href=http://a.example/gone"));
    assert!(copy.join("2026-11-04/b.example/index.html").exists());
    assert!(!copy.join("2026-11-04/a.example/gone").exists());

    let output = export(
        &store,
        &copy,
        &["--at", "2026-11-04 12:00", "--site", "b.example"],
    );
    assert_status(&output, 0);
    let expected = ["b.example/index.html", "index.html"].map(str::to_owned);
    assert_eq!(files(&copy.join("2026-11-04T120059Z")), expected.into());
    let early = export(&store, &copy, &["--at", "2026-10-01"]);
    assert_status(&early, 1);
    let error = String::from_utf8(early.stderr).unwrap();
    assert!(
        error.starts_with("error: no page was stored at or before 2026-10-01 23:59:59 UTC\nhint: "),
        "{error}"
    );
    assert!(!copy.join("2026-10-01").exists());
}

fn missing(output: &Output) -> Vec<(String, String)> {
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let field = |file: &Value, name: &str| file[name].as_str().unwrap().to_owned();
    let list = result["missing"].as_array().unwrap();
    list.iter()
        .map(|file| (field(file, "url"), field(file, "reason")))
        .collect()
}

/// One page that loads files from two hosts. `224.0.0.1` is refused by the address guard even with `--allow-private`.
#[test]
fn missing_requisites_are_reported_with_the_reason() {
    let cdn = ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => scripted_site::page("User-agent: *\nDisallow: /private/"),
        "/here.png" => scripted_site::page("an image"),
        "/moved.png" => "HTTP/1.1 302 Found\r\nLocation: /404.png\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            .to_owned(),
        _ => scripted_site::status("404 Not Found"),
    }
    });
    let other = cdn.url("");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/page" => scripted_site::page(&format!(
            "<img src={other}/here.png><img src={other}/404.png><img src={other}/private/x.png><img src={other}/moved.png>\
             <img src=/film.zip><img src=http://224.0.0.1/x.png><a href=/link>a link is no requisite</a>"
        )),
        "/robots.txt" => String::new(),
        _ => scripted_site::status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    let seed = site.url("/page");
    let options = ["--scope", "page", "--assets", "--reject", "ext:zip"];
    scripted_site::run(scripted_site::crawl(&store, &seed).args(options));

    let output = export(&store, &copy, &["--json"]);
    assert_status(&output, 0);
    let mut expected = [
        (cdn.url("/404.png"), "404"),
        (cdn.url("/moved.png"), "redirect to a missing file: 404"),
        (cdn.url("/private/x.png"), "robots.txt refused"),
        (site.url("/film.zip"), "out of scope: reject: ext:zip"),
        (
            "http://224.0.0.1/x.png".to_owned(),
            "queued: robots.txt is unreachable (the address 224.0.0.1 is refused: multicast, 224.0.0.0/4)",
        ),
    ]
    .map(|(url, reason)| (url, reason.to_owned()));
    expected.sort();
    assert_eq!(missing(&output), expected);

    let output = export(&store, &copy, &[]);
    assert_status(&output, 0);
    let messages = String::from_utf8(output.stderr).unwrap();
    let line = format!("missing: {}: 404 (loaded by {seed})\n", cdn.url("/404.png"));
    assert!(messages.contains(&line), "{messages}");
}

/// URLs in the strings of a script are relative to the page that loads the script. This also holds for a script that
/// another script imports. The URL of an import is relative to the script that contains it. Strings that lead to no
/// exported file are kept.
#[test]
fn links_in_scripts_lead_to_files() {
    let script = |text: &str| {
        scripted_site::page(text)
            .replace("Content-Type: text/html", "Content-Type: text/javascript")
    };
    let cdn = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/lib/b.js" => script("import './c.js'; d.src = '/img/d.png'; e = '/img/e.png'"),
        "/lib/c.js" => script("f"),
        _ => scripted_site::status("404 Not Found"),
    });
    let other = cdn.url("/lib/b.js");
    let folder_of = |site: &ScriptedSite| format!("127.0.0.1_{}", site.port);
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/dir/page" => scripted_site::page(
            "<script src=/js/a.js></script><script>x.src = '/img/x.png'</script>",
        ),
        "/js/a.js" => script(&format!("load('{other}'); y = 'img/y.png'")),
        "/img/x.png" | "/img/d.png" | "/dir/img/y.png" => scripted_site::page(path),
        _ => scripted_site::status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    let seed = site.url("/dir/page");
    scripted_site::run(scripted_site::crawl(&store, &seed).args(["--scope", "page", "--assets"]));
    let output = export(&store, &copy, &["--json"]);
    assert_status(&output, 0);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mirror = Path::new(report["folder"].as_str().unwrap());
    let read = |site: &ScriptedSite, file: &str| {
        std::fs::read_to_string(mirror.join(folder_of(site)).join(file)).unwrap()
    };
    let far = folder_of(&cdn);
    assert_eq!(
        read(&site, "dir/page/index.html"),
        "<script src=../../js/a.js></script><script>x.src = '../../img/x.png.html'</script>"
    );
    assert_eq!(
        read(&site, "js/a.js"),
        format!("load('../../../{far}/lib/b.js'); y = '../img/y.png.html'")
    );
    assert_eq!(
        read(&cdn, "lib/b.js"),
        "import './c.js'; d.src = '../../img/d.png.html'; e = '/img/e.png'"
    );
}

#[test]
fn requisites_that_were_not_crawled_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    collection(&store);
    let output = export(&store, &copy, &["--at", "2026-11-02", "--json"]);
    let off = "not followed: page.assets is off (--assets)";
    let expected = ["http://a.example/big.png", "http://x.example/y.png"];
    let expected = expected.map(|url| (url.to_owned(), off.to_owned()));
    assert_eq!(missing(&output), expected);
}

/// Exports URLs that try to leave the folder, that would have the same file name, or that are not valid file names.
#[test]
fn file_names_are_distinct_and_inside_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("deep/er/copy"));
    let long = format!("http://a.example/{}", "long".repeat(100));
    let urls = [
        "http://a.example/%2e%2e%2f%2e%2e%2fescape.html",
        "http://a.example/x/%5c..%5c..%5cescape",
        "http://a.example/%00%0a",
        "http://a.example/Case.html",
        "http://a.example/case.html",
        "http://a.example/case.html/below",
        "http://a.example/a",
        "http://a.example/a/",
        "http://a.example/a/b",
        "http://a.example/a?/../../../x",
        "http://a.example/con",
        "http://a.example/.aranha.part",
        "http://a.example:8080/",
        &long,
    ];
    let links: Vec<_> = urls
        .iter()
        .map(|url| format!("<a href='{url}'>x</a>"))
        .collect();
    let all = links.concat();
    let time = "2026-11-01 10:00";
    let mut fetches: Vec<_> = urls
        .iter()
        .map(|url| Fetch::html(url, time, &format!("{url} {all}")))
        .collect();
    fetches.push(Fetch::html("http://a.example/", time, &all));
    versions::write(&store, &fetches);
    let output = export(&store, &copy, &["--at", "2026-11-01", "--json"]);
    assert_status(&output, 0);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mirror = copy.join("2026-11-01");
    assert_eq!(result["pages"], urls.len() + 1);
    let found = files(&mirror);
    assert_eq!(found.len(), urls.len() + 2);
    let folded: BTreeSet<_> = found.iter().map(|file| file.to_lowercase()).collect();
    assert_eq!(folded.len(), found.len());
    assert_eq!(
        files(&folder.path().join("deep")).len(),
        found.len(),
        "no file is outside the mirror"
    );
    assert_eq!(follow(&mirror), (urls.len() + 1) * urls.len() + 2);
    assert_eq!(result["links"]["outside"], 0);
}

#[test]
fn symbolic_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    collection(&store);
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "mine").unwrap();
    let mirror = copy.join("2026-11-01");
    let arguments = ["--at", "2026-11-01"];

    // A symbolic link with the name of a file is replaced; its target is not changed.
    std::fs::create_dir_all(mirror.join("b.example")).unwrap();
    symlink(outside.join("file"), mirror.join("b.example/index.html")).unwrap();
    symlink(outside.join("file"), mirror.join(".aranha.part")).unwrap();
    assert_status(&export(&store, &copy, &arguments), 0);
    assert!(
        mirror
            .join("b.example/index.html")
            .symlink_metadata()
            .unwrap()
            .is_file()
    );

    // A symbolic link with the name of a folder is an error.
    let refused = || {
        let output = export(&store, &copy, &arguments);
        assert_status(&output, 1);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("a file or a symbolic link is in the place of a folder"),
            "{error}"
        );
    };
    std::fs::remove_dir_all(mirror.join("b.example")).unwrap();
    symlink(&outside, mirror.join("b.example")).unwrap();
    refused();
    std::fs::remove_dir_all(&mirror).unwrap();
    symlink(&outside, &mirror).unwrap();
    refused();
    assert_eq!(files(&outside), ["file".to_owned()].into());
    assert_eq!(
        std::fs::read_to_string(outside.join("file")).unwrap(),
        "mine"
    );
}

/// Crawls a site with its assets, then exports it.
#[test]
fn a_crawled_site_can_be_exported() {
    let site = scripted_site::ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => scripted_site::page(
            "<link rel=stylesheet href=/s.css><a href=/sub/page?n=1>1</a><a href=/sub/>sub</a><a href=/none>none</a>",
        ),
        "/sub/page?n=1" => scripted_site::page("<a href='?n=2'>2</a><a href=..>up</a>"),
        "/sub/page?n=2" => scripted_site::page("<a href='page?n=1'>1</a><a href=/>home</a>"),
        "/sub/" => scripted_site::page("<a href=page?n=2>2</a>"),
        "/s.css" => {
            let sheet = "a{b:url(none.png)}";
            let length = sheet.len();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{sheet}"
            )
        }
        _ => scripted_site::status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let (store, copy) = (folder.path().join("c"), folder.path().join("copy"));
    let settings = folder.path().join("settings.toml");
    std::fs::write(&settings, "[page]\nassets = true\n").unwrap();
    scripted_site::run(
        scripted_site::crawl(&store, &site.url("/"))
            .arg("--config")
            .arg(&settings),
    );
    let output = export(&store, &copy, &["--json"]);
    assert_status(&output, 0);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&result["pages"], &result["links"]["outside"]),
        (&5.into(), &2.into())
    );
    assert_eq!(follow(Path::new(result["folder"].as_str().unwrap())), 9);
}
