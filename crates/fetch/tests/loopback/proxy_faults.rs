//! Tests of proxies that are down, stall, break off, or reject the login. Where the clock is paused, durations are
//! exact and take no real time.

use std::{net::SocketAddr, time::Duration};

use aranha_fetch::{
    Failure, FetchRequest, FetchSession, FetchSetupError, Fetcher, Options, check_proxies,
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::Instant,
};

use crate::proxies::{get, setting, through};
use crate::scripted_server::{Server, ServerAction, canon, fetcher, options, send};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const TUNNEL: &str = "HTTP/1.1 200 Connection established\r\n\r\n";
const LOGIN_WANTED: &str = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\
    Content-Length: 0\r\n\r\n";

/// An address on which nothing listens.
async fn unused_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

async fn fail(fetcher: &Fetcher, url: &str) -> Failure {
    let fetched = get(fetcher, &mut FetchSession::new(), url).await;
    fetched.result.unwrap_err()
}

fn limits(options: Options) -> Options {
    Options {
        connect_timeout: Duration::from_secs(3),
        dns_timeout: Duration::from_secs(5),
        first_byte_timeout: Duration::from_secs(30),
        ..options
    }
}

#[tokio::test]
async fn an_unreachable_proxy_is_not_the_fault_of_a_server() {
    let address = unused_address().await;
    for url in ["http://{}", "socks5h://{}", "socks5://{}"] {
        let fetcher = fetcher(through(url, address));
        let (_, outage) = fetcher.watch_proxies().remove(0);
        let site = canon("http://127.0.0.9/");
        assert!(!fetcher.is_proxy_down(&site));
        let failure = fail(&fetcher, "http://127.0.0.9/").await;
        assert_eq!(failure.code(), "proxy-down");
        assert!(failure.is_of_proxy());
        let shown = format!(
            "the proxy {} cannot be reached: connection refused",
            url.replace("{}", &address.to_string())
        );
        assert_eq!(failure.to_string(), shown);
        assert!(fetcher.is_proxy_down(&site));
        assert_eq!(outage.borrow().as_deref(), Some("connection refused"));
    }
}

#[tokio::test]
async fn requests_can_wait_until_the_proxy_can_be_reached_again() {
    let address = unused_address().await;
    let fetcher = fetcher(through("http://{}", address));
    let url = canon("http://example.org/");
    assert_eq!(fail(&fetcher, url.as_str()).await.code(), "proxy-down");
    let waiting = tokio::spawn({
        let (fetcher, url) = (fetcher.clone(), url.clone());
        async move { fetcher.wait_for_proxy(&url).await }
    });
    // The probe connects and closes the connection; then the request follows.
    let proxy = TcpListener::bind(address).await.unwrap();
    let (_, _) = proxy.accept().await.unwrap();
    waiting.await.unwrap();
    assert!(!fetcher.is_proxy_down(&url));
    let mut session = FetchSession::new();
    let ((), accepted) = tokio::join!(
        async {
            let request = FetchRequest::by_name(&url);
            let fetching = fetcher.fetch(&mut session, request);
            let _ = tokio::time::timeout(Duration::from_millis(200), fetching).await;
        },
        proxy.accept()
    );
    accepted.unwrap();
}

/// One connection in hundreds may fail. As long as others succeed, no outage begins.
#[tokio::test(start_paused = true)]
async fn a_single_failure_beside_successes_is_no_outage() {
    // The proxy does not answer the greeting of the first connection, but answers that of the second.
    let greeting = vec![ServerAction::Send(vec![5, 0]), ServerAction::Hold];
    let proxy = Server::start(vec![vec![ServerAction::Hold], greeting]).await;
    let fetcher = fetcher(limits(through("socks5h://{}", proxy.address)));
    let url = "http://example.org/";
    let (first, second) = tokio::join!(fail(&fetcher, url), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        fail(&fetcher, url).await
    });
    assert_eq!(first.code(), "proxy-down");
    assert_eq!(
        second.code(),
        "connect-timeout",
        "the proxy did not connect to the server in time"
    );
    assert!(!fetcher.is_proxy_down(&canon(url)));
}

