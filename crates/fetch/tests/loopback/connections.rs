//! Tests of kept-alive connections (when they are reused, replaced or closed), the address guard and the memory budget.

use std::net::IpAddr;

use crate::scripted_server::{Server, ServerAction, canon, fetcher, get, options, send};
use aranha_fetch::{FetchRequest, FetchSession, Options};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let actions = [ServerAction::ReadRequest, send(HELLO)]
        .into_iter()
        .cycle()
        .take(20)
        .collect();
    let server = Server::start(vec![actions]).await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    for n in 0..10 {
        let fetched = get(&fetcher, &mut session, &server, &format!("/{n}")).await;
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

/// The server closes or resets the connection after the first response, either at once or when it has read the second
/// request. The second request is repeated over a new connection.
#[tokio::test]
async fn a_closed_connection_is_replaced_once() {
    for last in [
        vec![],
        vec![ServerAction::Reset],
        vec![ServerAction::ReadRequest],
        vec![ServerAction::ReadRequest, ServerAction::Reset],
    ] {
        let first = [ServerAction::ReadRequest, send(HELLO)]
            .into_iter()
            .chain(last)
            .collect();
        let server = Server::start(vec![
            first,
            vec![ServerAction::ReadRequest, send(HELLO), ServerAction::Hold],
        ])
        .await;
        let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
        assert!(
            get(&fetcher, &mut session, &server, "/a")
                .await
                .result
                .is_ok()
        );
        assert!(session.is_open());
        let fetched = get(&fetcher, &mut session, &server, "/b").await;
        assert_eq!(&fetched.result.unwrap().body[..], b"hello");
        assert!(!fetched.timings.reused);
    }
}

#[tokio::test]
async fn a_request_over_a_new_connection_is_not_repeated() {
    let server = Server::start(vec![
        vec![ServerAction::ReadRequest],
        vec![ServerAction::ReadRequest, send(HELLO)],
    ])
    .await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    assert_eq!(
        get(&fetcher, &mut session, &server, "/")
            .await
            .result
            .unwrap_err()
            .code(),
        "reset"
    );
    assert_eq!(server.requests().len(), 1);
}

/// After a part of the response has arrived, the request is not repeated, because it may have had side effects and the
/// received bytes must be kept.
#[tokio::test]
async fn a_connection_that_breaks_inside_a_response_is_not_retried() {
    let first = vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send("HTTP/1.1 2"),
    ];
    let server = Server::start(vec![first, vec![ServerAction::ReadRequest, send(HELLO)]]).await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    assert!(
        get(&fetcher, &mut session, &server, "/a")
            .await
            .result
            .is_ok()
    );
    let fetched = get(&fetcher, &mut session, &server, "/b").await;
    assert_eq!(fetched.result.unwrap_err().code(), "reset");
    assert_eq!(&fetched.response[..], b"HTTP/1.1 2");
    assert_eq!(server.requests().len(), 2);
}

/// An unrequested response must not become the response to the next request.
#[tokio::test]
async fn unrequested_bytes_close_the_connection() {
    let late = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let server = Server::start(vec![
        vec![
            ServerAction::ReadRequest,
            send(HELLO),
            send(late),
            ServerAction::Hold,
        ],
        vec![ServerAction::ReadRequest, send(HELLO), ServerAction::Hold],
    ])
    .await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    get(&fetcher, &mut session, &server, "/a")
        .await
        .result
        .unwrap();
    // Waits until the unrequested bytes have arrived over loopback.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let fetched = get(&fetcher, &mut session, &server, "/b").await;
    assert_eq!(&fetched.result.unwrap().body[..], b"hello");
    assert!(!fetched.timings.reused);
}

#[tokio::test]
async fn another_origin_gets_another_connection() {
    let script = || {
        vec![vec![
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::Hold,
        ]]
    };
    let (one, two) = (Server::start(script()).await, Server::start(script()).await);
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    get(&fetcher, &mut session, &one, "/").await.result.unwrap();
    let fetched = get(&fetcher, &mut session, &two, "/").await;
    assert!(fetched.result.is_ok() && !fetched.timings.reused);
}

