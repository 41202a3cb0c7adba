//! Kept connections: used again, found closed, never used when in doubt; and what is sent over them.

use std::net::IpAddr;

use crate::scripted_server::{Act, Server, canon, get, options, send, web};
use aranha_fetch::{FetchRequest, FetchSession};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let acts = [Act::Ask, send(HELLO)]
        .into_iter()
        .cycle()
        .take(20)
        .collect();
    let server = Server::start(vec![acts]).await;
    let (web, mut session) = (web(options()), FetchSession::new());
    for n in 0..10 {
        let fetched = get(&web, &mut session, &server, &format!("/{n}")).await;
        assert_eq!(&fetched.result.unwrap().body[..], b"hello");
        assert_eq!(fetched.timings.reused, n > 0);
        assert_eq!(fetched.timings.connect.is_zero(), n > 0);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 10);
    assert!(
        requests[9].starts_with("GET /9 HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{}",
        requests[9]
    );
}

/// The server closes between two requests, in order or by reset, seen before or only after the request is sent: the
/// second request goes out over a new connection, once.
#[tokio::test]
async fn a_closed_connection_is_replaced_once() {
    for last in [
        vec![],
        vec![Act::Reset],
        vec![Act::Ask],
        vec![Act::Ask, Act::Reset],
    ] {
        let first = [Act::Ask, send(HELLO)].into_iter().chain(last).collect();
        let server = Server::start(vec![first, vec![Act::Ask, send(HELLO), Act::Hold]]).await;
        let (web, mut session) = (web(options()), FetchSession::new());
        assert!(get(&web, &mut session, &server, "/a").await.result.is_ok());
        assert!(session.is_open());
        let fetched = get(&web, &mut session, &server, "/b").await;
        assert_eq!(&fetched.result.unwrap().body[..], b"hello");
        assert!(!fetched.timings.reused);
    }
}

#[tokio::test]
async fn a_new_connection_that_closes_is_not_tried_again() {
    let server = Server::start(vec![vec![Act::Ask], vec![Act::Ask, send(HELLO)]]).await;
    let (web, mut session) = (web(options()), FetchSession::new());
    assert_eq!(
        get(&web, &mut session, &server, "/")
            .await
            .result
            .unwrap_err()
            .code(),
        "reset"
    );
    assert_eq!(server.requests().len(), 1);
}

/// Half an answer over a kept connection is the answer: the page may have side effects, and the bytes are evidence.
#[tokio::test]
async fn a_kept_connection_that_breaks_inside_an_answer_is_not_tried_again() {
    let first = vec![Act::Ask, send(HELLO), Act::Ask, send("HTTP/1.1 2")];
    let server = Server::start(vec![first, vec![Act::Ask, send(HELLO)]]).await;
    let (web, mut session) = (web(options()), FetchSession::new());
    assert!(get(&web, &mut session, &server, "/a").await.result.is_ok());
    let fetched = get(&web, &mut session, &server, "/b").await;
    assert_eq!(fetched.result.unwrap_err().code(), "reset");
    assert_eq!(&fetched.response[..], b"HTTP/1.1 2");
    assert_eq!(server.requests().len(), 2);
}

/// An answer that nobody asked for must not become the answer to the next request.
#[tokio::test]
async fn bytes_between_answers_end_the_connection() {
    let late = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let server = Server::start(vec![
        vec![Act::Ask, send(HELLO), send(late), Act::Hold],
        vec![Act::Ask, send(HELLO), Act::Hold],
    ])
    .await;
    let (web, mut session) = (web(options()), FetchSession::new());
    get(&web, &mut session, &server, "/a").await.result.unwrap();
    // The late bytes are on their way over loopback: nothing tells when they are here.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let fetched = get(&web, &mut session, &server, "/b").await;
    assert_eq!(&fetched.result.unwrap().body[..], b"hello");
    assert!(!fetched.timings.reused);
}

#[tokio::test]
async fn another_origin_gets_another_connection() {
    let script = || vec![vec![Act::Ask, send(HELLO), Act::Hold]];
    let (one, two) = (Server::start(script()).await, Server::start(script()).await);
    let (web, mut session) = (web(options()), FetchSession::new());
    get(&web, &mut session, &one, "/").await.result.unwrap();
    let fetched = get(&web, &mut session, &two, "/").await;
    assert!(fetched.result.is_ok() && !fetched.timings.reused);
}

