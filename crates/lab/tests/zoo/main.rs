//! Tests of the hazards, with a client that reads raw bytes. Each group has a file.
//!
//! `../hazards.rs` tests calendar, drip, silence, endless, circle and length.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../client/mod.rs"]
mod client;

mod attacks;
mod content;
mod names;
mod robots;
mod secure;
mod servers;
mod traps;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use aranha_lab::{Hazard, Lab, Plan};
use client::{Client, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A lab with one hazard.
async fn with(hazard: Hazard) -> Lab {
    let plan = Plan {
        hazards: vec![hazard],
        ..Plan::small(1)
    };
    Lab::start(plan).await.unwrap()
}

/// Sends a request to the lab's only hazard and reads an HTTP response.
async fn get(lab: &Lab, target: &str) -> Response {
    let host = lab.plan().hazards[0].host();
    Client::to(lab, host).await.get(host, target, "").await
}

/// The links of a page.
async fn links(lab: &Lab, target: &str) -> Vec<String> {
    client::read(&get(lab, target).await.text()).links
}

/// Reads raw bytes until the connection ends, is reset or becomes idle, or until `limit` bytes have been read.
async fn raw(lab: &Lab, target: &str, limit: usize) -> Vec<u8> {
    raw_with(lab, target, "", limit).await.0
}

/// Like [`raw`], with request headers. Returns true if the connection was reset.
async fn raw_with(lab: &Lab, target: &str, headers: &str, limit: usize) -> (Vec<u8>, bool) {
    let host = lab.plan().hazards[0].host();
    let address = lab.web().address(host).unwrap();
    let mut stream = TcpStream::connect(SocketAddr::new(IpAddr::V4(address), lab.port()))
        .await
        .unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        match timeout(Duration::from_secs(2), stream.read_buf(&mut bytes)).await {
            Err(_) | Ok(Ok(0)) => return (bytes, false),
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return (bytes, true),
        }
    }
    (bytes, false)
}

/// The bytes after the first empty line.
fn body(bytes: &[u8]) -> &[u8] {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    &bytes[end + 4..]
}

/// The bytes as text; invalid UTF-8 is replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
