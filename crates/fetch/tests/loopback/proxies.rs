//! Tests of requests through proxies: what the proxy and the server receive, what is archived, and the address guard.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use aranha_fetch::{
    Credentials, FetchRequest, FetchSession, Fetched, Fetcher, Options, ProxyLookups, ProxySetting,
    Route,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::scripted_server::{Server, ServerAction, canon, fetcher, options, send};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A proxy that forwards every connection to one server, even if it was asked to connect to another.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    /// The requests that it received: heads of CONNECT requests, or SOCKS requests without the port.
    asked: Arc<Mutex<Vec<String>>>,
    /// The addresses from which the clients connected.
    clients: Arc<Mutex<Vec<IpAddr>>>,
}

impl Relay {
    pub(crate) async fn start(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = Relay {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            clients: Arc::default(),
        };
        let (asked, clients) = (relay.asked.clone(), relay.clients.clone());
        tokio::spawn(async move {
            while let Ok((stream, client)) = listener.accept().await {
                clients.lock().unwrap().push(client.ip());
                let asked = asked.clone();
                tokio::spawn(async move {
                    let mut stream = stream;
                    let request = accept(&mut stream).await?;
                    asked.lock().unwrap().push(request);
                    let mut server = TcpStream::connect(server).await?;
                    copy_bidirectional(&mut stream, &mut server).await
                });
            }
        });
        relay
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Accepts a CONNECT request or a SOCKS5 request, with or without a login.
async fn accept(stream: &mut TcpStream) -> std::io::Result<String> {
    let first = stream.read_u8().await?;
    if first != 5 {
        let mut head = vec![first];
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        return Ok(String::from_utf8(head).unwrap());
    }
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    let mut asked = String::new();
    if methods.contains(&2) {
        stream.write_all(&[5, 2]).await?;
        stream.read_u8().await?;
        for end in [":", "@"] {
            let mut text = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut text).await?;
            asked += &(String::from_utf8(text).unwrap() + end);
        }
        stream.write_all(&[1, 0]).await?;
    } else {
        stream.write_all(&[5, 0]).await?;
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    asked += &match head[3] {
        1 => {
            let mut octets = [0; 4];
            stream.read_exact(&mut octets).await?;
            IpAddr::from(octets).to_string()
        }
        4 => {
            let mut octets = [0; 16];
            stream.read_exact(&mut octets).await?;
            IpAddr::from(octets).to_string()
        }
        _ => {
            let mut name = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut name).await?;
            String::from_utf8(name).unwrap()
        }
    };
    stream.read_u16().await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    Ok(asked)
}

pub(crate) fn setting(text: &str) -> ProxySetting {
    ProxySetting::parse(text).unwrap()
}

/// Options with this proxy. `{}` in `url` is replaced by the address of the proxy. Names are not looked up.
pub(crate) fn through(url: &str, proxy: SocketAddr) -> Options {
    Options {
        proxy: setting(&url.replace("{}", &proxy.to_string())),
        proxy_lookups: if url.starts_with("socks5:") {
            ProxyLookups::Auto
        } else {
            ProxyLookups::Never
        },
        ..options()
    }
}

/// Fetches a URL in the way the engine does: determines the route, then sends the request.
pub(crate) async fn get(fetcher: &Fetcher, session: &mut FetchSession, url: &str) -> Fetched {
    let url = canon(url);
    let request = match fetcher.route(&url).await.unwrap() {
        Route::Addresses(resolved) => FetchRequest::new(&url, resolved.addresses[0]),
        Route::Name { .. } => FetchRequest::by_name(&url),
    };
    fetcher.fetch(session, request).await
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn http_urls_are_sent_to_an_http_proxy_in_absolute_form() {
    let two = vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::Hold,
    ];
    let proxy = Server::start(vec![two]).await;
    let auth = Credentials::parse("basic bert:geheim").unwrap();
    // The guard does not check the proxy's address.
    let options = Options {
        allow_private: false,
        auth: BTreeMap::from([("http://example.org:81".to_owned(), auth)]),
        ..through("http://anna:s3cret@{}", proxy.address)
    };
    let (fetcher, mut session) = (fetcher(options), FetchSession::new());
    let first = get(&fetcher, &mut session, "http://example.org:81/a?b=c").await;
    assert_eq!(&first.result.unwrap().body[..], b"hello");
    assert_eq!(first.address, None, "the server's address is not known");
    let second = get(&fetcher, &mut session, "http://example.com/").await;
    assert!(second.result.is_ok() && second.timings.reused);

    let login = "\r\nProxy-Authorization: Basic YW5uYTpzM2NyZXQ=\r\n\r\n";
    let requests = proxy.requests();
    let (one, two) = (&requests[0], &requests[1]);
    assert!(
        one.starts_with("GET http://example.org:81/a?b=c HTTP/1.1\r\nHost: example.org:81\r\n"),
        "{one}"
    );
    assert!(
        two.starts_with("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"),
        "{two}"
    );
    assert!(one.ends_with(login) && two.ends_with(login), "{one}{two}");
    assert!(
        one.contains("\r\nAuthorization: Basic YmVydDpnZWhlaW0=\r\n"),
        "{one}"
    );
    assert!(!two.contains("\r\nAuthorization:"), "{two}");
    // The archived requests contain neither login.
    assert_eq!(text(&second.request), two.replace(login, "\r\n\r\n"));
    let archived = text(&first.request);
    assert!(
        archived.contains("Authorization: (hidden)\r\n"),
        "{archived}"
    );
    assert!(!archived.contains("Proxy-"), "{archived}");
}

#[tokio::test]
async fn https_urls_go_through_a_tunnel_that_the_proxy_opens() {
    let script = vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::Hold,
    ];
    let (server, requests) = crate::tls::start_recording(script).await;
    for (url, asked) in [
        (
            "http://anna:s3cret@{}",
            "CONNECT example.test:444 HTTP/1.1\r\nHost: example.test:444\r\nUser-Agent: aranha-test\r\n\
             Proxy-Authorization: Basic YW5uYTpzM2NyZXQ=\r\n\r\n",
        ),
        ("socks5h://anna:s3cret@{}", "anna:s3cret@example.test"),
        ("socks5h://{}", "example.test"),
    ] {
        let proxy = Relay::start(server).await;
        let options = Options {
            user_agent: "aranha-test".to_owned(),
            ..through(url, proxy.address)
        };
        let (fetcher, mut session) = (fetcher(options), FetchSession::new());
        requests.lock().unwrap().clear();
        for reused in [false, true] {
            let fetched = get(&fetcher, &mut session, "https://example.test:444/page").await;
            let response = fetched.result.unwrap();
            assert_eq!(&response.body[..], b"hello");
            assert_eq!(fetched.timings.reused, reused);
            assert_eq!(fetched.address, None);
            assert!(
                fetched.certificate_error.is_some(),
                "the server's own certificate is checked"
            );
            // The archive contains what the server received and sent. It contains nothing that only the proxy saw.
            assert_eq!(text(&fetched.response), HELLO);
            assert!(
                text(&fetched.request)
                    .starts_with("GET /page HTTP/1.1\r\nHost: example.test:444\r\n")
            );
        }
        assert_eq!(proxy.asked(), [asked], "one tunnel serves both requests");
        let received = requests.lock().unwrap().concat();
        assert_eq!(received.matches("GET /page HTTP/1.1").count(), 2);
        assert!(
            !received.contains("Proxy-") && !received.contains("YW5uYTpzM2NyZXQ="),
            "{received}"
        );
    }
}

