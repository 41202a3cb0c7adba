//! Tests of honest sites with HTTPS. The client is rustls with the lab's root certificate.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod client;

use std::sync::Arc;

use aranha_lab::{Crawler, Lab, Plan, Web};
use client::Client;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

async fn lab(secure: usize) -> Lab {
    let plan = Plan {
        secure,
        ..Plan::small(1)
    };
    Lab::start(plan).await.unwrap()
}

/// Sends two requests over one TLS connection. Returns the bytes of the responses.
async fn over_tls(lab: &Lab, host: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from(lab.authority().unwrap().to_vec());
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = lab.web().address(host).unwrap();
    let stream = TcpStream::connect((address, lab.port())).await?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let request = |target: &str, end: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: {end}\r\n\r\n")
    };
    let both = request("/style.css", "keep-alive") + &request("/", "close");
    stream.write_all(both.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test]
async fn http_redirects_to_https_or_serves_the_same_pages() {
    let lab = lab(100).await;
    let (mut redirected, mut same) = (0, 0);
    for seed in (0..12).map(|number| format!("site{number:03}.lab")) {
        let twin = format!("www.{seed}");
        for host in [seed.as_str(), &twin] {
            if lab.web().address(host).is_none() {
                continue;
            }
            let plain = Client::to(&lab, host).await.get(host, "/a?b", "").await;
            let secure = over_tls(&lab, host).await.unwrap();
            assert!(secure.starts_with("HTTP/1.1 "), "{host}: {secure}");
            let location = plain.header("location").unwrap_or_default();
            if location.starts_with("https://") && location.ends_with("/a?b") {
                redirected += 1;
            } else {
                assert_eq!(plain.status, 404, "{host}");
                same += 1;
            }
        }
    }
    assert!(redirected > 8 && same > 2, "{redirected}, {same}");
    let least = 2 * (redirected + same); // one over HTTP, one or two over TLS
    lab.wait_for_requests(least).await;
}

#[tokio::test]
async fn sites_without_https_have_no_certificate() {
    let some = lab(50).await;
    let mut refused = 0;
    let seeds = some.seeds();
    let hosts = seeds
        .iter()
        .map(|seed| seed.split(['/', ':']).nth(3).unwrap());
    for host in hosts {
        refused += usize::from(over_tls(&some, host).await.is_err());
    }
    let plain = lab(0).await;
    assert!(plain.authority().is_none());
    assert!(refused < seeds.len());
    let address = plain.web().address("site001.lab").unwrap();
    let mut stream = TcpStream::connect((address, plain.port())).await.unwrap();
    stream
        .write_all(b"\x16\x03\x01\x00\x05hello")
        .await
        .unwrap();
    assert_eq!(stream.read(&mut [0; 10]).await.unwrap_or(0), 0);
}

#[test]
fn the_truth_has_a_page_once_for_both_schemes() {
    let plan = Plan {
        secure: 60,
        ..Plan::large(60)
    };
    let truth = Web::new(plan, 8080).truth(&Crawler::default());
    let plain = Web::new(Plan::large(60), 8080).truth(&Crawler::default());
    assert!(truth.keys().all(|url| url.starts_with("http://site")));
    let pages = |truth: &std::collections::BTreeMap<String, aranha_lab::Expected>| {
        truth.values().filter(|expected| expected.html).count()
    };
    let (many, few) = (pages(&truth), pages(&plain));
    assert!(many.abs_diff(few) < few / 20, "{many} and {few}");
}
