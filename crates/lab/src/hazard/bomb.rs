//! Decompression bombs: a gigabyte of zeros, compressed by gzip, deflate, zstd or brotli, or several times by gzip.
//!
//! RFC 9110, 8.4 allows several codings in layers. The crawler must limit the decoded size, not the size on the wire
//! (N6). `bits` writes the streams. Each stream is valid to its last byte, including the checksum.

use std::io;
use std::sync::OnceLock;

use super::{HazardRequest, bits};
use crate::wire::gzip;

/// Decoded size.
const GIGABYTE: u64 = 1 << 30;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    let (coding, body) = match target.as_str() {
        "/gzip" => ("gzip", bits::gzip(GIGABYTE)),
        "/x-gzip" => ("x-gzip", bits::gzip(GIGABYTE)),
        "/deflate" => ("deflate", bits::zlib(GIGABYTE)),
        "/raw" => ("deflate", bits::deflate(GIGABYTE)),
        "/zstd" => ("zstd", bits::zstd(GIGABYTE)),
        "/br" => ("br", bits::brotli(GIGABYTE)),
        "/twice" => ("gzip, gzip", layers(2).to_vec()),
        "/thrice" => ("gzip, gzip, gzip", layers(3).to_vec()),
        "/zstd-gzip" => ("zstd, gzip", gzip(&bits::zstd(GIGABYTE))),
        "/hundred" => return hundred(request).await,
        _ => {
            let links = [
                "/gzip",
                "/x-gzip",
                "/deflate",
                "/raw",
                "/zstd",
                "/br",
                "/twice",
                "/thrice",
                "/zstd-gzip",
                "/hundred",
            ];
            return request.index("Bombs", &links).await;
        }
    };
    let header = format!("Content-Encoding: {coding}\r\n");
    request.answer(200, &header, body).await
}

/// The gzip bomb in `count` layers, computed once.
fn layers(count: usize) -> &'static [u8] {
    static TWO: OnceLock<Vec<u8>> = OnceLock::new();
    static THREE: OnceLock<Vec<u8>> = OnceLock::new();
    if count == 2 {
        TWO.get_or_init(|| gzip(&bits::gzip(GIGABYTE)))
    } else {
        THREE.get_or_init(|| gzip(layers(2)))
    }
}

/// A small page in a hundred layers of gzip, all listed in Content-Encoding.
async fn hundred(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let mut body = b"<title>Onion</title>".to_vec();
    for _ in 0..100 {
        body = gzip(&body);
    }
    let codings = ["gzip"; 100].join(", ");
    let header = format!("Content-Encoding: {codings}\r\n");
    request.answer(200, &header, body).await
}
