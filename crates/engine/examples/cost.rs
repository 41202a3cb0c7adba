//! Does a fixed amount of the work of a crawl. `bench/count` runs it under valgrind to count instructions.
//!
//! ```text
//! cargo run -p aranha-engine --example cost -- pages|read|links|archive|frontier
//! ```
//!
//! - `pages` generates the pages for the other parts;
//! - `read` also parses them, as the collector does;
//! - `links` also makes their links canonical and computes the keys;
//! - `archive` writes the pages to volumes: digests, duplicate index, compression;
//! - `frontier` checks sites out and in, with fetched pages and new links.
//!
//! Pages, names and times are the same in every run: no clock, no randomness, no network.

use std::error::Error;
use std::fmt::Write as _;

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, Hop, Location, Outcome, Outside, PageRecord, Pending, Seed,
    Then, WindowUpdate,
};
use aranha_page::{Input, Page};
use aranha_url::{Base, CanonUrl, Canonicaliser, PathKey, UrlRules};
use aranha_volume::{Archive, Exchange};
use bytes::Bytes;

const PAGES: usize = 120;
const SITES: usize = 64;
const WORDS: [&str; 24] = [
    "web", "page", "archive", "crawler", "link", "polite", "server", "index", "history", "memory",
    "library", "spider", "volume", "visit", "record", "digest", "frontier", "seed", "night",
    "river", "letter", "window", "garden", "café",
];

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().nth(1).unwrap_or_default();
    let pages: Vec<(String, String)> = (0..PAGES).map(page).collect();
    match part.as_str() {
        "pages" => {}
        "read" => {
            let links: usize = pages.iter().map(|page| read(page).links.len()).sum();
            assert!(links > PAGES * 40, "{links} links");
        }
        "links" => {
            let kept: usize = pages.iter().map(|page| links(page, &read(page))).sum();
            assert!(kept > PAGES * 40, "{kept} links");
        }
        "archive" => archive(&pages)?,
        "frontier" => frontier()?,
        _ => return Err("usage: cost pages|read|links|archive|frontier".into()),
    }
    Ok(())
}

/// URL and HTML of a page: about 20 kB of paragraphs with links and attributes, different for each number.
fn page(number: usize) -> (String, String) {
    let mut state = number as u64 * 0x9e37_79b9 + 1;
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number} &mdash; a page</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"><script>var page = {number};</script></head>\n<body class=\"wide\">\n"
    );
    for paragraph in 0..60 {
        let _ = write!(
            html,
            "<div class='block' id=\"b{paragraph}\"><h3>{}</h3>\n<p>",
            WORDS[random(24)]
        );
        for _ in 0..28 {
            html.push_str(WORDS[random(24)]);
            html.push(' ');
        }
        let (site, target) = (random(SITES), random(1000));
        let _ = match paragraph % 3 {
            0 => write!(
                html,
                "<a href=\"/folder/{target}.html?a={paragraph}&amp;b=1\">see</a>"
            ),
            1 => write!(
                html,
                "<a class=\"link external\" href='../{target}/'>and <em>this</em></a>"
            ),
            _ => write!(
                html,
                "<A HREF=http://www.site{site}.example/%7Euser/{target}.htm#top>there</A>"
            ),
        };
        html.push_str("</p></div>\n");
    }
    html.push_str("</body></html>\n");
    (
        format!("http://www.site1.example/folder/page/{number}.html"),
        html,
    )
}

fn read((url, html): &(String, String)) -> Page {
    let input = Input {
        url,
        content_type: Some("text/html"),
        body: html.as_bytes(),
        content_language: None,
    };
    aranha_page::read(&input, &aranha_page::Options::default())
}

/// Number of links with a valid URL.
fn links((url, _): &(String, String), page: &Page) -> usize {
    let canon = Canonicaliser::new(UrlRules::default());
    let url = canon.canon(url).expect("a valid URL");
    let base = Base::of(&url);
    let joined = page
        .links
        .iter()
        .filter_map(|link| canon.join(&base, &link.href).ok());
    joined.filter(|url| PathKey::of(url.path()).0 != 0).count()
}

