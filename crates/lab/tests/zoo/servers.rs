//! Tests of servers that violate the protocol or break connections.

use std::time::{Duration, SystemTime};

use aranha_lab::Hazard;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Client, body, get, links, raw, raw_with, text, with};

#[tokio::test]
async fn header_sections_never_end() {
    let lab = with(Hazard::Preamble).await;
    for (target, repeated) in [
        ("/lines", "\r\nX-Filler:"),
        ("/line", "and so on"),
        ("/status", "quite all right"),
    ] {
        let seen = text(&raw(&lab, target, 200_000).await);
        assert!(
            seen.len() >= 200_000 && !seen.contains("\r\n\r\n"),
            "{target}"
        );
        assert!(seen.matches(repeated).count() > 1000, "{target}");
    }
    assert_eq!(links(&lab, "/").await.len(), 3);
}

#[tokio::test]
async fn interim_responses_come_first_or_alone() {
    let lab = with(Hazard::Interim).await;
    let seen = text(&raw(&lab, "/continue", 100_000).await);
    assert!(seen.matches("HTTP/1.1 100 ").count() > 3000 && !seen.contains("HTTP/1.1 200"));
    let seen = text(&raw(&lab, "/hints", 100_000).await);
    assert_eq!(seen.matches("HTTP/1.1 103 ").count(), 30);
    assert!(seen.ends_with("<p>At last.</p>"));
}

#[tokio::test]
async fn each_chunked_body_has_one_fault() {
    let lab = with(Hazard::Chunks).await;
    let check = async |target: &str, expected: &str| {
        let seen = text(&raw(&lab, target, 4000).await);
        assert!(seen.contains("Transfer-Encoding: chunked\r\n"), "{target}");
        assert!(
            text(body(seen.as_bytes())).starts_with(expected),
            "{target}: {seen}"
        );
    };
    check("/word", "zebra\r\n").await;
    check("/short", "40\r\n<p>closes").await;
    check("/huge", "7fffffffffffffff\r\n").await;
    check("/overflow", "10000000000000000a\r\n").await;
    check("/negative", "-1\r\n").await;
    check("/bare", "10\n").await;
    check("/glued", "9\r\n<p>glued!8\r\n").await;
    check("/plain", "<title>").await;
    check("/sizes", "000000000000000000000").await;
    let seen = text(&raw(&lab, "/both", 4000).await);
    assert!(seen.contains("Content-Length: 10\r\n") && seen.contains("\r\n2f\r\n"));
    let whole = body(seen.as_bytes());
    assert!(
        whole.ends_with(b"0\r\n\r\n") && whole.len() == 4 + 0x2f + 7,
        "{seen}"
    );
    assert_eq!(
        text(&raw(&lab, "/twice", 4000).await)
            .matches("Transfer-Encoding")
            .count(),
        2
    );
    let seen = text(&raw(&lab, "/trailers", 100_000).await);
    assert!(seen.matches("X-Trailer").count() > 1000);
    let seen = raw(&lab, "/last", 4000).await;
    assert!(body(&seen).starts_with(b"14\r\n") && !text(&seen).contains("\r\n0\r\n"));
    assert_eq!(links(&lab, "/").await.len(), 16);
}

#[tokio::test]
async fn ancient_responses_have_invalid_status_lines() {
    let lab = with(Hazard::Ancient).await;
    let check = async |target: &str, expected: &str| {
        let seen = text(&raw(&lab, target, 4000).await);
        assert!(seen.starts_with(expected), "{target}: {seen}");
        assert!(seen.ends_with("</p>\n"), "{target}");
    };
    check("/bare", "<title>").await;
    check("/icy", "ICY 200 OK\r\n").await;
    check("/two", "HTTP/2.0 200").await;
    check(
        "/newlines",
        "HTTP/1.0 200 OK\nContent-Type: text/html\n\n<title>",
    )
    .await;
    check("/status", "HTTP/1.1 99999").await;
    check("/word", "HTTP/1.1 OK\r\n").await;
    check("/blank", "\r\n\r\n").await;
}