#[tokio::test]
async fn a_login_that_the_proxy_never_accepted_makes_it_unusable() {
    let wanted = || vec![ServerAction::ReadRequest, send(LOGIN_WANTED)];
    let proxy = Server::start(vec![wanted(), wanted()]).await;
    for url in ["http://example.org/", "https://example.org/"] {
        let fetched = get(
            &fetcher(through("http://anna:s3cret@{}", proxy.address)),
            &mut FetchSession::new(),
            url,
        )
        .await;
        let failure = fetched.result.unwrap_err();
        assert_eq!(failure.code(), "proxy-unusable", "{url}");
        let expected = format!(
            "the proxy http://{} cannot be used: it wants a login, or rejects the user or the password (407)",
            proxy.address
        );
        assert_eq!(failure.to_string(), expected);
    }
    for (answer, words) in [
        (vec![5, 0xff], "it does not accept logins"),
        (vec![5, 2, 1, 1], "it rejects the user or the password"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "write http://",
        ),
    ] {
        let proxy = Server::start(vec![vec![ServerAction::Send(answer), ServerAction::Hold]]).await;
        let fetcher = fetcher(through("socks5h://anna:s3cret@{}", proxy.address));
        let failure = fail(&fetcher, "http://example.org/").await;
        assert_eq!(failure.code(), "proxy-unusable");
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

/// Some proxies want another login for single servers. A password that expired concerns all of them.
#[tokio::test]
async fn after_successes_only_a_series_of_rejected_logins_makes_a_proxy_unusable() {
    let mut scripts = vec![vec![ServerAction::ReadRequest, send(HELLO)]];
    scripts.extend(std::iter::repeat_n(
        vec![ServerAction::ReadRequest, send(LOGIN_WANTED)],
        20,
    ));
    let proxy = Server::start(scripts).await;
    let fetcher = fetcher(through("http://{}", proxy.address));
    let url = "http://example.org/";
    let first = get(&fetcher, &mut FetchSession::new(), url).await;
    assert!(first.result.is_ok());
    let mut codes = Vec::new();
    for _ in 0..20 {
        codes.push(fail(&fetcher, url).await.code());
    }
    assert_eq!(codes[..19], ["connect-failed"; 19]);
    assert_eq!(codes[19], "proxy-unusable");
}

#[tokio::test]
async fn servers_that_the_proxy_does_not_reach_fail_alone() {
    let answer = |text: &str| vec![ServerAction::ReadRequest, send(text)];
    let forbidden = "HTTP/1.1 403 Forbidden\r\n\r\n";
    let squid = "HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\nContent-Length: 3\r\n\r\nabc";
    let proxy = Server::start(vec![
        answer(forbidden),
        answer(squid),
        answer(squid),
        answer(HELLO),
    ])
    .await;
    let fetcher = fetcher(through("http://{}", proxy.address));
    for (url, expected) in [
        (
            "https://a.example/",
            "connection failed: the rules of the proxy do not allow a connection to this server (403 Forbidden)",
        ),
        (
            "https://b.example/",
            "connection failed: the proxy could not connect to the server (503 Service Unavailable, ERR_DNS_FAIL)",
        ),
        (
            "http://b.example/",
            "connection failed: the proxy could not connect to the server (503, ERR_DNS_FAIL)",
        ),
    ] {
        assert_eq!(fail(&fetcher, url).await.to_string(), expected);
    }
    let next = get(&fetcher, &mut FetchSession::new(), "http://c.example/").await;
    assert!(next.result.is_ok());
}

/// The proxy is not of the configured kind. The message says so, and names the scheme for a SOCKS5 proxy.
#[tokio::test]
async fn another_kind_of_server_is_named() {
    let silent = || vec![ServerAction::ReadRequest];
    let ssh = || vec![send("SSH-2.0-OpenSSH_9.2\r\n"), ServerAction::Hold];
    let socks = || vec![ServerAction::Send(vec![5, 0xff]), ServerAction::Hold];
    let server = Server::start(vec![silent(), silent(), ssh(), ssh(), socks(), socks()]).await;
    let fetcher = fetcher(through("http://{}", server.address));
    for (url, code, words) in [
        (
            "http://example.org/",
            "connect-failed",
            "closed the connection without an answer; if it is a SOCKS5 proxy, write socks5://",
        ),
        (
            "https://example.org/",
            "connect-failed",
            "if it is a SOCKS5 proxy, write socks5://",
        ),
        ("http://example.org/", "protocol", "is no HTTP proxy"),
        (
            "https://example.org/",
            "proxy-unusable",
            "it is no HTTP proxy (no status line; the response begins with \"SSH-2.0",
        ),
        (
            "http://example.org/",
            "proxy-unusable",
            "it is a SOCKS5 proxy",
        ),
        (
            "https://example.org/",
            "proxy-unusable",
            "it is a SOCKS5 proxy",
        ),
    ] {
        let failure = fail(&fetcher, url).await;
        assert_eq!(failure.code(), code, "{failure}");
        assert!(failure.to_string().contains(words), "{failure}");
    }
}

/// The proxy sends the first bytes of its answers and stalls. Whatever it sent, the fetch ends within the limits of its
/// phase (invariant 6).
#[tokio::test(start_paused = true)]
async fn a_stall_at_every_byte_of_the_proxys_answers_ends_in_time() {
    let socks = [
        &[5, 2, 1, 0][..],
        &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80],
        HELLO.as_bytes(),
    ]
    .concat();
    let http = [TUNNEL.as_bytes(), b"\x16"].concat();
    for (proxy_url, url, answer) in [
        ("socks5h://anna:s3cret@{}", "http://example.org/", socks),
        ("http://{}", "https://example.org/", http),
        (
            "http://{}",
            "http://example.org/",
            HELLO.as_bytes().to_vec(),
        ),
    ] {
        for length in 0..answer.len() {
            let sent = vec![
                ServerAction::Send(answer[..length].to_vec()),
                ServerAction::Hold,
            ];
            let proxy = Server::start(vec![sent]).await;
            let fetcher = fetcher(limits(through(proxy_url, proxy.address)));
            let begun = Instant::now();
            let fetched = get(&fetcher, &mut FetchSession::new(), url).await;
            let seconds = begun.elapsed().as_secs();
            let code = match &fetched.result {
                Ok(response) => response
                    .truncated
                    .map_or("whole", aranha_fetch::Truncated::as_str),
                Err(failure) => failure.code(),
            };
            let of_server = |length| match length {
                0 => ("timeout", 30),
                1..38 => ("stalled", 20),
                _ => ("time", 20),
            };
            let expected = match (proxy_url, url, length) {
                ("socks5h://anna:s3cret@{}", _, 0..4) => ("proxy-down", 3),
                ("socks5h://anna:s3cret@{}", _, 4..14) => ("connect-timeout", 8),
                ("socks5h://anna:s3cret@{}", _, _) => of_server(length - 14),
                (_, "https://example.org/", 0..39) => ("connect-timeout", 8),
                (_, "https://example.org/", _) => ("tls-failed", 10),
                _ => of_server(length),
            };
            assert_eq!(
                (code, seconds),
                expected,
                "{proxy_url} {url} after {length} bytes"
            );
        }
    }
}

/// Like the test above, but the proxy closes the connection instead of stalling.
#[tokio::test]
async fn an_end_at_every_byte_of_the_proxys_answers_is_a_failure() {
    let socks = [&[5, 2, 1, 0][..], &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]].concat();
    for (proxy_url, url, answer) in [
        ("socks5h://anna:s3cret@{}", "http://example.org/", socks),
        (
            "http://{}",
            "https://example.org/",
            TUNNEL.as_bytes().to_vec(),
        ),
    ] {
        for length in 0..=answer.len() {
            let sent = vec![ServerAction::Send(answer[..length].to_vec())];
            let proxy = Server::start(vec![sent]).await;
            let fetcher = fetcher(through(proxy_url, proxy.address));
            let failure = fail(&fetcher, url).await;
            let expected = match (proxy_url, length) {
                ("http://{}", 39) => "tls-failed",
                ("socks5h://anna:s3cret@{}", 14) => "reset",
                ("socks5h://anna:s3cret@{}", 0..2) => "proxy-down",
                ("socks5h://anna:s3cret@{}", 2..4) => "proxy-unusable",
                _ => "connect-failed",
            };
            let found = failure.code();
            assert_eq!(
                found, expected,
                "{proxy_url} after {length} bytes: {failure}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_answers_no_connection_is_given_up_in_time() {
    // The queue of a listener that accepts nothing is filled, so that further connections get no answer.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let _queue = [
        TcpStream::connect(address).await.unwrap(),
        TcpStream::connect(address).await.unwrap(),
    ];
    let fetcher = fetcher(limits(through("http://{}", address)));
    let begun = Instant::now();
    let failure = fail(&fetcher, "http://example.org/").await;
    assert_eq!(failure.code(), "proxy-down");
    assert!(
        failure.to_string().ends_with("no answer within 3 s"),
        "{failure}"
    );
    assert_eq!(begun.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn proxies_are_checked_before_a_crawl() {
    check_proxies(&options(), &[]).await.unwrap();
    let address = unused_address().await;
    let check = async |options: Options| check_proxies(&options, &[]).await.unwrap_err();
    let error = check(through("http://anna:s3cret@{}", address)).await;
    let expected = format!("the proxy http://{address} cannot be used: connection refused");
    assert_eq!(error.to_string(), expected);
    let greets = |answer: &[u8]| vec![ServerAction::Send(answer.to_vec()), ServerAction::Hold];
    let proxy = Server::start(vec![
        greets(&[5, 0]),
        greets(&[5, 0xff]),
        greets(b"HTTP/1.1 400 x\r\n\r\n"),
    ])
    .await;
    check_proxies(&through("socks5h://{}", proxy.address), &[])
        .await
        .unwrap();
    let error = check(through("socks5h://{}", proxy.address)).await;
    assert!(
        error
            .to_string()
            .ends_with("it wants a login, or does not serve this machine"),
        "{error}"
    );
    let error = check(through("socks5h://{}", proxy.address)).await;
    assert!(error.to_string().contains("write http://"), "{error}");
    let missing = Options {
        https_proxy: setting("$ARANHA_NO_SUCH_VARIABLE"),
        ..options()
    };
    let error = check(missing).await;
    assert!(matches!(error, FetchSetupError::Proxy(_)), "{error:?}");
    let never = Options {
        proxy_lookups: aranha_fetch::ProxyLookups::Never,
        ..through("socks5://{}", address)
    };
    let error = check(never).await;
    assert!(error.to_string().contains("write socks5h://"), "{error}");
    // Only the proxies for the given URLs are checked.
    let bypassed = Options {
        no_proxy: vec!["a.example".to_owned()],
        ..through("http://{}", address)
    };
    check_proxies(&bypassed, &[canon("http://a.example/")])
        .await
        .unwrap();
    let both = [canon("http://a.example/"), canon("http://b.example/")];
    check_proxies(&bypassed, &both).await.unwrap_err();
    // A name is resolved by the system.
    let named = through(
        &format!("http://localhost:{}", proxy.address.port()),
        address,
    );
    check_proxies(&named, &[]).await.unwrap();
    let nowhere = check(through("http://no-such-host.invalid:1", address)).await;
    assert!(
        nowhere
            .to_string()
            .contains("its host name cannot be resolved"),
        "{nowhere}"
    );
}