#[tokio::test]
async fn a_socks5_proxy_gets_addresses_and_a_socks5h_proxy_names() {
    let script = || vec![ServerAction::ReadRequest, send(HELLO)];
    let server = Server::start(vec![script(), script(), script()]).await;
    let proxy = Relay::start(server.address).await;
    let url = format!("http://127.0.0.9:{}/", server.address.port());
    let direct = fetcher(through("socks5://{}", proxy.address));
    let fetched = get(&direct, &mut FetchSession::new(), &url).await;
    assert_eq!(&fetched.result.unwrap().body[..], b"hello");
    assert_eq!(
        fetched.address,
        Some([127, 0, 0, 9].into()),
        "the address that was sent"
    );
    assert!(text(&fetched.request).starts_with("GET / HTTP/1.1\r\n"));

    let by_name = fetcher(through("socks5h://{}", proxy.address));
    let fetched = get(&by_name, &mut FetchSession::new(), "http://Example.test./").await;
    assert!(fetched.result.is_ok());
    // An address in a URL is sent as an address.
    let fetched = get(&by_name, &mut FetchSession::new(), &url).await;
    assert!(fetched.result.is_ok());
    assert_eq!(proxy.asked(), ["127.0.0.9", "example.test", "127.0.0.9"]);
}

#[tokio::test]
async fn hosts_in_no_proxy_and_the_other_scheme_are_reached_directly() {
    let script = || vec![ServerAction::ReadRequest, send(HELLO)];
    let server = Server::start(vec![script(), script()]).await;
    let proxy = Server::start(vec![script()]).await;
    let mut options = through("http://{}", proxy.address);
    options.no_proxy = vec!["127.0.0.0/8".to_owned()];
    let url = server.url("/").as_str().to_owned();
    let fetched = get(&fetcher(options.clone()), &mut FetchSession::new(), &url).await;
    assert_eq!(fetched.address, Some(server.address.ip()));
    options.no_proxy.clear();
    (options.https_proxy, options.proxy) = (options.proxy, ProxySetting::Direct);
    let fetched = get(&fetcher(options), &mut FetchSession::new(), &url).await;
    assert!(fetched.result.is_ok());
    assert_eq!((server.requests().len(), proxy.requests().len()), (2, 0));
}