#[tokio::test]
async fn malformed_header_fields_precede_a_valid_body() {
    let lab = with(Hazard::Fields).await;
    let check = async |target: &str, expected: &[u8]| {
        let seen = raw(&lab, target, 200_000).await;
        assert!(
            seen.windows(expected.len()).any(|w| w == expected),
            "{target}: {}",
            text(&seen)
        );
        assert_eq!(
            body(&seen).len(),
            58,
            "{target}: the announced length is correct"
        );
    };
    check("/none", b"HTTP/1.1 200 OK\r\n\r\n").await;
    check("/lengths", b"Content-Length: 58\r\nContent-Length: 20\r\n").await;
    check("/list", b"Content-Length: 58, 58\r\n").await;
    check("/types", b"text/html\r\nContent-Type: image/png").await;
    check("/folded", b";\r\n  charset=utf-8").await;
    check("/space", b"Content-Type : ").await;
    check("/colon", b"\r\nno colon here\r\n").await;
    check("/control", b"a\0b\x01c\x7f").await;
    check("/latin", b"caf\xe9").await;
    check("/return", b"text/html\rX-Bare").await;
    check("/many", b"X-Line-4999: 4999\r\n").await;
}

#[tokio::test]
async fn range_requests_get_416_and_others_the_page() {
    let lab = with(Hazard::Ranges).await;
    let (seen, _) = raw_with(&lab, "/", "Range: bytes=0-400000\r\n", 4000).await;
    assert!(text(&seen).starts_with("HTTP/1.1 416 "));
    assert_eq!(get(&lab, "/").await.status, 200);
}

#[tokio::test]
async fn redirects_have_no_usable_location() {
    let lab = with(Hazard::Aimless).await;
    let check = async |target: &str, locations: usize, expected: &str| {
        let seen = text(&raw(&lab, target, 4000).await);
        assert!(seen.starts_with("HTTP/1.1 30"), "{target}");
        assert_eq!(seen.matches("Location:").count(), locations, "{target}");
        assert!(seen.contains(expected), "{target}");
    };
    check("/none", 0, "302").await;
    check("/empty", 1, "Location: \r\n").await;
    check("/two", 2, "/two.html").await;
    check("/broken", 1, "http://[::1/").await;
    check("/choices", 0, "300").await;
    check("/unasked", 0, "304").await;
}