#[tokio::test]
async fn a_cancelled_fetch_leaves_no_connection() {
    let server = Server::start(vec![vec![
        Act::Ask,
        send(HELLO),
        Act::Ask,
        send("HTTP/1.1 200 OK\r\n"),
        Act::Hold,
    ]])
    .await;
    let (web, mut session) = (web(options()), FetchSession::new());
    get(&web, &mut session, &server, "/a").await.result.unwrap();
    let cut = tokio::time::timeout(
        std::time::Duration::from_millis(50),
        get(&web, &mut session, &server, "/b"),
    )
    .await;
    assert!(cut.is_err());
    assert!(!session.is_open());
}

#[tokio::test]
async fn large_answers_share_one_budget() {
    let large = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
        2 << 20,
        "a".repeat(2 << 20)
    );
    let script = || vec![Act::Ask, send(&large), Act::Hold];
    let server = Server::start(vec![script(), script(), script()]).await;
    let web = web(aranha_fetch::Options {
        body_memory: 2 << 20,
        max_body: 4 << 20,
        ..options()
    });
    let first = get(&web, &mut FetchSession::new(), &server, "/a").await;
    assert_eq!(first.result.as_ref().unwrap().body.len(), 2 << 20);
    let wait = std::time::Duration::from_millis(100);
    let mut session = FetchSession::new();
    let second = tokio::time::timeout(wait, get(&web, &mut session, &server, "/b")).await;
    assert!(
        second.is_err(),
        "there is no room while the first is in use"
    );
    drop(first);
    let third = get(&web, &mut FetchSession::new(), &server, "/c").await;
    assert_eq!(third.result.unwrap().body.len(), 2 << 20);
}

#[tokio::test]
async fn the_guard_stands_before_every_socket() {
    let server = Server::start(vec![vec![Act::Ask, send(HELLO)]]).await;
    let strict = web(aranha_fetch::Options {
        allow_private: false,
        ..options()
    });
    let url = server.url("/");
    for address in [
        "127.0.0.1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "::1",
        "64:ff9b::7f00:1",
    ] {
        let address: IpAddr = address.parse().unwrap();
        let fetched = strict
            .fetch(&mut FetchSession::new(), FetchRequest::new(&url, address))
            .await;
        assert_eq!(
            fetched.result.unwrap_err().code(),
            "address-refused",
            "{address}"
        );
        assert_eq!(fetched.address, None);
        assert!(fetched.request.is_empty());
    }
    assert_eq!(server.requests().len(), 0);
    for host in ["127.0.0.1", "[::1]", "::1", "169.254.169.254"] {
        assert_eq!(
            strict.resolve(host).await.unwrap_err().code(),
            "address-refused",
            "{host}"
        );
    }
    assert_eq!(
        strict.resolve("9.9.9.9").await.unwrap().addresses,
        ["9.9.9.9".parse::<IpAddr>().unwrap()]
    );
    let listed = aranha_url::Blacklist::parse_lines("127.0.0.0/8").unwrap();
    let web = aranha_fetch::Fetcher::new(options(), listed).unwrap();
    let fetched = web
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    assert_eq!(
        fetched.result.unwrap_err().code(),
        "address-refused",
        "the user's list has the last word"
    );
}

#[tokio::test]
async fn nobody_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = canon(&format!("http://{address}/"));
    let fetched = web(options())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "connect-failed");
    assert_eq!(fetched.address, None);
}

#[tokio::test]
async fn a_header_with_a_line_break_is_not_sent() {
    let server = Server::start(vec![vec![Act::Ask, send(HELLO)]]).await;
    let url = server.url("/");
    let headers = vec![("Cookie", "a=b\r\nX: y".to_owned())];
    let request = FetchRequest {
        headers,
        ..FetchRequest::new(&url, server.address.ip())
    };
    let fetched = web(options())
        .fetch(&mut FetchSession::new(), request)
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
    assert_eq!(server.requests().len(), 0);
}
