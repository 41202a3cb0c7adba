//! Decodes the content coding of a stored body, for `aranha cat` and `aranha text`: gzip, deflate, br, zstd, in any
//! order.
//!
//! The output of every step is limited, so a small body cannot expand without bound. Decoding never fails: if a part of
//! the body cannot be decoded, the result ends before that part.

use std::io::Read;

use brotli_decompressor::Decompressor as Brotli;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The body without the codings of its `Content-Encoding` header, at most `cap` bytes. Decoding stops at an unknown
/// coding.
pub(crate) fn decode(content_encoding: &[u8], body: Vec<u8>, cap: usize) -> Vec<u8> {
    let mut body = body;
    for coding in content_encoding.rsplit(|&byte| byte == b',') {
        let coding = coding.trim_ascii().to_ascii_lowercase();
        body = match coding.as_slice() {
            b"gzip" | b"x-gzip" => {
                if body.starts_with(&[0x1f, 0x8b]) {
                    read(MultiGzDecoder::new(body.as_slice()), cap)
                } else {
                    body // the body is not compressed, although the header says so; browsers accept this too
                }
            }
            b"deflate" => inflate(&body, cap),
            b"br" => read(Brotli::new(body.as_slice(), 4096), cap),
            b"zstd" => match zstd::stream::read::Decoder::new(body.as_slice()) {
                Ok(mut decoder) => {
                    // RFC 8878, 3.1.1.1.2: decoders should support windows of 8 MiB. Larger ones are refused.
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

/// Decodes `deflate`. It means the zlib format (RFC 9110, 8.4.1.2), but some servers send raw deflate data.
fn inflate(body: &[u8], cap: usize) -> Vec<u8> {
    let is_zlib = body.len() >= 2
        && body[0] & 15 == 8
        && (u16::from(body[0]) << 8 | u16::from(body[1])).is_multiple_of(31);
    if is_zlib {
        read(ZlibDecoder::new(body), cap)
    } else {
        read(DeflateDecoder::new(body), cap)
    }
}

/// Reads until the end, the cap or the first error.
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
    fn every_coding_is_decoded() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(TEXT).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
        bare.write_all(TEXT).unwrap();
        let zstd = zstd::encode_all(TEXT, 1).unwrap();
        // "abcdefghij" in an uncompressed meta-block
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
    fn the_decoded_body_is_limited_to_the_cap() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert_eq!(decode(b"gzip", bomb, 5000).len(), 5000);
    }

    #[test]
    fn an_incomplete_body_is_decoded_up_to_its_end() {
        let whole = gzip(TEXT);
        let text = decode(b"gzip", whole[..whole.len() - 9].to_vec(), 1000);
        assert!(TEXT.starts_with(&text));
    }
}
