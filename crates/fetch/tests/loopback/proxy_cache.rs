//! Tests of requests to the cache of a proxy.

use aranha_fetch::{FetchRequest, FetchSession, Fetched, Fetcher, Options};

use crate::scripted_server::{Server, ServerAction, canon, fetcher, options, send};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

async fn get(fetcher: &Fetcher, session: &mut FetchSession, proxy: &Server, url: &str) -> Fetched {
    let url = canon(url);
    let request = FetchRequest {
        cache: Some(proxy.address),
        headers: vec![("Cache-Control", "only-if-cached".to_owned())],
        ..FetchRequest::by_name(&url)
    };
    fetcher.fetch(session, request).await
}

#[tokio::test]
async fn requests_to_a_proxy_have_the_absolute_form_and_share_a_connection() {
    let two = vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::Hold,
    ];
    let proxy = Server::start(vec![two]).await;
    // The guard does not check the proxy's address, and the host name of the URL is not resolved.
    let strict = Options {
        allow_private: false,
        ..options()
    };
    let (fetcher, mut session) = (fetcher(strict), FetchSession::new());
    let first = get(
        &fetcher,
        &mut session,
        &proxy,
        "http://example.org:81/a?b=c",
    )
    .await;
    assert_eq!(&first.result.unwrap().body[..], b"hello");
    // The address of the proxy is not reported as the address of the server.
    assert_eq!(first.address, None);
    let second = get(&fetcher, &mut session, &proxy, "http://example.com/").await;
    assert!(second.result.is_ok() && second.timings.reused);
    let requests = proxy.requests();
    assert!(
        requests[0]
            .starts_with("GET http://example.org:81/a?b=c HTTP/1.1\r\nHost: example.org:81\r\n"),
        "{}",
        requests[0]
    );
    assert!(requests[0].ends_with("Cache-Control: only-if-cached\r\n\r\n"));
    assert!(requests[1].starts_with("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"));
}

/// One server is used directly and as a proxy. The session keeps a connection for each kind and does not mix them.
#[tokio::test]
async fn direct_and_proxied_connections_are_not_mixed() {
    let script = || {
        vec![
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::Hold,
        ]
    };
    let server = Server::start(vec![script(), script()]).await;
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    let url = format!("http://{}/", server.address);
    let mut reused = Vec::new();
    for _ in 0..2 {
        let direct = crate::scripted_server::get(&fetcher, &mut session, &server, "/").await;
        let proxied = get(&fetcher, &mut session, &server, &url).await;
        for fetched in [direct, proxied] {
            fetched.result.unwrap();
            reused.push(fetched.timings.reused);
        }
    }
    assert_eq!(reused, [false, false, true, true]);
    session.close();
    assert!(!session.is_open());
}

#[tokio::test]
async fn another_proxy_gets_another_connection() {
    let script = || {
        vec![vec![
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::Hold,
        ]]
    };
    let (one, two) = (Server::start(script()).await, Server::start(script()).await);
    let (fetcher, mut session) = (fetcher(options()), FetchSession::new());
    for proxy in [&one, &two] {
        let fetched = get(&fetcher, &mut session, proxy, "http://example.org/").await;
        assert!(fetched.result.is_ok() && !fetched.timings.reused);
    }
}

/// A proxy may reach private addresses. A link must not bypass the guard by going through the proxy.
#[tokio::test]
async fn the_guard_checks_an_origin_that_is_an_ip_literal() {
    let proxy = Server::start(vec![vec![ServerAction::ReadRequest, send(HELLO)]]).await;
    let strict = Options {
        allow_private: false,
        ..options()
    };
    for url in [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/",
    ] {
        let fetched = get(
            &fetcher(strict.clone()),
            &mut FetchSession::new(),
            &proxy,
            url,
        )
        .await;
        assert_eq!(
            fetched.result.unwrap_err().code(),
            "address-refused",
            "{url}"
        );
    }
    assert_eq!(proxy.requests().len(), 0);
}

#[tokio::test]
async fn https_urls_are_not_sent_to_a_proxy() {
    let proxy = Server::start(vec![vec![ServerAction::ReadRequest, send(HELLO)]]).await;
    let fetched = get(
        &fetcher(options()),
        &mut FetchSession::new(),
        &proxy,
        "https://example.org/",
    )
    .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
    assert_eq!(proxy.requests().len(), 0);
}

#[tokio::test]
async fn an_unreachable_proxy_is_a_connect_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    drop(listener);
    let url = canon("http://example.org/");
    let request = FetchRequest {
        cache: Some(proxy),
        ..FetchRequest::by_name(&url)
    };
    let fetched = fetcher(options())
        .fetch(&mut FetchSession::new(), request)
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "connect-failed");
}
