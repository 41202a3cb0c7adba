//! Responses of the simulated servers, with status line and headers: robots.txt, pages and errors.
//!
//! A page links to the home page, to its children in the site's tree, to other pages of the site and to other sites.
//! Four of five links stay within the site (Viuva Negra 4). Some words are on every page. All other words are
//! distributed by Zipf's law, so that the crawler does not treat the site as a trap (docs/decisions/0008-novelty.md).

use std::io::Write as _;

use aranha_lab::Chance;
use bytes::Bytes;

use crate::site::SimulatedSite;
use crate::web_plan::WebPlan;

/// Number of children of a page in the page tree of its site.
const CHILDREN: u32 = 4;
/// Number of links from a page to random pages of the same site.
const INTERNAL_LINKS: usize = 3;
/// Number of links from a page to other sites.
const EXTERNAL_LINKS: usize = 2;
/// Number of words that are on every page.
const COMMON_WORDS: u64 = 16;
/// Number of the other words of a page.
const WORDS: usize = 24;
/// Words have numbers with at most this number of bits.
const WORD_BITS: usize = 14;

/// The response to a request for a path, which may be `/robots.txt`.
pub(crate) fn response(plan: &WebPlan, site: &SimulatedSite, path: &str) -> Bytes {
    if path == "/robots.txt" {
        return robots_txt(site);
    }
    match page_number(path).filter(|page| *page < site.pages) {
        Some(page) => whole(site, "200 OK", "text/html", "", &html(plan, site, page)),
        None => whole(site, "404 Not Found", "text/html", "", b"<p>not here"),
    }
}

/// An error response with this status; `retry_after` is in seconds.
pub(crate) fn error(site: &SimulatedSite, status: &str, retry_after: Option<u64>) -> Bytes {
    let header =
        retry_after.map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
    whole(site, status, "text/plain", &header, b"not now")
}

fn robots_txt(site: &SimulatedSite) -> Bytes {
    if !site.has_robots_txt {
        return whole(site, "404 Not Found", "text/plain", "", b"none");
    }
    let mut text = b"User-agent: *\nDisallow: /private/\n".to_vec();
    if let Some(delay) = site.crawl_delay {
        let delay = delay.as_secs();
        writeln!(text, "Crawl-delay: {delay}").expect("writing to a vector cannot fail");
    }
    whole(site, "200 OK", "text/plain", "", &text)
}

/// The number of the page with this path. `None` if no page has a path of this form.
fn page_number(path: &str) -> Option<u32> {
    if path == "/" {
        return Some(0);
    }
    let number = path.strip_prefix("/page")?.parse().ok()?;
    (number > 0).then_some(number)
}

fn chance(plan: &WebPlan, site: &SimulatedSite, page: u32) -> Chance {
    Chance::of(plan.seed, &[2, u64::from(site.number), u64::from(page)])
}

/// The links of a page: number of the site, and number of the page, which need not exist. The first is to the home page.
pub(crate) fn links(plan: &WebPlan, site: &SimulatedSite, page: u32) -> Vec<(u32, u32)> {
    let mut chance = chance(plan, site, page);
    let mut links = vec![(site.number, 0)];
    let internal = internal_links(site, page, &mut chance);
    links.extend(internal.into_iter().map(|other| (site.number, other)));
    links.extend((0..EXTERNAL_LINKS).map(|_| external_link(plan, &mut chance)));
    links
}

/// The pages of the same site to which a page links, beside the home page.
fn internal_links(site: &SimulatedSite, page: u32, chance: &mut Chance) -> Vec<u32> {
    let first = u64::from(page) * u64::from(CHILDREN) + 1;
    let children = first..(first + u64::from(CHILDREN)).min(u64::from(site.pages));
    let mut links: Vec<u32> = children.map(|child| child as u32).collect();
    if site.pages > 1 {
        for _ in 0..INTERNAL_LINKS {
            links.push(1 + chance.below(site.pages as usize - 1) as u32);
        }
    }
    links
}

fn html(plan: &WebPlan, site: &SimulatedSite, page: u32) -> Vec<u8> {
    let mut chance = chance(plan, site, page);
    let mut html = Vec::with_capacity(1200);
    put(
        &mut html,
        format_args!(
            "<title>Page {page} of {}</title><a href=/>home</a>",
            site.number
        ),
    );
    for other in internal_links(site, page, &mut chance) {
        put(
            &mut html,
            format_args!("<a href=/page{other}>page {other}</a>"),
        );
    }
    for _ in 0..EXTERNAL_LINKS {
        let (number, page) = external_link(plan, &mut chance);
        put(
            &mut html,
            format_args!("<a href=http://site{number}.example/"),
        );
        if page > 0 {
            put(&mut html, format_args!("page{page}"));
        }
        put(&mut html, format_args!(">site {number}</a>"));
    }
    html.extend_from_slice(b"<p>");
    for number in 0..COMMON_WORDS {
        word(number, &mut html);
    }
    for _ in 0..WORDS {
        // The probability of the word with number n is proportional to 1/n (Zipf's law).
        let magnitude = 1 << chance.below(WORD_BITS);
        word(
            COMMON_WORDS + (magnitude + chance.below(magnitude)) as u64,
            &mut html,
        );
    }
    html
}

/// A link to another site: number of the site and of the page. For half of these links, sites with low numbers are
/// preferred, so these sites have many incoming links. One link in four leads to a page other than the home page.
fn external_link(plan: &WebPlan, chance: &mut Chance) -> (u32, u32) {
    let mut number = chance.below(plan.sites as usize);
    if chance.percent(50) {
        number = chance.below(number + 1);
        number = chance.below(number + 1);
    }
    let page = if chance.percent(25) {
        1 + chance.below(3)
    } else {
        0
    };
    (number as u32, page as u32)
}

/// Appends the word with this number: eight letters.
fn word(number: u64, html: &mut Vec<u8>) {
    let mut bits = Chance::of(WORDS as u64, &[number]).next();
    let mut letters = [b' '; 9];
    for letter in &mut letters[..8] {
        *letter = b'a' + (bits & 15) as u8;
        bits >>= 8;
    }
    html.extend_from_slice(&letters);
}

/// A complete HTTP response; `headers` are additional header lines.
fn whole(
    site: &SimulatedSite,
    status: &str,
    media_type: &str,
    headers: &str,
    body: &[u8],
) -> Bytes {
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
        .expect("writing to a vector cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_deterministic_and_four_of_five_links_are_internal() {
        let plan = WebPlan::new(1, 1000);
        let site = (0..1000)
            .map(|number| SimulatedSite::of(&plan, number))
            .find(|site| site.pages > 40)
            .expect("a site has more than 40 pages");
        let (mut all, mut external) = (0, 0);
        for page in 0..10 {
            let text = html(&plan, &site, page);
            assert_eq!(text, html(&plan, &site, page));
            let text = String::from_utf8(text).expect("the page is ASCII");
            all += text.matches("<a href").count();
            external += text.matches("<a href=http").count();
        }
        assert_eq!((all, external), (100, 20));
    }

    #[test]
    fn page_numbers_of_paths() {
        for (path, expected) in [
            ("/", Some(0)),
            ("/page7", Some(7)),
            ("/page0", None),
            ("/pagex", None),
            ("/other", None),
        ] {
            assert_eq!(page_number(path), expected, "{path}");
        }
    }
}