/// A proxy can reach private addresses. A link must not bypass the guard by going through the proxy.
#[tokio::test]
async fn the_guard_checks_what_is_known_of_a_server_behind_a_proxy() {
    let proxy = Server::start(Vec::new()).await;
    for protocol in ["http://{}", "socks5h://{}", "socks5://{}"] {
        let strict = Options {
            allow_private: false,
            ..through(protocol, proxy.address)
        };
        let fetcher = fetcher(strict);
        for host in [
            "127.0.0.1",
            "[::1]",
            "169.254.169.254",
            "[::ffff:10.0.0.1]",
            "0x7f.1",
        ] {
            for scheme in ["http", "https"] {
                let url = canon(&format!("{scheme}://{host}/"));
                let refused = fetcher.route(&url).await.unwrap_err();
                assert_eq!(refused.code(), "address-refused", "{protocol} {url}");
                // The function that opens connections checks the address again.
                let address = url.host().trim_matches(['[', ']']).parse().unwrap();
                for request in [
                    FetchRequest::new(&url, address),
                    FetchRequest::by_name(&url),
                ] {
                    if protocol == "socks5://{}" && request.address.is_none() {
                        continue;
                    }
                    let fetched = fetcher.fetch(&mut FetchSession::new(), request).await;
                    assert_eq!(
                        fetched.result.unwrap_err().code(),
                        "address-refused",
                        "{url}"
                    );
                }
            }
        }
    }
    let strict = Options {
        allow_private: false,
        ..through("http://{}", proxy.address)
    };
    let fetcher = fetcher(strict);
    for host in [
        "localhost",
        "intranet",
        "printer.local",
        "metadata.google.internal",
    ] {
        let url = canon(&format!("http://{host}/"));
        let refused = fetcher.route(&url).await.unwrap_err();
        assert_eq!(refused.code(), "name-refused", "{host}");
        let fetched = fetcher
            .fetch(&mut FetchSession::new(), FetchRequest::by_name(&url))
            .await;
        let refused = fetched.result.unwrap_err();
        assert_eq!(refused.code(), "name-refused", "{host}");
        assert!(refused.to_string().contains("--allow-private"), "{refused}");
    }
    // If an address of the name is known when the request is sent, it is checked too.
    let url = canon("http://example.org/");
    let fetched = fetcher
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, [10, 0, 0, 1].into()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "address-refused");
    // Without a proxy, a request needs an address.
    let direct = crate::scripted_server::fetcher(options());
    let fetched = direct
        .fetch(&mut FetchSession::new(), FetchRequest::by_name(&url))
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
    assert_eq!(proxy.requests().len(), 0);
}

