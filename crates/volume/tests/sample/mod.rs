//! Sample exchanges for the integration tests.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses only some of the items"
)]

use std::io::Write as _;
use std::path::Path;

use aranha_volume::{Archive, Exchange, Options, Stored};
use bytes::Bytes;

/// Fetch time of the pages: 2026-11-15T17:48:00.123Z.
pub const TIME_MS: i64 = 1_794_764_880_123;

/// A page as a server sends it. `headers` have no line ends, `body` is as on the wire, `payload` is without chunks.
pub fn exchange(path: &str, headers: &[&str], body: &[u8], payload: &[u8]) -> Exchange {
    let mut response = b"HTTP/1.1 200 OK\r\nServer: lab\r\n".to_vec();
    for header in headers {
        response.extend_from_slice(header.as_bytes());
        response.extend_from_slice(b"\r\n");
    }
    response.extend_from_slice(b"\r\n");
    let head_length = response.len();
    response.extend_from_slice(body);
    let request = format!("GET {path} HTTP/1.1\r\nHost: www.example.org\r\n\r\n");
    Exchange {
        url: format!("http://www.example.org{path}"),
        time_ms: TIME_MS,
        address: Some([192, 0, 2, 7].into()),
        request: Bytes::from(request),
        response: Bytes::from(response),
        large: None,
        with_record_end: None,
        head_length,
        payload: Bytes::copy_from_slice(payload),
        status: 200,
        media_type: "text/html".to_owned(),
        language: String::new(),
        truncated: None,
        metadata: [
            ("via", "http://www.example.org/"),
            ("title", "uma\r\nlinha"),
        ]
        .into_iter()
        .collect(),
        not_modified: None,
    }
}

/// A page without transfer coding.
pub fn plain(path: &str, payload: &[u8]) -> Exchange {
    let length = format!("Content-Length: {}", payload.len());
    exchange(
        path,
        &["Content-Type: text/plain", &length],
        payload,
        payload,
    )
}

/// A page in chunks of this size.
pub fn chunked(path: &str, payload: &[u8], size: usize) -> Exchange {
    let headers = ["Content-Type: text/plain", "Transfer-Encoding: chunked"];
    exchange(path, &headers, &chunks(payload, size), payload)
}

pub fn chunks(payload: &[u8], size: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for chunk in payload.chunks(size) {
        body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    body
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A text that is different for every name.
pub fn text(name: &str) -> Vec<u8> {
    format!("A {name} tece a teia, e {name} é o nome dela.\n")
        .repeat(20)
        .into_bytes()
}

/// Appends the exchanges one after the other, waits for each receipt, and closes the archive.
pub fn write(folder: &Path, options: Options, exchanges: Vec<Exchange>) -> Vec<Stored> {
    runtime().block_on(async {
        let (archive, _) = Archive::open(folder, options).unwrap();
        let mut stored = Vec::new();
        for exchange in exchanges {
            stored.push(archive.append(exchange).await.unwrap().await.unwrap());
        }
        archive.close().await.unwrap();
        stored
    })
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}
