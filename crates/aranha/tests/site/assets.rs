//! Page requisites: the style sheets, images, fonts and other files that a browser loads with a page.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::scripted_site::{ScriptedSite, crawl, page, run, status};
use crate::settings;
use crate::support::aranha;

/// A response of another media type than HTML.
fn file(media_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A home page whose files load further files.
fn styled_site(path: &str) -> String {
    match path {
        "/robots.txt" => String::new(),
        "/" => page(
            "<link rel=stylesheet href=/css/main.css><link rel=manifest href=app.webmanifest>\
             <video poster=poster.jpg></video><img srcset='small.png 1x, large.png 2x'>",
        ),
        "/css/main.css" => file(
            "text/css",
            "/* url(comment.png) */ @import 'more.css' screen; @font-face { src: url(\"/font.woff2\") }",
        ),
        "/css/more.css" => file("text/css", "p { background: image-set('paper.png' 1x) }"),
        "/app.webmanifest" => file(
            "application/manifest+json",
            r#"{"icons": [{"src": "icon.png"}]}"#,
        ),
        _ => file("application/octet-stream", path),
    }
}

/// The sorted paths of all requests, without the soft-404 probe and the icon of the site.
fn files_requested(site: &ScriptedSite) -> Vec<String> {
    let mut requests = site.requests();
    requests.retain(|path| !path.starts_with("/aranha-") && path != "/favicon.ico");
    requests.sort();
    requests
}

const STYLED: [&str; 10] = [
    "/",
    "/app.webmanifest",
    "/css/main.css",
    "/css/more.css",
    "/css/paper.png",
    "/font.woff2",
    "/icon.png",
    "/large.png",
    "/poster.jpg",
    "/small.png",
];

#[test]
fn files_that_style_sheets_and_manifests_load_are_fetched() {
    let site = ScriptedSite::start(|path, _, _| styled_site(path));
    let folder = tempfile::tempdir().unwrap();
    let file = settings(folder.path(), "[page]\nassets = true\n");
    run(crawl(&folder.path().join("c"), &site.url("/"))
        .arg("--config")
        .arg(file));
    assert_eq!(files_requested(&site), STYLED);
}

/// The URLs of files in a script are relative to the page that loads the script. The URL of an imported module is
/// relative to the script that imports it.
#[test]
fn files_that_headers_frames_and_scripts_name_are_fetched() {
    let cdn = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/lib/app.js" => file(
            "text/javascript",
            "import './part.mjs'; a.src = 'near.png'; b.src = '/root.png'; c.src = '/a' + d + '.png';",
        ),
        _ => file("application/octet-stream", path),
    });
    let script = cdn.url("/lib/app.js");
    let site = ScriptedSite::start(move |path, _, _| {
        match path {
        "/robots.txt" => String::new(),
        "/dir/page" => page(&format!(
            "<iframe srcdoc=\"<img src='framed.png'>\"></iframe><script src={script}></script>\
             <script>load('../data/words.json')</script><link rel=prefetch href=next.css>",
        ))
        .replace(
            "Connection: close",
            "Connection: close\r\nLink: </early.css>; rel=preload; as=style\r\nLink: <a.woff2>; rel=preload, <b>; rel=next",
        ),
        _ => file("application/octet-stream", path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/dir/page")).args(["--scope", "page", "--assets"]));
    assert_eq!(
        files_requested(&site),
        [
            "/data/words.json",
            "/dir/a.woff2",
            "/dir/framed.png",
            "/dir/near.png",
            "/dir/next.css",
            "/dir/page",
            "/early.css",
            "/root.png",
        ]
    );
    assert_eq!(files_requested(&cdn), ["/lib/app.js", "/lib/part.mjs"]);
}

#[test]
fn the_icon_of_the_site_is_fetched_for_pages_that_name_none() {
    let site = || {
        ScriptedSite::start(|path, _, _| match path {
            "/robots.txt" => String::new(),
            "/" => page("<link rel='shortcut icon' href=own.ico><a href=/dir/page>page</a>"),
            "/dir/page" => page("<base href=/other/><iframe src=/frame></iframe>"),
            "/frame" => page("<p>frame"),
            _ => file("image/x-icon", path),
        })
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, depth, expected) in [
        ("own", "0", &["/", "/own.ico"][..]),
        (
            "all",
            "1",
            &["/", "/dir/page", "/favicon.ico", "/frame", "/own.ico"],
        ),
    ] {
        let site = site();
        let collection = folder.path().join(name);
        run(crawl(&collection, &site.url("/")).args(["-l", depth, "--assets"]));
        let mut requests = site.requests();
        requests.retain(|path| !path.starts_with("/aranha-"));
        requests.sort();
        assert_eq!(requests, expected);
    }
}

/// In a replay, a browser requests files under the URLs that the page contains.
#[test]
fn files_keep_their_tracking_parameters() {
    let site = ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => String::new(),
        "/" => page(
            "<img src='/a.png?utm_source=x&id=1'><img src='/a.png?id=1'><a href='/b?utm_source=x'>b</a><a href=/out>out</a><img src=/moved.png>\
             <a href='/c.png?utm_source=x'>c</a><img src='/c.png?utm_source=x'><img src='/d.png?PHPSESSID=0123456789abcdef0123456789abcdef'>",
        ),
        "/out" => "HTTP/1.1 302 Found\r\nLocation: /b?utm_campaign=1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "/moved.png" => "HTTP/1.1 302 Found\r\nLocation: /e.png?utm_medium=y\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => file("application/octet-stream", path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).arg("--assets"));
    assert_eq!(
        files_requested(&site),
        [
            "/",
            "/a.png?id=1",
            "/a.png?utm_source=x&id=1",
            "/b",
            "/c.png",
            "/c.png?utm_source=x",
            "/d.png",
            "/e.png?utm_medium=y",
            "/moved.png",
            "/out",
        ]
    );
    let mut export = aranha();
    export.args(["export", "mirror", "--json", "-c"]);
    export.arg(&collection).arg(folder.path().join("mirror"));
    let report: serde_json::Value =
        serde_json::from_slice(&export.output().unwrap().stdout).unwrap();
    assert_eq!(report["missing"], serde_json::json!([]));
    assert_eq!(report["links"]["outside"], 0, "{report}");
}

#[test]
fn without_assets_only_pages_are_fetched() {
    let site = ScriptedSite::start(|path, _, _| styled_site(path));
    let folder = tempfile::tempdir().unwrap();
    run(&mut crawl(&folder.path().join("c"), &site.url("/")));
    assert_eq!(site.requests(), ["/"]);
}

/// Two servers are two hosts to the crawl, because their ports differ.
#[test]
fn one_page_is_saved_complete_and_no_link_is_followed() {
    let cdn = ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => file("text/plain", "User-agent: *\nDisallow: /private/"),
        "/style.css" => file("text/css", "@import 'more.css';"),
        "/more.css" => file("text/css", "a { src: url(font.woff2) }"),
        "/frame" => page("<img src=frame.png><a href=/elsewhere>elsewhere</a>"),
        "/moved.png" => "HTTP/1.1 302 Found\r\nLocation: /target.png\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => file("application/octet-stream", path),
    }
    });
    let elsewhere = cdn.url("");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/dir/page" => page(&format!(
            "<link rel=stylesheet href={elsewhere}/style.css><iframe src={elsewhere}/frame></iframe>\
             <img src={elsewhere}/moved.png><img src={elsewhere}/private/x.png><img src=/banned.zip>\
             <img src=/logo.png><a href=next>next</a><a href={elsewhere}/link>link</a>",
        )),
        _ => file("application/octet-stream", path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let seed = site.url("/dir/page");
    run(crawl(&collection, &seed).args(["--scope", "page", "--assets", "--reject", "ext:zip"]));
    assert_eq!(files_requested(&site), ["/dir/page", "/logo.png"]);
    assert_eq!(
        files_requested(&cdn),
        [
            "/font.woff2",
            "/frame",
            "/frame.png",
            "/more.css",
            "/moved.png",
            "/style.css",
            "/target.png"
        ]
    );
    let outcomes = crate::outcomes(&collection);
    assert_eq!(outcomes["/private/x.png"], "robots.txt refused");
}

