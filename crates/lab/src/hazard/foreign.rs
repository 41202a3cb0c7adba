//! A sitemap and a sitemap index that list a thousand names of other sites, none of which exists.
//!
//! Imitates sites that use crawlers to reach, or to burden, other sites. A sitemap may list a URL of another site only
//! if robots.txt of that site names the sitemap (sitemaps.org, "Sitemaps & Cross Submits"; D7). robots.txt of this site
//! names both files. A perfect crawler sends six requests: for robots.txt, the two sitemaps and the three pages of the
//! site. It looks up none of the listed names.

use std::fmt::Write as _;
use std::io;

use super::{HazardRequest, request::ordinary};

const NAMES: usize = 1000;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let origin = request.origin();
    let port = request.web.port();
    let name = |number: usize| format!("http://name{number}-foreign.lab:{port}/");
    let xml = "Content-Type: application/xml\r\n";
    match request.target() {
        "/robots.txt" => {
            let lines = format!("Sitemap: {origin}/index.xml\nSitemap: {origin}/names.xml\n");
            request
                .answer(200, "Content-Type: text/plain\r\n", lines)
                .await
        }
        "/names.xml" => {
            let mut body = format!("<urlset><url><loc>{origin}/one.html</loc></url>\n");
            for number in 0..NAMES {
                let _ = writeln!(body, "<url><loc>{}</loc></url>", name(number));
            }
            body.push_str("</urlset>");
            request.answer(200, xml, body).await
        }
        "/index.xml" => {
            let mut body =
                format!("<sitemapindex><sitemap><loc>{origin}/names.xml</loc></sitemap>\n");
            for number in 0..NAMES {
                let sitemap = format!("{}sitemap.xml", name(number));
                let _ = writeln!(body, "<sitemap><loc>{sitemap}</loc></sitemap>");
            }
            body.push_str("</sitemapindex>");
            request.answer(200, xml, body).await
        }
        _ => ordinary(request).await,
    }
}
