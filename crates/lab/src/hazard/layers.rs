//! Compression bombs in several layers of different codings, and pages that are just too small to be recognised as
//! bombs.
//!
//! `bomb` has the simple bombs. Here the codings differ from layer to layer, a layer is chunked, a compressed file is
//! in a compressed response, or the decoded page is real HTML (RFC 9110, 8.4; N6). The compression ratio of `/thin` is
//! below 100, as for real text that repeats itself. `/small` has a high ratio but few bytes. Both are decoded up to the
//! configured size. A perfect crawler requests robots.txt, the home page and each of the nine pages once, and holds no
//! more memory than for the largest honest page.

use std::io;
use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::{HazardRequest, bits};
use crate::wire::gzip;

const GIGABYTE: u64 = 1 << 30;
const MEGABYTE: usize = 1 << 20;
const PAGES: [&str; 9] = [
    "/br-gzip",
    "/gzip-br",
    "/deflate-gzip",
    "/gzip-deflate",
    "/chunked",
    "/file.gz",
    "/page",
    "/thin",
    "/small",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    let (coding, body) = match target.as_str() {
        "/br-gzip" => ("br, gzip", gzip(&bits::brotli(16 * GIGABYTE))),
        // A Brotli stream of zeros does not contain a gzip stream. So the decoder finds 64 MiB of zeros without a gzip
        // header.
        "/gzip-br" => ("gzip, br", bits::brotli(64 * MEGABYTE as u64)),
        "/deflate-gzip" => ("deflate, gzip", gzip(&bits::zlib(GIGABYTE))),
        "/gzip-deflate" => ("gzip, deflate", zlib(&bits::gzip(GIGABYTE))),
        "/chunked" => return chunked(request).await,
        "/file.gz" => {
            let header = "Content-Type: application/gzip\r\nContent-Encoding: gzip\r\n";
            let body = gzip(&bits::gzip(GIGABYTE));
            return request.answer(200, header, body).await;
        }
        "/page" => ("gzip", page().to_vec()),
        "/thin" => ("gzip", thin().to_vec()),
        "/small" => ("gzip", bits::gzip(7 * MEGABYTE as u64)),
        _ => return request.index("Layers", &PAGES).await,
    };
    let header = format!("Content-Encoding: {coding}\r\n");
    request.answer(200, &header, body).await
}

/// A gzip bomb in chunks of 100 bytes.
async fn chunked(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let header = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n";
    request.start(200, header).await?;
    let mut body = Vec::new();
    for chunk in bits::gzip(GIGABYTE / 4).chunks(100) {
        write!(body, "{:x}\r\n", chunk.len())?;
        body.extend(chunk);
        body.extend(b"\r\n");
    }
    body.extend(b"0\r\n\r\n");
    request.send(&body).await?;
    request.exchange.complete();
    Ok(())
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}

/// A page of 24 MiB with tags, text and links. Its compression ratio is as high as for a bomb.
fn page() -> &'static [u8] {
    static PAGE: OnceLock<Vec<u8>> = OnceLock::new();
    PAGE.get_or_init(|| {
        let line =
            "<p class=\"line\">The same line, again and again: <a href=\"/small\">small</a></p>\n";
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let page = line.repeat(24 * MEGABYTE / line.len());
        encoder
            .write_all(page.as_bytes())
            .expect("memory takes every byte");
        encoder.finish().expect("memory takes every byte")
    })
}

/// A text of 24 MiB whose compression ratio is below 100, because one byte in 128 is not predictable.
fn thin() -> &'static [u8] {
    static THIN: OnceLock<Vec<u8>> = OnceLock::new();
    THIN.get_or_init(|| {
        let mut chance = crate::chance::Chance::of(24, &[]);
        let mut text = Vec::with_capacity(24 * MEGABYTE);
        while text.len() < 24 * MEGABYTE {
            text.extend([b'x'; 127]);
            text.push(b'a' + (chance.below(26)) as u8);
        }
        gzip(&text)
    })
}