#[tokio::test]
async fn a_cancelled_fetch_leaves_no_connection() {
    let server = Server::start(vec![vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send("HTTP/1.1 200 OK\r\n"),
        ServerAction::Hold,
    ]])
    .await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    get(&fetcher, &mut session, &server, "/a")
        .await
        .result
        .unwrap();
    let cancelled = tokio::time::timeout(
        std::time::Duration::from_millis(50),
        get(&fetcher, &mut session, &server, "/b"),
    )
    .await;
    assert!(cancelled.is_err());
    assert!(!session.is_open());
}

#[tokio::test]
async fn large_responses_share_one_memory_budget() {
    let large = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
        2 << 20,
        "a".repeat(2 << 20)
    );
    let script = || vec![ServerAction::ReadRequest, send(&large), ServerAction::Hold];
    let server = Server::start(vec![script(), script(), script()]).await;
    let fetcher = fetcher(aranha_fetch::Options {
        body_memory: 2 << 20,
        max_body: 4 << 20,
        ..options()
    });
    let first = get(&fetcher, &mut FetchSession::new(), &server, "/a").await;
    assert_eq!(first.result.as_ref().unwrap().body.len(), 2 << 20);
    let wait = std::time::Duration::from_millis(100);
    let mut session = FetchSession::new();
    let second = tokio::time::timeout(wait, get(&fetcher, &mut session, &server, "/b")).await;
    assert!(
        second.is_err(),
        "the budget is exhausted while the first response is in use"
    );
    drop(first);
    let third = get(&fetcher, &mut FetchSession::new(), &server, "/c").await;
    assert_eq!(third.result.unwrap().body.len(), 2 << 20);
}

#[tokio::test]
async fn the_address_guard_checks_every_connection() {
    let server = Server::start(vec![vec![ServerAction::ReadRequest, send(HELLO)]]).await;
    let strict = fetcher(aranha_fetch::Options {
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
    let fetcher = aranha_fetch::Fetcher::new(options(), listed).unwrap();
    let fetched = fetcher
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    assert_eq!(
        fetched.result.unwrap_err().code(),
        "address-refused",
        "the black list applies in spite of allow_private"
    );
}

#[tokio::test]
async fn a_closed_port_is_a_connect_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = canon(&format!("http://{address}/"));
    let fetched = fetcher(options())
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
    let server = Server::start(vec![vec![ServerAction::ReadRequest, send(HELLO)]]).await;
    let url = server.url("/");
    let headers = vec![("Cookie", "a=b\r\nX: y".to_owned())];
    let request = FetchRequest {
        headers,
        ..FetchRequest::new(&url, server.address.ip())
    };
    let fetched = fetcher(options())
        .fetch(&mut FetchSession::new(), request)
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
    assert_eq!(server.requests().len(), 0);
}

/// Six bodies of 200 kB at 1 MB per second take at least a second together.
#[tokio::test]
async fn the_download_rate_is_limited_over_all_connections() {
    let body = "x".repeat(200_000);
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n{body}");
    let script = vec![ServerAction::ReadRequest, send(&response)];
    let server = Server::start(vec![script; 6]).await;
    let fetcher = fetcher(Options {
        limit_rate: Some(1_000_000),
        ..options()
    });
    let begun = std::time::Instant::now();
    let fetches = (0..6).map(async |_| {
        let mut session = FetchSession::new();
        let fetched = get(&fetcher, &mut session, &server, "/").await;
        fetched.result.unwrap().body.len()
    });
    let sizes = futures_util::future::join_all(fetches).await;
    assert_eq!(sizes, [200_000; 6]);
    let elapsed = begun.elapsed();
    assert!(elapsed > std::time::Duration::from_secs(1), "{elapsed:?}");
}
