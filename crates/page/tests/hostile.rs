//! Pages that mean harm, or are broken beyond hope: reading them ends, in time proportional to their length, with
//! bounded output and without a panic.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aranha_page::{Input, MediaType, Options, Page, Remark, read};
use proptest::prelude::*;

fn everything() -> Options {
    Options {
        assets: true,
        forms: true,
        scripts: true,
        ..Options::default()
    }
}

fn html(body: &[u8]) -> Page {
    let input = Input {
        url: "http://site.example/",
        content_type: Some("text/html"),
        body,
        content_language: None,
    };
    read(&input, &everything())
}

/// Processor time of this thread where the kernel tells it, so that a busy machine does not decide; else the time of
/// day.
fn clock() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let running = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    running.map_or_else(
        || ORIGIN.get_or_init(Instant::now).elapsed(),
        Duration::from_nanos,
    )
}

/// Reads `unit` repeated to one size and to four times that: the time may not grow by much more than that.
fn check_linear(name: &str, before: &str, unit: &str, after: &str) -> Page {
    let make = |bytes: usize| {
        let middle = unit.repeat(bytes / unit.len().max(1));
        format!("{before}{middle}{after}")
    };
    let time = |body: &str| {
        let mut best = Duration::MAX;
        for _ in 0..3 {
            let start = clock();
            html(body.as_bytes());
            best = best.min(clock().saturating_sub(start));
        }
        best
    };
    let (small, large) = (make(16 << 10), make(64 << 10));
    let (short, long) = (time(&small), time(&large));
    // Quadratic would be 16 times.
    assert!(
        long < short * 10 + Duration::from_millis(20),
        "{name}: {short:?} for 16 KiB, {long:?} for 64 KiB"
    );
    html(large.as_bytes())
}

#[test]
fn time_is_linear() {
    check_linear("open tags", "", "<div><b>", "");
    check_linear("open links", "", "<a href=x>", "");
    check_linear("distinct attributes", "<a ", "a1 b2=3 href=x ", ">");
    check_linear("handlers", "<p ", "onclick='a(\"/b.html\")' ", ">");
    check_linear("one word", "", "x", "");
    check_linear("one tag name", "<", "x", ">");
    check_linear("one attribute name", "<a ", "x", ">");
    check_linear("one attribute value", "<a href='", "x", "'>");
    check_linear("unterminated value", "<a href=\"", "<a href=x>", "");
    check_linear("unterminated comment", "<!--", "--!", "");
    check_linear("comments", "", "<!--x-->", "");
    check_linear("lone brackets", "", "<", "");
    check_linear("end tags", "", "</p></svg></template>", "");
    check_linear("svg", "", "<svg><foreignObject>", "");
    check_linear("templates", "", "<template>", "");
    check_linear("entities", "", "&amp", "");
    check_linear("lone ampersands", "", "&", "");
    check_linear("ambiguous references", "", "&notit", "");
    check_linear("numeric", "&#", "9", ";");
    check_linear("script", "<script>", "<!--<script>", "");
    check_linear("script ends", "<script>", "</scrip", "");
    check_linear("script strings", "<script>", "'http://a/b\"", "</script>");
    check_linear("styles", "<style>", "url(@import", "</style>");
    check_linear("srcset", "<img srcset='", "a (,", "'>");
    check_linear("rel", "<link href=x rel='", "a ", "'>");
    check_linear("meta", "", "<meta charset><meta name=robots content=x>", "");
    check_linear("nulls", "<a href='", "\0", "'>");
    check_linear("cdata", "<svg>", "<![CDATA[", "");
    check_linear("title", "<title>", "</titl", "");
    check_linear("carriage returns", "", "\r", "");
}

#[test]
fn memory_is_bounded_by_options() {
    let options = Options {
        max_links: 10,
        max_text: 100,
        max_href: 20,
        ..everything()
    };
    let mut body = String::new();
    for number in 0..1000 {
        write!(body, "<a href=/page/{number}>word{number}</a> ").expect("writing to a string");
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
            Remark::LongHrefs {
                count: 1,
                longest: (68 << 10) + 1
            },
            Remark::LinksCut { left_out: 990 },
            Remark::TextCut,
        ]
    );
}

/// The page that broke a crawler: 68 KB of null characters in the middle of a URL.
#[test]
fn nulls_in_a_url() {
    let body = format!(
        "<a href=\"/a{}b\">x</a><a href=/next>y</a>",
        "\0".repeat(68 << 10)
    );
    let page = html(body.as_bytes());
    let hrefs: Vec<_> = page.links.iter().map(|link| link.href.as_str()).collect();
    assert_eq!(hrefs, ["/next"]);
    assert!(matches!(
        page.remarks[..],
        [Remark::LongHrefs { count: 1, .. }]
    ));
    assert_eq!(page.text, "xy");
}

#[test]
fn large_and_deep() {
    let deep = format!("{}<a href=/deep>deep</a>", "<div>".repeat(100_000));
    let page = html(deep.as_bytes());
    assert_eq!((page.links.len(), page.text.as_str()), (1, "deep"));

    let tag = format!(
        "<a {} href=/big>big</a><a href=/after>",
        "x=y ".repeat(10 << 18)
    );
    assert_eq!(html(tag.as_bytes()).links.len(), 2);

    let open = format!("<p>before</p><a href=\"{}", "x".repeat(10 << 20));
    let page = html(open.as_bytes());
    assert_eq!(page.text, "before");
    assert_eq!(page.remarks, [Remark::Unterminated]);
}

#[test]
fn nothing_at_all() {
    let page = read(&Input::default(), &Options::default());
    assert_eq!(page.media_type, MediaType::BINARY);
    assert_eq!(page.remarks, [Remark::TypeMissing]);
    assert_eq!((page.text_digest, page.charset), (0, ""));
    assert_eq!(html(b"").links, []);
}

/// Pieces that open, close, break and nest: more likely to meet than random bytes.
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
        b"%PDF-",
        b"\xEF\xBB\xBF",
    ];
    prop_oneof![
        8 => prop::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_a_page(
        pieces in prop::collection::vec(piece(), 0..60),
        url in ".{0,30}",
        content_type in prop::option::of(prop::sample::select(vec![
            "text/html", "text/plain", "application/xhtml+xml", "image/png", "text/html; charset=utf-16", "text/html; charset=\"", "x", ";", "",
        ])),
    ) {
        let body = pieces.concat();
        let input = Input { url: &url, content_type, body: &body, content_language: Some("en") };
        let page = read(&input, &everything());
        prop_assert_eq!(&page, &read(&input, &everything()));
        // The text is folded: nothing to fold a second time.
        prop_assert!(!page.text.contains("  ") && !page.text.contains(" \n") && !page.text.contains("\n\n"));
        prop_assert_eq!(page.text.trim_matches([' ', '\n']), page.text.as_str());
        prop_assert_eq!(page.text_digest == 0, page.text.is_empty());
        for (index, link) in page.links.iter().enumerate() {
            prop_assert!(!link.href.contains(['\t', '\n', '\r']));
            prop_assert!(link.href.trim_matches(|c| c <= ' ') == link.href);
            prop_assert!(page.links[..index].iter().all(|other| (&other.href, other.kind) != (&link.href, link.kind)));
        }
        // Fewer wishes never bring more links, and the text does not depend on them.
        let plain = read(&input, &Options::default());
        prop_assert!(plain.links.iter().all(|link| page.links.contains(link)));
        prop_assert_eq!(plain.text, page.text);
    }
}