#[tokio::test]
async fn source_addresses_are_used_for_connections_to_the_proxy() {
    let script = vec![ServerAction::ReadRequest, send(HELLO)];
    let server = Server::start(vec![script]).await;
    let proxy = Relay::start(server.address).await;
    let source: IpAddr = [127, 0, 0, 3].into();
    let bound = Options {
        source_addresses: vec![source],
        ..through("socks5h://{}", proxy.address)
    };
    let fetched = get(
        &fetcher(bound),
        &mut FetchSession::new(),
        "http://example.org/",
    )
    .await;
    assert!(fetched.result.is_ok());
    assert_eq!(*proxy.clients.lock().unwrap(), [source]);
}

/// Like `the_download_rate_is_limited_over_all_connections`, but through a proxy.
#[tokio::test]
async fn the_download_rate_is_limited_through_a_proxy() {
    let body = vec![b'x'; 300_000];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    for url in ["http://{}", "socks5h://{}"] {
        let script = vec![
            ServerAction::ReadRequest,
            send(&head),
            ServerAction::Send(body.clone()),
        ];
        let server = Server::start(vec![script]).await;
        let relay = Relay::start(server.address).await;
        let proxy = if url == "http://{}" {
            server.address
        } else {
            relay.address
        };
        let limited = Options {
            limit_rate: Some(200_000),
            ..through(url, proxy)
        };
        let began = tokio::time::Instant::now();
        let fetched = get(
            &fetcher(limited),
            &mut FetchSession::new(),
            "http://example.org/",
        )
        .await;
        assert_eq!(fetched.result.unwrap().body.len(), body.len());
        let took = began.elapsed().as_secs_f64();
        assert!(took > 1.0, "300 kB at 200 kB/s came in {took} s");
    }
}

#[tokio::test]
async fn one_server_serves_as_proxy_and_as_cache_without_mixing_connections() {
    let script = || {
        vec![
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::ReadRequest,
            send(HELLO),
            ServerAction::Hold,
        ]
    };
    let proxy = Server::start(vec![script(), script()]).await;
    let fetcher = fetcher(through("http://anna:s3cret@{}", proxy.address));
    let (mut session, url) = (FetchSession::new(), canon("http://example.org/"));
    let mut reused = Vec::new();
    for _ in 0..2 {
        let cached = FetchRequest {
            cache: Some(proxy.address),
            ..FetchRequest::by_name(&url)
        };
        for request in [FetchRequest::by_name(&url), cached] {
            let fetched = fetcher.fetch(&mut session, request).await;
            assert!(fetched.result.is_ok());
            reused.push(fetched.timings.reused);
        }
    }
    assert_eq!(reused, [false, false, true, true]);
    let logins = |requests: &[String]| {
        requests
            .iter()
            .filter(|head| head.contains("Proxy-Auth"))
            .count()
    };
    assert_eq!(logins(&proxy.requests()), 2, "the cache gets no login");
}

#[tokio::test]
async fn a_fetcher_names_its_proxies_without_logins() {
    let options = Options {
        proxy: setting("http://anna:s3cret@127.0.0.1:1"),
        https_proxy: setting("socks5h://bert:s3cret@127.0.0.1"),
        ..options()
    };
    let fetcher = fetcher(options);
    let names: Vec<_> = fetcher.proxies().collect();
    assert_eq!(names, ["http://127.0.0.1:1", "socks5h://127.0.0.1:1080"]);
    let shown = format!("{fetcher:?} {:?}", fetcher.options());
    assert!(
        !shown.contains("s3cret") && !shown.contains("anna"),
        "{shown}"
    );
    assert_eq!(
        crate::scripted_server::fetcher(crate::scripted_server::options())
            .proxies()
            .count(),
        0
    );
}
