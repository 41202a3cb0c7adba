//! Tests of malformed and mislabelled contents.

use aranha_lab::Hazard;

use super::{Client, body, get, links, raw, text, with};

#[tokio::test]
async fn media_types_do_not_match_the_contents() {
    let lab = with(Hazard::Types).await;
    let check = async |target: &str, kind: Option<&str>, start: &[u8]| {
        let seen = raw(&lab, target, 4000).await;
        let head = text(&seen[..seen.len() - body(&seen).len()]);
        let line = head.lines().find_map(|l| l.strip_prefix("Content-Type:"));
        assert_eq!(line.map(str::trim), kind, "{target}");
        assert!(body(&seen).starts_with(start), "{target}");
    };
    check("/archive.html", Some("text/html"), b"PK\x03\x04").await;
    check("/page.bin", Some("application/octet-stream"), b"<!DOCTYPE").await;
    check("/paper", None, b"%PDF").await;
    check(
        "/picture.html",
        Some("text/html; charset=utf-8"),
        b"\x89PNG",
    )
    .await;
    check("/empty", Some(""), b"<!DOCTYPE").await;
    check("/missing", None, b"<!DOCTYPE").await;
    assert_eq!(links(&lab, "/").await.len(), 11);
}

#[tokio::test]
async fn urls_contain_nulls() {
    let lab = with(Hazard::Nulls).await;
    let seen = raw(&lab, "/", 200_000).await;
    let nulls = text(&seen).matches('\0').count();
    assert_eq!(nulls, 68 * 1024 + 3);
    assert!(text(&seen).contains("/c%00d.html"));
    assert!(text(&seen).ends_with("after</a>\n"));
}

#[tokio::test]
async fn urls_have_68_kilobytes() {
    let lab = with(Hazard::Lengthy).await;
    let all = links(&lab, "/").await;
    assert!(
        all[..3].iter().all(|link| link.len() > 69_000),
        "path, query, host"
    );
    assert!(
        (2000..4000).contains(&all[3].len()),
        "one URL that servers accept"
    );
    let got = get(&lab, "/redirect").await;
    assert!(got.header("location").unwrap().len() > 69_000);
    assert_eq!(get(&lab, "/after.html").await.status, 200);
}

#[tokio::test]
async fn markup_without_an_end_is_between_two_links() {
    let lab = with(Hazard::Unterminated).await;
    let all = links(&lab, "/").await;
    assert_eq!(all.len(), 12);
    for target in all {
        let page = get(&lab, &target).await.text();
        let before = page.find("/before.html").unwrap();
        assert!(page[before..].contains("/after.html"), "{target}");
    }
    assert!(get(&lab, "/comment").await.text().contains("<!-- nothing"));
    assert!(!get(&lab, "/comment").await.text().contains("-->"));
}

#[tokio::test]
async fn tags_are_nested_100_000_deep() {
    let lab = with(Hazard::Nested).await;
    for (target, tag) in [
        ("/blocks", "<div>"),
        ("/fonts", "<font color=red>"),
        ("/tables", "<table>"),
    ] {
        let page = get(&lab, target).await.text();
        assert_eq!(page.matches(tag).count(), 100_000, "{target}");
        assert!(page.ends_with("bottom</a>"));
    }
}

#[tokio::test]
async fn giants_are_single_tokens_of_ten_megabytes() {
    let lab = with(Hazard::Giant).await;
    let page = get(&lab, "/tag").await.body;
    assert!(page.len() > 10_400_000);
    assert_eq!(
        text(&page).matches('<').count(),
        6,
        "title, tag, link and their ends"
    );
    let page = get(&lab, "/attributes").await.text();
    assert!(page.matches("a0000=1").count() > 700_000);
}

#[tokio::test]
async fn declared_encodings_contradict_the_contents() {
    let lab = with(Hazard::Charsets).await;
    let check = async |target: &str, charset: Option<&str>, expected: &[u8]| {
        let got = get(&lab, target).await;
        let kind = got.header("content-type").unwrap();
        assert_eq!(
            kind.split_once("charset=").map(|c| c.1),
            charset,
            "{target}"
        );
        assert!(
            got.body.windows(expected.len()).any(|w| w == expected),
            "{target}"
        );
    };
    check("/latin-as-utf", Some("utf-8"), b"S\xe3o").await;
    check("/utf-as-latin", Some("iso-8859-1"), "São".as_bytes()).await;
    check(
        "/meta-against-header",
        Some("utf-8"),
        b"<meta charset=koi8-r>",
    )
    .await;
    check("/none", None, b"S\xe3o").await;
    check("/unknown", Some("martian"), "São".as_bytes()).await;
    check("/wide", Some("utf-16"), b"\xff\xfe<\0p\0").await;
    check("/mixed", Some("utf-8"), b"S\xe3o").await;
    check("/mixed", Some("utf-8"), "São".as_bytes()).await;
    check("/cut", Some("utf-8"), b"\xf0\x9f\xa6").await;
    check("/declared", None, b"<meta charset=macintosh><p>S\x8bo").await;
    check("/declared-xml", None, b"cora\x8d\x8bo").await;
    assert_eq!(links(&lab, "/").await.len(), 16);
}

#[tokio::test]
async fn last_modified_is_early_late_or_invalid() {
    let lab = with(Hazard::Dates).await;
    let date = async |target: &str| {
        get(&lab, target)
            .await
            .header("last-modified")
            .unwrap()
            .to_owned()
    };
    assert!(date("/before").await.contains(" 1992 "));
    assert!(date("/beyond").await.contains(" 10000 "));
    assert_eq!(date("/words").await, "yesterday");
    assert!(date("/hours").await.ends_with(" GMT"));
    assert_ne!(date("/hours").await, date("/days").await);
}

#[tokio::test]
async fn a_browser_gets_the_page_and_others_a_notice() {
    let lab = with(Hazard::Browser).await;
    assert!(get(&lab, "/").await.text().contains("not supported"));
    let host = Hazard::Browser.host();
    let mut client = Client::to(&lab, host).await;
    client
        .send(&format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Mozilla/5.0 (X11) Firefox\r\n\r\n"
        ))
        .await;
    assert!(!client.answer().await.text().contains("not supported"));
}

#[tokio::test]
async fn the_page_of_100_000_links_has_existing_targets() {
    let lab = with(Hazard::Crowd).await;
    let all = links(&lab, "/").await;
    assert_eq!(all.len(), 100_000);
    assert_eq!(get(&lab, &all[99_999]).await.status, 200);
}
