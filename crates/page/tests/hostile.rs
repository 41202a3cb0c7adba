//! Hostile and broken pages. Reading them takes time proportional to their length, gives bounded output and does not
//! panic.

use std::fmt::Write as _;
use std::path::Path;

use aranha_page::{Input, Options, Page, PageRemark, read};
use proptest::prelude::*;

#[path = "../../../tests/linear_time.rs"]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
mod linear_time;

fn all_options() -> Options {
    Options {
        assets: true,
        forms: true,
        scripts: true,
        ..Options::default()
    }
}

fn read_html(body: &[u8]) -> Page {
    let input = Input {
        url: "http://site.example/",
        content_type: Some("text/html"),
        body,
        content_language: None,
    };
    read(&input, &all_options())
}

/// Checks that the time to read a page is linear in its length. The page is `before`, many repetitions of `unit`, and
/// `after`.
fn check_linear(before: &str, unit: &str, after: &str) {
    let name = format!("{before}{unit}…{after}");
    let make = |bytes: usize| {
        let middle = unit.repeat(bytes.div_ceil(unit.len()));
        [before, &middle, after].concat()
    };
    linear_time::assert_linear(&name, make, |body| {
        read_html(body.as_bytes());
    });
}

#[test]
fn time_is_linear_in_tags() {
    check_linear("", "<div><b>", "");
    check_linear("", "<a href=x>", "");
    check_linear("<a ", "a1 b2=3 href=x ", ">");
    check_linear("<a ", "href=x ", ">");
    check_linear("<p ", "onclick='a(\"/b.html\")' ", ">");
    check_linear("<p ", "style=url(x) ", ">");
    check_linear("<", "x", ">");
    check_linear("<a ", "x", ">");
    check_linear("<a ", "/ = ", ">");
    check_linear("<a href='", "x", "'>");
    check_linear("<a href=\"", "<a href=x>", "");
    check_linear("<a href=", "x", "");
    check_linear("", "<a href='", "");
    check_linear("", "<", "");
    check_linear("", "</", "");
    check_linear("", "</p></svg></template>", "");
    check_linear("", "<svg><foreignObject>", "");
    check_linear("", "<template>", "");
    check_linear("", "<base href=x><meta charset=x>", "");
    check_linear("", "<meta name=robots content=x>", "");
    check_linear("<link href=x rel='", "a ", "'>");
    check_linear("<img srcset='", "a (,", "'>");
    check_linear("<img srcset='", "a 1x,", "'>");
    check_linear("<a href='", "\0", "'>");
}

#[test]
fn time_is_linear_in_text() {
    check_linear("", "x", "");
    check_linear("", "x ", "");
    check_linear("", "é\u{A0}", "");
    check_linear("", "漢", "");
    check_linear("", "&amp", "");
    check_linear("", "&", "");
    check_linear("", "&notit", "");
    check_linear("", "&CounterClockwiseContourIntegra", "");
    check_linear("&#", "9", ";");
    check_linear("", "&#x110000", "");
    check_linear("", "\r", "");
    check_linear("", "\0", "");
    check_linear("<!--", "--!", "");
    check_linear("<!--", "-", "");
    check_linear("<!--", ">", "");
    check_linear("", "<!--", "");
    check_linear("", "<!--x-->", "");
    check_linear("", "<!x", "");
    check_linear("<svg>", "<![CDATA[", "");
    check_linear("<svg>", "<![CDATA[]]>", "");
}

#[test]
fn time_is_linear_in_raw_text() {
    check_linear("<script>", "<!--<script>", "");
    check_linear("<script>", "<!--<script", "");
    check_linear("<script>", "<!--<script>-->", "");
    check_linear("<script>", "<!--<script></script>", "");
    check_linear("", "<script>", "");
    check_linear("", "<script><!--", "");
    check_linear("<script>", "</scrip", "");
    check_linear("<script>", "'http://a/b\"", "</script>");
    check_linear("<script>", "'", "</script>");
    check_linear("<style>", "url(@import", "</style>");
    check_linear("<style>", "url('", "</style>");
    check_linear("<title>", "</titl", "");
    check_linear("", "<title>", "");
    check_linear("<textarea>", "<", "");
    check_linear("", "<noscript><iframe></noscript>", "");
    check_linear("", "<noscript><!--</noscript>", "");
    check_linear("<noscript>", "<title></title><!---->", "");
    check_linear("", "<noscript><script></script>", "");
}

