//! Tests of TLS faults, with a rustls client that trusts the lab's authority.

use std::sync::Arc;
use std::time::Duration;

use aranha_lab::{Hazard, Lab};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{raw, text, with};

/// Sends one request over TLS. Returns the response, or the error of the handshake.
async fn ask(lab: &Lab, name: &str) -> Result<String, String> {
    let host = lab.plan().hazards[0].host();
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from(lab.authority().unwrap().to_vec());
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = lab.web().address(host).unwrap();
    let stream = TcpStream::connect((address, lab.port())).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector
        .connect(name, stream)
        .await
        .map_err(|e| e.to_string())?;
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    Ok(text(&answer))
}

#[tokio::test]
async fn each_certificate_has_one_fault() {
    let lab = with(Hazard::Expired).await;
    let fault = ask(&lab, "expired.lab").await.unwrap_err();
    assert!(fault.to_lowercase().contains("expired"), "{fault}");
    let lab = with(Hazard::SelfSigned).await;
    let fault = ask(&lab, "selfsigned.lab").await.unwrap_err();
    assert!(fault.contains("UnknownIssuer"), "{fault}");
    let lab = with(Hazard::OtherName).await;
    let fault = ask(&lab, "othername.lab").await.unwrap_err();
    assert!(fault.contains("not valid for name"), "{fault}");
    lab.wait_for_requests(1).await;
    assert_eq!(lab.log()[0].method, "", "the failed handshake is logged");
    let answer = ask(&lab, "somebody-else.lab").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    lab.wait_for_requests(2).await;
    let last = lab.log().pop().unwrap();
    assert_eq!(
        (last.method.as_str(), last.path.as_str(), last.complete),
        ("GET", "/", true)
    );
    assert!(lab.hazard_seeds()[0].starts_with("https://othername.lab:"));
}

#[tokio::test]
async fn plain_http_answers_a_tls_handshake() {
    let lab = with(Hazard::PlainText).await;
    assert!(
        ask(&lab, "plaintext.lab")
            .await
            .unwrap_err()
            .contains("corrupt")
    );
    let lab = with(Hazard::Expired).await;
    let seen = text(&raw(&lab, "/", 4000).await);
    assert!(seen.starts_with("HTTP/1.1 400 "), "{seen}");
}

#[tokio::test]
async fn the_handshake_never_finishes() {
    let lab = with(Hazard::Handshake).await;
    let attempt = timeout(Duration::from_millis(150), ask(&lab, "handshake.lab"));
    assert!(attempt.await.is_err());
    timeout(Duration::from_secs(5), lab.wait_for_requests(1))
        .await
        .expect("the log has the connection after the client disconnects");
    assert_eq!(lab.log()[0].bytes, 0);
}

/// The log has the host name of the right copy of a hazard, although the handshake fails and no request names the host.
#[tokio::test]
async fn handshakes_are_logged_with_the_name_of_the_copy() {
    let plan = aranha_lab::Plan {
        hazards: vec![Hazard::PlainText, Hazard::PlainText],
        ..aranha_lab::Plan::small(1)
    };
    let lab = Lab::start(plan).await.unwrap();
    for (count, host) in ["plaintext.lab", "plaintext2.lab"].iter().enumerate() {
        let address = lab.web().address(host).unwrap();
        let mut stream = TcpStream::connect((address, lab.port())).await.unwrap();
        stream.write_all(b"\x16\x03\x01").await.unwrap();
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        lab.wait_for_requests(count as u64 + 1).await;
        assert_eq!(lab.log()[count].host, *host);
    }
    assert_eq!(lab.violations(Duration::from_hours(1)), []);
}
