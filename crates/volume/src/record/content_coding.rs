//! Content codings taken off a stored body, for `aranha cat` and `text`: gzip, deflate, br, zstd, in any order, under
//! a cap that a small body cannot burst. What cannot be decoded ends the result; nothing here fails.

use std::io::Read;

use brotli_decompressor::Decompressor as Brotli;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The body with the codings of a `Content-Encoding` header taken off, at most `cap` bytes.
/// An unknown coding stays on, and so do those beneath it.
pub(crate) fn decode(content_encoding: &[u8], body: Vec<u8>, cap: usize) -> Vec<u8> {
    let mut body = body;
    for coding in content_encoding.rsplit(|&byte| byte == b',') {
        let coding = coding.trim_ascii().to_ascii_lowercase();
        body = match coding.as_slice() {
            b"gzip" | b"x-gzip" => {
                if body.starts_with(&[0x1f, 0x8b]) {
                    read(MultiGzDecoder::new(body.as_slice()), cap)
                } else {
                    body // sent plain under a false label, as browsers accept
                }
            }
            b"deflate" => inflate(&body, cap),
            b"br" => read(Brotli::new(body.as_slice(), 4096), cap),
            b"zstd" => match zstd::stream::read::Decoder::new(body.as_slice()) {
                Ok(mut decoder) => {
                    // RFC 8878 3.1.1.1.2: windows of 8 MiB must be accepted, more need not be.
                    let _ = decoder.window_log_max(23);
                    read(decoder, cap)
                }
                Err(_) => Vec::new(),
            },
            b"" | b"identity" => body,
            _ => return body,
        };
    }
    body
}

/// `deflate` means zlib (RFC 9110 8.4.1.2), but some servers send it bare.
fn inflate(body: &[u8], cap: usize) -> Vec<u8> {
    let wrapped = body.len() >= 2
        && body[0] & 15 == 8
        && (u16::from(body[0]) << 8 | u16::from(body[1])).is_multiple_of(31);
    if wrapped {
        read(ZlibDecoder::new(body), cap)
    } else {
        read(DeflateDecoder::new(body), cap)
    }
}

/// Reads until the end, the cap or the first fault.
fn read(decoder: impl Read, cap: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let _ = decoder.take(cap as u64).read_to_end(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const TEXT: &[u8] = b"as dez aranhas tecem as dez teias";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn check(coding: &str, body: &[u8], expected: &[u8]) {
        assert_eq!(
            decode(coding.as_bytes(), body.to_vec(), 1000),
            expected,
            "{coding}"
        );
    }

    #[test]
    fn each_coding() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(TEXT).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
        bare.write_all(TEXT).unwrap();
        let zstd = zstd::encode_all(TEXT, 1).unwrap();
        // "aaaaaaaaaa" by the reference encoder
        let brotli = [
            0x8b, 0x04, 0x80, b'a', b'b', b'c', b'd', b'e', b'f', b'g', b'h', b'i', b'j', 0x03,
        ];
        check("gzip", &gzip(TEXT), TEXT);
        check("X-GZip", &gzip(TEXT), TEXT);
        check("gzip", TEXT, TEXT);
        check("deflate", &zlib.finish().unwrap(), TEXT);
        check("deflate", &bare.finish().unwrap(), TEXT);
        check("zstd", &zstd, TEXT);
        check("zstd, gzip", &gzip(&zstd), TEXT);
        check("br", &brotli, b"abcdefghij");
        check("rot13, gzip", &gzip(TEXT), TEXT);
        check("", TEXT, TEXT);
    }

    #[test]
    fn a_small_body_cannot_burst_the_cap() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert_eq!(decode(b"gzip", bomb, 5000).len(), 5000);
    }

    #[test]
    fn a_torn_body_is_read_as_far_as_it_goes() {
        let whole = gzip(TEXT);
        let text = decode(b"gzip", whole[..whole.len() - 9].to_vec(), 1000);
        assert!(TEXT.starts_with(&text));
    }
}
