//! TLS: a certificate that nobody vouches for is kept and marked, or refused; sessions are resumed.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use crate::scripted_server::{Act, canon, options, play, send, web};
use aranha_fetch::{FetchRequest, FetchSession, Options};
use rustls::{
    HandshakeKind, ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A TLS server with a self-signed certificate for `example.test`; every connection plays the same acts.
async fn start(acts: Vec<Act>) -> (SocketAddr, Arc<Mutex<Vec<HandshakeKind>>>) {
    let key = rcgen::generate_simple_self_signed(vec!["example.test".to_owned()]).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![key.cert.der().clone()], private)
            .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let seen = kinds.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, acts, seen) = (acceptor.clone(), acts.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let connection = stream.get_ref().1;
                assert_eq!(connection.alpn_protocol(), Some(&b"http/1.1"[..]));
                seen.lock()
                    .unwrap()
                    .push(connection.handshake_kind().unwrap());
                play(stream, acts, &Mutex::default()).await;
            });
        }
    });
    (address, kinds)
}

fn url(address: SocketAddr) -> aranha_url::CanonUrl {
    canon(&format!("https://example.test:{}/", address.port()))
}

#[tokio::test]
async fn a_fault_is_recorded_and_the_page_kept() {
    let (address, kinds) = start(vec![Act::Ask, send(HELLO)]).await;
    let (web, url) = (web(options()), url(address));
    for _ in 0..2 {
        let fetched = web
            .fetch(
                &mut FetchSession::new(),
                FetchRequest::new(&url, address.ip()),
            )
            .await;
        assert_eq!(&fetched.result.unwrap().body[..], b"hello");
        let fault = fetched.certificate_error.unwrap();
        assert!(
            fault.contains("UnknownIssuer") || fault.contains("CaUsedAsEndEntity"),
            "{fault}"
        );
        assert!(!fetched.timings.tls.is_zero());
    }
    assert_eq!(
        *kinds.lock().unwrap(),
        [HandshakeKind::Full, HandshakeKind::Resumed]
    );
}

#[tokio::test]
async fn under_verify_tls_it_is_refused() {
    let (address, _) = start(vec![Act::Ask, send(HELLO)]).await;
    let web = web(Options {
        verify_tls: true,
        ..options()
    });
    let fetched = web
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url(address), address.ip()),
        )
        .await;
    let failure = fetched.result.unwrap_err();
    assert_eq!(failure.code(), "tls-failed");
    assert!(failure.to_string().contains("certificate"), "{failure}");
}

#[tokio::test]
async fn a_connection_is_kept_and_an_end_without_goodbye_is_an_end() {
    let close = "HTTP/1.1 200 OK\r\n\r\nhello";
    let (address, _) = start(vec![
        Act::Ask,
        send(HELLO),
        Act::Ask,
        send(close),
        Act::Reset,
    ])
    .await;
    let (web, url, mut session) = (web(options()), url(address), FetchSession::new());
    let first = web
        .fetch(&mut session, FetchRequest::new(&url, address.ip()))
        .await;
    assert!(first.result.is_ok() && session.is_open());
    let second = web
        .fetch(&mut session, FetchRequest::new(&url, address.ip()))
        .await;
    let answer = second.result.unwrap();
    assert!(second.timings.reused && second.certificate_error.is_some());
    assert_eq!((&answer.body[..], answer.truncated), (&b"hello"[..], None));
}

#[tokio::test]
async fn no_tls_at_all() {
    let server =
        crate::scripted_server::Server::start(vec![vec![send("HTTP/1.1 400 Bad Request\r\n\r\n")]])
            .await;
    let url = canon(&format!("https://{}/", server.address));
    let fetched = web(options())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "tls-failed");
    assert_eq!(fetched.address, None);
}
