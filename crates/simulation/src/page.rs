//! What the simulated servers say: robots.txt and pages, whole answers with their heads.
//!
//! A page has a link home, links to its children in the site's tree, links across it, and some to other sites: four of
//! five stay inside (Viuva Negra 4). Its words are its own, so that a site is no trap (docs/decisions/0008-novelty.md).

use std::io::Write as _;

use aranha_lab::Chance;
use bytes::Bytes;

use crate::{Plan, Site};

/// Children of a page in the tree of its site.
const CHILDREN: u32 = 4;
/// Links across the site.
const ACROSS: usize = 3;
/// Links to other sites.
const OUTSIDE: usize = 2;
/// Words of a page.
const WORDS: usize = 40;

/// The answer to a path, robots.txt included.
pub(crate) fn answer(plan: &Plan, site: &Site, path: &str) -> Bytes {
    if path == "/robots.txt" {
        return robots(site);
    }
    match number(path).filter(|page| *page < site.pages) {
        Some(page) => whole(site, "200 OK", "text/html", "", &html(plan, site, page)),
        None => whole(site, "404 Not Found", "text/html", "", b"<p>not here"),
    }
}

/// The server cannot, or does not want to.
pub(crate) fn refusal(site: &Site, status: &str, patience: Option<u64>) -> Bytes {
    let header = patience.map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
    whole(site, status, "text/plain", &header, b"not now")
}

fn robots(site: &Site) -> Bytes {
    if !site.has_robots {
        return whole(site, "404 Not Found", "text/plain", "", b"none");
    }
    let mut text = b"User-agent: *\nDisallow: /private/\n".to_vec();
    if let Some(delay) = site.crawl_delay {
        let delay = delay.as_secs();
        writeln!(text, "Crawl-delay: {delay}").expect("a vector takes what it is given");
    }
    whole(site, "200 OK", "text/plain", "", &text)
}

fn number(path: &str) -> Option<u32> {
    if path == "/" {
        return Some(0);
    }
    let number = path.strip_prefix("/page")?.parse().ok()?;
    (number > 0).then_some(number)
}

fn html(plan: &Plan, site: &Site, page: u32) -> Vec<u8> {
    let mut chance = Chance::of(plan.seed, &[2, u64::from(site.number), u64::from(page)]);
    let mut html = Vec::with_capacity(1200);
    put(
        &mut html,
        format_args!(
            "<title>Page {page} of {}</title><a href=/>home</a>",
            site.number
        ),
    );
    let first = u64::from(page) * u64::from(CHILDREN) + 1;
    for child in first..(first + u64::from(CHILDREN)).min(u64::from(site.pages)) {
        put(
            &mut html,
            format_args!("<a href=/page{child}>page {child}</a>"),
        );
    }
    if site.pages > 1 {
        for _ in 0..ACROSS {
            let other = 1 + chance.below(site.pages as usize - 1);
            put(
                &mut html,
                format_args!("<a href=/page{other}>page {other}</a>"),
            );
        }
    }
    for _ in 0..OUTSIDE {
        outside(plan, &mut chance, &mut html);
    }
    html.extend_from_slice(b"<p>");
    for _ in 0..WORDS {
        word(&mut chance, &mut html);
    }
    html
}

/// A link to another site: half of them to those that everybody links to. One in four leads below the home page.
fn outside(plan: &Plan, chance: &mut Chance, html: &mut Vec<u8>) {
    let mut number = chance.below(plan.sites as usize);
    if chance.percent(50) {
        number = chance.below(number + 1);
        number = chance.below(number + 1);
    }
    put(html, format_args!("<a href=http://site{number}.example/"));
    if chance.percent(25) {
        let page = 1 + chance.below(3);
        put(html, format_args!("page{page}"));
    }
    put(html, format_args!(">site {number}</a>"));
}

/// Eight letters that no other page has.
fn word(chance: &mut Chance, html: &mut Vec<u8>) {
    let mut bits = chance.next();
    let mut letters = [b' '; 9];
    for letter in &mut letters[..8] {
        *letter = b'a' + (bits & 15) as u8;
        bits >>= 8;
    }
    html.extend_from_slice(&letters);
}

fn whole(site: &Site, status: &str, media_type: &str, headers: &str, body: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(160 + body.len());
    let close = if site.keeps_alive {
        ""
    } else {
        "Connection: close\r\n"
    };
    put(
        &mut bytes,
        format_args!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n{close}{headers}\r\n",
            body.len()
        ),
    );
    bytes.extend_from_slice(body);
    bytes.into()
}

fn put(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    bytes
        .write_fmt(text)
        .expect("a vector takes what it is given");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_same_each_time_and_four_of_five_links_stay() {
        let plan = Plan::new(1, 1000);
        let site = (0..1000)
            .map(|number| Site::of(&plan, number))
            .find(|site| site.pages > 40)
            .expect("a large one");
        let (mut all, mut out) = (0, 0);
        for page in 0..10 {
            let text = html(&plan, &site, page);
            assert_eq!(text, html(&plan, &site, page));
            let text = String::from_utf8(text).expect("ASCII");
            all += text.matches("<a href").count();
            out += text.matches("<a href=http").count();
        }
        assert_eq!((all, out), (100, 20));
    }

    #[test]
    fn paths_that_are_pages() {
        for (path, expected) in [
            ("/", Some(0)),
            ("/page7", Some(7)),
            ("/page0", None),
            ("/pagex", None),
            ("/other", None),
        ] {
            assert_eq!(number(path), expected, "{path}");
        }
    }
}
