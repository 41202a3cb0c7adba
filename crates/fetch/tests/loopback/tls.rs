//! Tests of TLS: certificate errors are recorded or refused, and sessions are resumed.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use crate::scripted_server::{ServerAction, canon, fetcher, options, perform, send};
use aranha_fetch::{FetchRequest, FetchSession, Options};
use rustls::{
    HandshakeKind, ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A TLS server with a self-signed certificate for `example.test`. It performs the same actions on every connection.
async fn start(actions: Vec<ServerAction>) -> (SocketAddr, Arc<Mutex<Vec<HandshakeKind>>>) {
    let (address, kinds, _) = start_server(actions).await;
    (address, kinds)
}

/// Like [`start`]. Returns the heads of the requests that the server receives.
pub(crate) async fn start_recording(
    actions: Vec<ServerAction>,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let (address, _, requests) = start_server(actions).await;
    (address, requests)
}

async fn start_server(
    actions: Vec<ServerAction>,
) -> (
    SocketAddr,
    Arc<Mutex<Vec<HandshakeKind>>>,
    Arc<Mutex<Vec<String>>>,
) {
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
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (seen, received) = (kinds.clone(), requests.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, actions, seen) = (acceptor.clone(), actions.clone(), seen.clone());
            let received = received.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let connection = stream.get_ref().1;
                assert_eq!(connection.alpn_protocol(), Some(&b"http/1.1"[..]));
                seen.lock()
                    .unwrap()
                    .push(connection.handshake_kind().unwrap());
                perform(stream, actions, &received).await;
            });
        }
    });
    (address, kinds, requests)
}

fn url(address: SocketAddr) -> aranha_url::CanonUrl {
    canon(&format!("https://example.test:{}/", address.port()))
}

#[tokio::test]
async fn a_certificate_error_is_recorded_and_the_page_kept() {
    let (address, kinds) = start(vec![ServerAction::ReadRequest, send(HELLO)]).await;
    let (fetcher, url) = (fetcher(options()), url(address));
    for _ in 0..2 {
        let fetched = fetcher
            .fetch(
                &mut FetchSession::new(),
                FetchRequest::new(&url, address.ip()),
            )
            .await;
        assert_eq!(&fetched.result.unwrap().body[..], b"hello");
        let error = fetched.certificate_error.unwrap();
        assert!(error.contains("is self-signed"), "{error}");
        assert!(!fetched.timings.tls.is_zero());
    }
    assert_eq!(
        *kinds.lock().unwrap(),
        [HandshakeKind::Full, HandshakeKind::Resumed]
    );
}

#[tokio::test]
async fn verify_tls_refuses_a_certificate_error() {
    let (address, _) = start(vec![ServerAction::ReadRequest, send(HELLO)]).await;
    let fetcher = fetcher(Options {
        verify_tls: true,
        ..options()
    });
    let fetched = fetcher
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url(address), address.ip()),
        )
        .await;
    let failure = fetched.result.unwrap_err();
    assert_eq!(failure.code(), "tls-failed");
    assert!(failure.to_string().contains("is self-signed"), "{failure}");
}

#[tokio::test]
async fn connections_are_kept_alive_and_a_missing_close_notify_ends_a_body() {
    let close = "HTTP/1.1 200 OK\r\n\r\nhello";
    let (address, _) = start(vec![
        ServerAction::ReadRequest,
        send(HELLO),
        ServerAction::ReadRequest,
        send(close),
        ServerAction::Reset,
    ])
    .await;
    let (fetcher, url, mut session) = (fetcher(options()), url(address), FetchSession::new());
    let first = fetcher
        .fetch(&mut session, FetchRequest::new(&url, address.ip()))
        .await;
    assert!(first.result.is_ok() && session.is_open());
    let second = fetcher
        .fetch(&mut session, FetchRequest::new(&url, address.ip()))
        .await;
    let response = second.result.unwrap();
    assert!(second.timings.reused && second.certificate_error.is_some());
    assert_eq!(
        (&response.body[..], response.truncated),
        (&b"hello"[..], None)
    );
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_failure() {
    let server =
        crate::scripted_server::Server::start(vec![vec![send("HTTP/1.1 400 Bad Request\r\n\r\n")]])
            .await;
    let url = canon(&format!("https://{}/", server.address));
    let fetched = fetcher(options())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    let failure = fetched.result.unwrap_err();
    assert_eq!(failure.code(), "tls-failed");
    let words = "TLS failed: the server does not speak TLS on this port";
    assert!(failure.to_string().starts_with(words), "{failure}");
    assert_eq!(fetched.address, None);
}