#[tokio::test]
async fn long_loops_close_and_the_chain_goes_on() {
    let lab = with(Hazard::Circle).await;
    let next = async |target: &str| {
        let got = get(&lab, target).await;
        got.header("location")
            .unwrap()
            .splitn(4, '/')
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(next("/long/58").await, "long/59");
    assert_eq!(next("/long/59").await, "long/0");
    assert_eq!(next("/on/123456").await, "on/123457");
}

#[tokio::test]
async fn missing_pages_answer_200() {
    let lab = with(Hazard::Soft).await;
    let absent = get(&lab, "/no-such-page-4711").await;
    assert_eq!(absent.status, 200);
    assert!(absent.text().contains("not found"));
    assert!(!get(&lab, "/real.html").await.text().contains("not found"));
    let shop = get(&lab, "/shop/gone").await;
    assert_eq!(shop.status, 302);
    assert!(shop.header("location").unwrap().contains("/error.html"));
    assert!(
        get(&lab, "/error.html?from=x")
            .await
            .text()
            .contains("not found")
    );
}

#[tokio::test]
async fn server_errors_under_once_happen_once() {
    let lab = with(Hazard::Storm).await;
    let all = links(&lab, "/").await;
    assert_eq!(all.len(), 40);
    for target in all {
        assert!(get(&lab, &target).await.status >= 500, "{target}");
        let again = get(&lab, &target).await.status;
        assert_eq!(again == 200, target.starts_with("/once/"), "{target}");
    }
}

#[tokio::test]
async fn busy_pages_are_served_at_the_third_request() {
    let lab = with(Hazard::Busy).await;
    let got = get(&lab, "/seconds").await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("1")));
    assert_eq!(get(&lab, "/seconds").await.status, 429);
    assert_eq!(get(&lab, "/seconds").await.status, 200);
    let got = get(&lab, "/date").await;
    let date = httpdate_seconds(got.header("retry-after").unwrap());
    assert!(date.abs_diff(seconds(SystemTime::now())) <= 2, "{date}");
    for _ in 0..4 {
        assert_eq!(get(&lab, "/never").await.status, 429);
    }
    assert_eq!(
        get(&lab, "/nonsense").await.header("retry-after"),
        Some("soon")
    );
    assert_eq!(get(&lab, "/unavailable").await.status, 503);
    lab.clear();
    assert_eq!(
        get(&lab, "/seconds").await.status,
        429,
        "Lab::clear resets the counter"
    );
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Unix time of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`. Only the time of day is read. The date is taken to be
/// today.
fn httpdate_seconds(date: &str) -> u64 {
    let clock: Vec<u64> = date[17..25]
        .split(':')
        .map(|part| part.parse().unwrap())
        .collect();
    let day = seconds(SystemTime::now() + Duration::from_secs(1)) / 86_400 * 86_400;
    day + clock[0] * 3600 + clock[1] * 60 + clock[2]
}

#[tokio::test]
async fn connections_are_reset_at_every_byte() {
    let lab = with(Hazard::Reset).await;
    let all = links(&lab, "/").await;
    let whole = raw(&lab, "/close/9999", 4000).await;
    assert_eq!(body(&whole).len(), 44, "the complete response is correct");
    assert_eq!(all.len(), whole.len() + 3);
    for n in [0, 1, 16, 17, 60, 66, 70, whole.len()] {
        let (seen, reset) = raw_with(&lab, &format!("/reset/{n}"), "", 4000).await;
        assert!(
            reset && whole.starts_with(&seen) && seen.len() <= n,
            "{n}: {}",
            seen.len()
        );
        let (seen, reset) = raw_with(&lab, &format!("/close/{n}"), "", 4000).await;
        assert!(!reset && seen.len() == n, "{n}: {}", seen.len());
    }
}

#[tokio::test]
async fn a_site_that_is_down_refuses_connections() {
    let lab = with(Hazard::Down).await;
    let address = lab.web().address("down.lab").unwrap();
    let attempt = timeout(
        Duration::from_secs(2),
        TcpStream::connect((address, lab.port())),
    );
    let error = attempt.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn the_void_never_completes_a_connection() {
    let many = aranha_lab::Plan {
        addresses: 300,
        ..aranha_lab::Plan::small(1)
    };
    for plan in [aranha_lab::Plan::small(1), many] {
        let hazards = vec![Hazard::Void];
        let lab = aranha_lab::Lab::start(aranha_lab::Plan { hazards, ..plan });
        let lab = lab.await.unwrap();
        let address = lab.web().address("void.lab").unwrap();
        let connecting = TcpStream::connect((address, lab.port()));
        assert!(
            timeout(Duration::from_millis(300), connecting)
                .await
                .is_err(),
            "the connection is neither accepted nor refused"
        );
        let other = lab.web().address("site000.lab").unwrap();
        assert!(TcpStream::connect((other, lab.port())).await.is_ok());
    }
}

#[tokio::test]
async fn header_bytes_arrive_one_by_one() {
    let lab = with(Hazard::Trickle).await;
    let mut client = Client::to(&lab, Hazard::Trickle.host()).await;
    client.ask(Hazard::Trickle.host(), "/", "").await;
    for count in 1..=3 {
        assert!(client.more().await);
        assert_eq!(client.pending(), count);
    }
}

#[tokio::test]
async fn radio_streams_never_end() {
    let lab = with(Hazard::Radio).await;
    let all = links(&lab, "/").await;
    assert_eq!(all.len(), 5);
    for target in &all[..4] {
        let mut client = Client::to(&lab, Hazard::Radio.host()).await;
        client.ask(Hazard::Radio.host(), target, "").await;
        let started = std::time::Instant::now();
        while client.pending() < 10_000 {
            assert!(client.more().await);
        }
        assert!(
            started.elapsed() > Duration::from_millis(400),
            "the stream is sent at playback speed"
        );
    }
    let list = get(&lab, "/playlist.m3u").await.text();
    assert!(list.contains("/listen.mp3\n"), "{list}");
}