fn archive(pages: &[(String, String)]) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let options = aranha_volume::Options {
            threads: 1,
            ..aranha_volume::Options::default()
        };
        let (archive, _) = Archive::open(folder.path(), options)?;
        for (number, page) in pages.iter().enumerate() {
            let _ = archive.append(exchange(number, page)).await?.await?;
        }
        archive.sync().await?;
        archive.close().await?;
        Ok(())
    })
}

fn exchange(number: usize, (url, html): &(String, String)) -> Exchange {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        html.len()
    );
    let response = Bytes::from(format!("{head}{html}"));
    Exchange {
        url: url.clone(),
        time_ms: 1_794_764_880_000 + number as i64,
        address: Some([127, 0, 0, 1].into()),
        request: Bytes::from_static(
            b"GET / HTTP/1.1\r\nHost: www.site1.example\r\nUser-Agent: aranha\r\n\r\n",
        ),
        payload: response.slice(head.len()..),
        response,
        head_length: head.len(),
        status: 200,
        media_type: "text/html".to_owned(),
        metadata: [("via", "http://www.site1.example/")].into_iter().collect(),
        ..Exchange::default()
    }
}

/// Checks every site out and in ten times. Each check-in has up to ten fetched pages, thirty links to pages of the site
/// and thirty links to other sites.
fn frontier() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let canon = Canonicaliser::new(UrlRules::default());
    let mut frontier = Embedded::open(folder.path(), aranha_frontier::Options::default())?;
    let seeds: Vec<Seed> = (0..SITES)
        .map(|site| canon.canon(&format!("http://www.site{site}.example/")))
        .map(|url| Seed::of(&url.expect("a valid URL")))
        .collect();
    let mut now = 1_794_764_880_000;
    frontier.seed(now, &seeds)?;
    for round in 0..10 {
        now += 10_000;
        let leases = frontier.check_out(now, SITES)?;
        let mut batch = Vec::with_capacity(leases.len());
        for lease in leases {
            let link = |path: String| canon.rebuild(&lease.facts.origin, &path);
            let inside = (0..30).map(|number| link(format!("/{round}/page-{number}.html")));
            let inside: Vec<CanonUrl> = inside.collect::<Result<_, _>>()?;
            let (done, left) = lease.pending.split_at(lease.pending.len().min(10));
            let outside = (0..30).map(|number| {
                let url = format!(
                    "http://www.site{}.example/{round}/{number}.html",
                    number * 2
                );
                let url = canon.canon(&url).expect("a valid URL");
                Outside::of(&url, 2, Hop::Link, "http://www.site1.example/")
            });
            batch.push(CheckIn {
                lease: lease.id,
                done: done.iter().map(|page| record(page, now)).collect(),
                window: WindowUpdate::Tail {
                    keep_last: left.len(),
                    append: Vec::new(),
                },
                overflow: inside.iter().map(pending).collect(),
                keys: inside.iter().map(CanonUrl::path_key).collect(),
                outside: outside.collect(),
                later: Vec::new(),
                claims: Vec::new(),
                facts: None,
                then: Then::Release { due: now + 2000 },
            });
        }
        frontier.check_in(now, batch)?;
    }
    frontier.flush(now)?;
    let status = frontier.status(now)?;
    assert!(status.pages.done > 4000, "{} pages done", status.pages.done);
    Ok(())
}

fn pending(url: &CanonUrl) -> Pending {
    Pending {
        path: url.path().to_owned(),
        key: url.path_key(),
        depth: 1,
        site_depth: 1,
        tries: 0,
        hop: Hop::Link,
        via: "http://www.site1.example/".to_owned(),
        past: None,
    }
}

fn record(page: &Pending, now: i64) -> PageRecord {
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time: now,
        outcome: Outcome::Answer(200),
        media_type: "text/html".to_owned(),
        size: 20_000,
        digest: Some([7; 20]),
        text_digest: page.key.0,
        language: None,
        location: Some(Location {
            volume: 1.into(),
            offset: 1_000_000,
            length: 5000,
        }),
        revisit: false,
        duration_ms: 3,
        tries: 1,
        hop: page.hop,
        via: page.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}