/// Checks XML, style sheets, manifests, plain text, and bodies in various character sets.
#[test]
fn time_is_linear_in_other_documents() {
    let check = |content_type: &str, before: &[u8], unit: &[u8]| {
        let name = format!(
            "{content_type} {}{}…",
            before.escape_ascii(),
            unit.escape_ascii()
        );
        let make = |bytes: usize| [before, &unit.repeat(bytes.div_ceil(unit.len()))].concat();
        linear_time::assert_linear(&name, make, |body| {
            let input = Input {
                url: "http://site.example/",
                content_type: Some(content_type),
                body,
                content_language: None,
            };
            read(&input, &all_options());
        });
    };
    let xml = |before: &[u8], unit: &[u8]| check("application/xml", before, unit);
    xml(b"<urlset>", b"<url><loc>http://a/b</loc></url>");
    xml(b"<urlset>", b"<url>");
    xml(b"<urlset>", b"<url><loc>");
    xml(b"<urlset><loc>", b"&amp");
    xml(b"<urlset><loc>", b"&a;");
    xml(b"<urlset>", b"<link href='");
    xml(b"<urlset><link ", b"a=b ");
    xml(b"<urlset>", b"<!--");
    xml(b"<urlset>", b"<![CDATA[");
    xml(b"<urlset>", b"<?");
    xml(b"<urlset>", b"<!DOCTYPE [");
    xml(b"<!DOCTYPE x [", b"<!ENTITY a '&b;&b;'>");
    xml(b"<!DOCTYPE x ", b"[");
    xml(b"<rss>", b"<item><link>x</link><guid>http://a/</guid>");
    xml(
        b"<rss>",
        b"<item><title>x</title><pubDate>1 Jan 1970</pubDate>",
    );
    xml(b"<feed>", b"<entry><source>");
    let css = |before: &[u8], unit: &[u8]| check("text/css", before, unit);
    css(b"", b"@import 'a';");
    css(b"", b"url(");
    css(b"", b"url(a ");
    css(b"", b"url('");
    css(b"", b"'\\");
    css(b"", b"\\");
    css(b"", b"u\\72l(");
    css(b"", b"/*");
    css(b"", b"image-set('a'");
    css(b"", b"@namespace (");
    css(b"@import ", b"/**/ ");
    check(
        "application/manifest+json",
        b"{\"icons\":[",
        b"{\"src\":\"a\"},",
    );
    check("application/manifest+json", b"", b"[");
    let text = |unit: &[u8]| check("text/plain", b"", unit);
    text(b"\xE9\xE8 ");
    text(b"\xC3\xA9\xFF");
    text(b"x\n");
    check("text/html", b"<meta charset=koi8-r>", b"\xCF\xF0");
    check("text/html", b"", b"<meta charset=");
    check("text/html", b"\xFF\xFE", b"<\0");
}

#[test]
fn output_is_limited_by_options() {
    let options = Options {
        max_links: 10,
        max_text: 100,
        max_href: 20,
        ..all_options()
    };
    let mut body = String::new();
    for number in 0..1000 {
        write!(body, "<a href=/page/{number}>word{number}</a> ").expect("write to a string");
    }
    let body = format!("{body}<a href='/{}'>", "x".repeat(68 << 10));
    let input = Input {
        body: body.as_bytes(),
        content_type: Some("text/html"),
        ..Input::default()
    };
    let page = read(&input, &options);
    assert_eq!(page.links.len(), 10);
    assert!(page.text.len() <= 100 && page.text.ends_with(char::is_numeric));
    assert_eq!(
        page.remarks,
        [
            PageRemark::LongHrefs {
                count: 1,
                longest: (68 << 10) + 1
            },
            PageRemark::LinksTruncated { dropped: 990 },
            PageRemark::TextTruncated,
        ]
    );
}

/// A URL with 68 KB of NUL characters is dropped. Such a URL made another crawler fail (Chakrabarti 2.3.6).
#[test]
fn nulls_in_a_url() {
    let body = format!(
        "<a href=\"/a{}b\">x</a><a href=/next>y</a>",
        "\0".repeat(68 << 10)
    );
    let page = read_html(body.as_bytes());
    let hrefs: Vec<_> = page.links.iter().map(|link| link.href.as_str()).collect();
    assert_eq!(hrefs, ["/next"]);
    assert!(matches!(
        page.remarks[..],
        [PageRemark::LongHrefs { count: 1, .. }]
    ));
    assert_eq!(page.text, "xy");
}

#[test]
fn deep_nesting_and_huge_tags() {
    let nested = format!("{}<a href=/deep>deep</a>", "<div>".repeat(100_000));
    let page = read_html(nested.as_bytes());
    assert_eq!((page.links.len(), page.text.as_str()), (1, "deep"));

    let tag = format!(
        "<a {} href=/big>big</a><a href=/after>",
        "x=y ".repeat(10 << 18)
    );
    assert_eq!(read_html(tag.as_bytes()).links.len(), 2);

    let open = format!("<p>before</p><a href=\"{}", "x".repeat(10 << 20));
    let page = read_html(open.as_bytes());
    assert_eq!(page.text, "before");
    assert_eq!(page.remarks, [PageRemark::Unterminated]);
}

#[test]
fn empty_input() {
    let page = read(&Input::default(), &Options::default());
    assert_eq!(page.media_type.as_str(), "application/octet-stream");
    assert_eq!(page.remarks, [PageRemark::TypeMissing]);
    assert_eq!((page.text_digest, page.charset), (0, ""));
    assert_eq!(read_html(b"").links, []);
}