/// A frame out of scope has a link to a page in scope. The frame and its image are fetched, but its link is not
/// followed.
#[test]
fn links_of_a_framed_page_out_of_scope_are_not_followed() {
    let back = Arc::new(OnceLock::<String>::new());
    let known = Arc::clone(&back);
    let framed = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/frame" => page(&format!(
            "<img src=frame.png><a href={}/hidden>hidden</a>",
            known.get().unwrap()
        )),
        _ => file("application/octet-stream", path),
    });
    let frame = framed.url("/frame");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page(&format!(
            "<iframe src={frame}></iframe><iframe src=/own></iframe>"
        )),
        "/own" => page("<a href=/linked>linked</a>"),
        _ => page(path),
    });
    back.set(site.url("")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("c"), &site.url("/")).arg("--assets"));
    assert_eq!(files_requested(&framed), ["/frame", "/frame.png"]);
    assert_eq!(files_requested(&site), ["/", "/linked", "/own"]);
}

#[test]
fn files_of_pages_at_the_depth_limit_are_fetched() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page("<a href=/one>one</a>"),
        "/one" => page("<link rel=stylesheet href=a.css><a href=/two>two</a>"),
        "/a.css" => file("text/css", "@import 'b.css';"),
        "/b.css" => file("text/css", "a { b: url(c.png) }"),
        _ => file("application/octet-stream", path),
    });
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("c"), &site.url("/")).args(["-l", "1", "--profile", "archive"]));
    assert_eq!(
        files_requested(&site),
        ["/", "/a.css", "/b.css", "/c.png", "/one"]
    );
}

