//! Asking a proxy instead of the origin.

use std::net::{IpAddr, Ipv4Addr};

use aranha_fetch::{FetchRequest, FetchSession, Fetched, Fetcher, Options};

use crate::scripted_server::{Act, Server, canon, options, send, web};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// What the guard refuses and nothing listens on: an origin that is asked by nobody but the proxy.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

async fn get(web: &Fetcher, session: &mut FetchSession, proxy: &Server, url: &str) -> Fetched {
    let url = canon(url);
    let request = FetchRequest {
        proxy: Some(proxy.address),
        headers: vec![("Cache-Control", "only-if-cached".to_owned())],
        ..FetchRequest::new(&url, NOWHERE)
    };
    web.fetch(session, request).await
}

#[tokio::test]
async fn the_proxy_is_asked_in_the_absolute_form_over_one_connection() {
    let two = vec![Act::Ask, send(HELLO), Act::Ask, send(HELLO), Act::Hold];
    let proxy = Server::start(vec![two]).await;
    // Its address is nobody else's business, and the name is not looked up here.
    let strict = Options {
        allow_private: false,
        ..options()
    };
    let (web, mut session) = (web(strict), FetchSession::new());
    let first = get(&web, &mut session, &proxy, "http://example.org:81/a?b=c").await;
    assert_eq!(&first.result.unwrap().body[..], b"hello");
    assert_eq!(first.address, Some(proxy.address.ip()));
    let second = get(&web, &mut session, &proxy, "http://example.com/").await;
    assert!(second.result.is_ok() && second.timings.reused);
    let asked = proxy.requests();
    assert!(
        asked[0]
            .starts_with("GET http://example.org:81/a?b=c HTTP/1.1\r\nHost: example.org:81\r\n"),
        "{}",
        asked[0]
    );
    assert!(asked[0].ends_with("Cache-Control: only-if-cached\r\n\r\n"));
    assert!(asked[1].starts_with("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"));
}

/// The same server as origin and as proxy: two connections, each kept for its own kind.
#[tokio::test]
async fn direct_and_proxied_connections_are_not_mixed() {
    let script = || vec![Act::Ask, send(HELLO), Act::Ask, send(HELLO), Act::Hold];
    let server = Server::start(vec![script(), script()]).await;
    let (web, mut session) = (web(options()), FetchSession::new());
    let url = format!("http://{}/", server.address);
    let mut reused = Vec::new();
    for _ in 0..2 {
        let direct = crate::scripted_server::get(&web, &mut session, &server, "/").await;
        let proxied = get(&web, &mut session, &server, &url).await;
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
    let script = || vec![vec![Act::Ask, send(HELLO), Act::Hold]];
    let (one, two) = (Server::start(script()).await, Server::start(script()).await);
    let (web, mut session) = (web(options()), FetchSession::new());
    for proxy in [&one, &two] {
        let fetched = get(&web, &mut session, proxy, "http://example.org/").await;
        assert!(fetched.result.is_ok() && !fetched.timings.reused);
    }
}

/// A page could be a way around the guard: a proxy reaches what we may not.
#[tokio::test]
async fn an_origin_that_is_an_address_is_judged() {
    let proxy = Server::start(vec![vec![Act::Ask, send(HELLO)]]).await;
    let strict = Options {
        allow_private: false,
        ..options()
    };
    for url in [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/",
    ] {
        let fetched = get(&web(strict.clone()), &mut FetchSession::new(), &proxy, url).await;
        assert_eq!(
            fetched.result.unwrap_err().code(),
            "address-refused",
            "{url}"
        );
    }
    assert_eq!(proxy.requests().len(), 0);
}

#[tokio::test]
async fn https_is_not_asked_of_a_proxy() {
    let proxy = Server::start(vec![vec![Act::Ask, send(HELLO)]]).await;
    let fetched = get(
        &web(options()),
        &mut FetchSession::new(),
        &proxy,
        "https://example.org/",
    )
    .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
    assert_eq!(proxy.requests().len(), 0);
}

/// The proxy has gone away: a failure like any other.
#[tokio::test]
async fn no_proxy_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    drop(listener);
    let url = canon("http://example.org/");
    let request = FetchRequest {
        proxy: Some(proxy),
        ..FetchRequest::new(&url, NOWHERE)
    };
    let fetched = web(options())
        .fetch(&mut FetchSession::new(), request)
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "connect-failed");
}