/// A piece of mark-up. Sequences of such pieces reach more states than random bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"<a href=",
        b"<a ",
        b"\"",
        b"'",
        b">",
        b"/>",
        b"</a>",
        b"<script>",
        b"</script>",
        b"<!--",
        b"-->",
        b"<title>",
        b"</title>",
        b"<svg>",
        b"</svg>",
        b"<template>",
        b"</template>",
        b"<style>",
        b"</style>",
        b"<![CDATA[",
        b"]]>",
        b"<meta http-equiv=refresh content=",
        b"0;url=",
        b"<meta charset=",
        b"utf-8",
        b"koi8-r",
        b"&amp;",
        b"&#0;",
        b"&#x110000;",
        b"&nbsp",
        b"\0",
        b"\r\n",
        b"\xC2\xA0",
        b"\xFF",
        b"\xE2\x80",
        b"<p>",
        b" ",
        b"srcset=",
        b"<img ",
        b"onclick=",
        b"'/a.html'",
        b"http://a/",
        b"<base href=",
        b"<link rel=canonical href=",
        b"<textarea>",
        b"<plaintext>",
        b"<frame src=",
        b"<?xml encoding=",
        b"<!doctype html>",
        b"\xFE\xFF",
        b"x",
        b"=",
        b"<",
        b"&",
        b"<iframe>",
        b"style=url(",
        b"\\/",
        b"javascript:",
        b"data:",
        b"<html lang=",
        b"<form action=",
        b"method=get",
        b"#",
        b"<urlset>",
        b"<url>",
        b"<loc>",
        b"</loc>",
        b"<lastmod>2026-11-15</lastmod>",
        b"<rss>",
        b"<item>",
        b"<link>",
        b"</link>",
        b"<feed>",
        b"<entry>",
        b"<guid>",
        b"<!DOCTYPE x [<!ENTITY a '",
        b"%PDF-",
        b"\xEF\xBB\xBF",
    ];
    prop_oneof![
        8 => prop::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

/// A page of the corpus with a few random replacements.
fn mutated_page() -> impl Strategy<Value = Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/page");
    let entries = std::fs::read_dir(corpus).expect("corpus in the repository");
    let pages: Vec<Vec<u8>> = entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path()).ok())
        .collect();
    let replacement = (any::<prop::sample::Index>(), 0_usize..20, piece());
    let replacements = prop::collection::vec(replacement, 1..12);
    (prop::sample::select(pages), replacements).prop_map(|(mut page, replacements)| {
        for (position, length, piece) in replacements {
            let begin = position.index(page.len() + 1);
            let end = (begin + length).min(page.len());
            page.splice(begin..end, piece);
        }
        page
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_gives_a_consistent_page(
        pieces in prop::collection::vec(piece(), 0..60),
        url in ".{0,30}",
        content_type in prop::option::of(prop::sample::select(vec![
            "text/html", "text/plain", "application/xhtml+xml", "image/png", "text/html; charset=utf-16", "text/html; charset=\"", "x", ";", "",
            "application/xml", "application/rss+xml",
        ])),
    ) {
        let body = pieces.concat();
        let input = Input { url: &url, content_type, body: &body, content_language: Some("en") };
        let page = read(&input, &all_options());
        prop_assert_eq!(&page, &read(&input, &all_options()));
        // White space is folded.
        prop_assert!(!page.text.contains("  ") && !page.text.contains(" \n") && !page.text.contains("\n\n"));
        prop_assert_eq!(page.text.trim_matches([' ', '\n']), page.text.as_str());
        prop_assert_eq!(page.text_digest == 0, page.text.is_empty());
        for (index, link) in page.links.iter().enumerate() {
            prop_assert!(!link.href.contains(['\t', '\n', '\r']));
            prop_assert!(link.href.trim_matches(|c| c <= ' ') == link.href);
            prop_assert!(page.links[..index].iter().all(|other| (&other.href, other.kind) != (&link.href, link.kind)));
        }
        // Fewer options give a subset of the links and the same text.
        let default = read(&input, &Options::default());
        prop_assert!(default.links.iter().all(|link| page.links.contains(link)));
        prop_assert_eq!(default.text, page.text);
    }

    #[test]
    fn mutated_pages_give_consistent_pages(
        body in mutated_page(),
        content_type in prop::option::of(prop::sample::select(vec!["text/html", "application/xhtml+xml", "text/xml", "text/plain"])),
    ) {
        let input = Input { url: "http://site.example/", content_type, body: &body, content_language: None };
        let page = read(&input, &all_options());
        prop_assert_eq!(page.words == 0, page.text.is_empty());
        prop_assert!(page.link_dates.iter().all(|(index, _)| *index < page.links.len()));
        prop_assert!(page.link_dates.is_sorted());
        // Reading a truncated page does not panic either.
        read(&Input { body: &body[..body.len() / 2], ..input }, &all_options());
    }
}

/// The base becomes part of every resolved link, so its length is limited.
#[test]
fn a_long_base_is_dropped() {
    let body = format!("<base href='/{}/'><a href=x>", "b".repeat(1 << 20));
    let page = read_html(body.as_bytes());
    assert_eq!(page.base, None);
    assert_eq!(page.links.len(), 1);
}
