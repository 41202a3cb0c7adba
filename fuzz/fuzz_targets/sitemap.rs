//! Sitemaps and feeds, also compressed and in other character sets. The result keeps its limits, every date belongs to a
//! link, and reading is deterministic.
#![no_main]

use aranha_fuzz::with_parameters;
use aranha_page::{Input, Options, read};
use libfuzzer_sys::fuzz_target;

const TYPES: [(&str, &str); 5] = [
    ("http://example.org/sitemap.xml", "application/xml"),
    (
        "http://example.org/feed",
        "application/rss+xml; charset=windows-1251",
    ),
    ("http://example.org/atom", "application/atom+xml"),
    ("http://example.org/sitemap.txt", "text/plain"),
    ("http://example.org/sitemap.xml.gz", "application/gzip"),
];

fuzz_target!(|data: &[u8]| {
    let (body, [kind]) = with_parameters(data);
    let (url, content_type) = TYPES[usize::from(kind) % TYPES.len()];
    let input = Input {
        url,
        content_type: Some(content_type),
        body,
        content_language: Some("en"),
    };
    let options = Options {
        max_links: 50,
        max_text: 1000,
        max_unpacked: 100_000,
        ..Options::default()
    };
    let page = read(&input, &options);
    assert!(page.links.len() <= options.max_links);
    assert!(page.link_dates.is_sorted_by_key(|(index, _)| *index));
    assert!(
        page.link_dates
            .iter()
            .all(|(index, _)| *index < page.links.len())
    );
    let again = read(&input, &options);
    assert_eq!(again.link_dates, page.link_dates);
});