fn why(collection: &Path, url: &str) -> String {
    let output = aranha().args(["why", url, "-c"]).arg(collection).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// Files of another host are fetched, one of them after a redirect. Another file is on `224.0.0.1`,
/// which the address guard refuses.
#[test]
fn why_and_the_log_explain_a_requisite() {
    let cdn = ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => String::new(),
        "/moved.png" => "HTTP/1.1 302 Found\r\nLocation: /target.png\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "/a.css" => file("text/css", "a { b: url(font.woff2) }"),
        _ => file("application/octet-stream", path),
    }
    });
    let other = cdn.url("");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/" => page(&format!(
            "<link rel=stylesheet href={other}/a.css><img src={other}/moved.png><img src=http://224.0.0.1/x.png>"
        )),
        _ => status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).arg("--assets"));
    let log = std::fs::read_to_string(collection.join("logs/crawl.log")).unwrap();
    let inside = "inside: page.assets: a page in scope loads it";
    let letters = [
        ("/a.css", "E"),
        ("/font.woff2", "E"),
        ("/moved.png", "E"),
        ("/target.png", "R"),
    ];
    for (path, letter) in letters {
        let url = cdn.url(path);
        let fields = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let line = log.lines().map(fields).find(|line| line[3] == url).unwrap();
        assert_eq!(line[4], letter, "{path}");
        let why = why(&collection, &url);
        assert!(why.contains(inside), "{why}");
    }
    let why = why(&collection, "http://224.0.0.1/x.png");
    assert!(why.contains(inside), "{why}");
    assert!(why.contains("224.0.0.1 is refused: multicast"), "{why}");
}

/// A page loads a frame from a host out of scope. This host and a second one load new frames from each other, without
/// end.
#[test]
fn a_chain_of_files_out_of_scope_ends_after_five() {
    let other = Arc::new(OnceLock::<String>::new());
    let next = |path: &str| path[1..].parse::<u32>().map_or(0, |number| number + 1);
    let known = Arc::clone(&other);
    let odd = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(&format!(
            "{path} <iframe src={}/{}></iframe>",
            known.get().unwrap(),
            next(path)
        )),
    });
    let back = odd.url("");
    let even = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(&format!(
            "{path} <iframe src={back}/{}></iframe>",
            next(path)
        )),
    });
    other.set(even.url("")).unwrap();
    let first = odd.url("/1");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/" => page(&format!("<iframe src={first}></iframe>")),
        _ => status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--assets", "--pages", "40"]));
    assert_eq!(files_requested(&odd), ["/1", "/3", "/5"]);
    assert_eq!(files_requested(&even), ["/2", "/4"]);
}

/// Every style sheet imports another one. The chain ends at `Hop::MAX_EMBEDS`, or when the site is blocked as a trap.
#[test]
fn endless_imports_end() {
    let endless = |path: &str| match path {
        "/robots.txt" => String::new(),
        "/" => page("<link rel=stylesheet href=/1.css>"),
        _ => {
            let number = path.trim_start_matches('/').trim_end_matches(".css");
            let next = number.parse::<u32>().unwrap_or(0) + 1;
            file("text/css", &format!("@import '/{next}.css';"))
        }
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, scope, limit) in [("page", "page", 6), ("host", "host", 80)] {
        let site = ScriptedSite::start(move |path, _, _| endless(path));
        let collection = folder.path().join(name);
        run(crawl(&collection, &site.url("/")).args(["--scope", scope, "--assets"]));
        let requests = files_requested(&site).len();
        assert!(requests <= limit, "{name}: {requests}");
    }
}
