//! Page requisites: the style sheets, images, fonts and other files that a browser loads with a page.

use crate::scripted_site::{ScriptedSite, crawl, page, run};
use crate::settings;

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

/// The sorted paths of all requests, without the soft-404 probe.
fn files_requested(site: &ScriptedSite) -> Vec<String> {
    let mut requests = site.requests();
    requests.retain(|path| !path.starts_with("/aranha-"));
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

#[test]
fn without_assets_only_pages_are_fetched() {
    let site = ScriptedSite::start(|path, _, _| styled_site(path));
    let folder = tempfile::tempdir().unwrap();
    run(&mut crawl(&folder.path().join("c"), &site.url("/")));
    assert_eq!(site.requests(), ["/"]);
}
