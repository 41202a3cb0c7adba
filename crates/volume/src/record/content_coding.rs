//! Decodes the content coding of a stored body, for `aranha cat` and `aranha text`: gzip, deflate, br, zstd, in any
//! order.
//!
//! The output of every step is limited, so a small body cannot expand without bound. Decoding never fails: if a part of
//! the body cannot be decoded, the result ends before that part. A body that is not encoded, although the header says
//! so, is returned unchanged. The crawl decodes in the same way (`aranha-fetch`), so that commands read what the crawl
//! read.

use std::io::Read;

use brotli_decompressor::Decompressor as Brotli;
use flate2::{Decompress, FlushDecompress, Status};

/// The body without the codings of its `Content-Encoding` header, at most `cap` bytes. Decoding stops at an unknown
/// coding.
pub(crate) fn decode(content_encoding: &[u8], body: Vec<u8>, cap: usize) -> Vec<u8> {
    let mut body = body;
    for coding in content_encoding.rsplit(|&byte| byte == b',') {
        let coding = coding.trim_ascii().to_ascii_lowercase();
        body = match coding.as_slice() {
            b"gzip" | b"x-gzip" if body.starts_with(&[0x1f, 0x8b]) => gunzip(&body, cap),
            b"deflate" => decode_deflate(&body, cap).unless_not_encoded(body),
            b"br" => read(Brotli::new(body.as_slice(), 4096), cap).unless_not_encoded(body),
            b"zstd" if is_zstd(&body) => read(zstd_decoder(&body), cap).bytes,
            // The body does not begin with the magic number of the coding, so it is not encoded. Browsers accept such
            // bodies too.
            b"" | b"identity" | b"gzip" | b"x-gzip" | b"zstd" => body,
            _ => return body,
        };
    }
    body
}

/// The output of a decoder.
struct Decoded {
    bytes: Vec<u8>,
    /// Whether the decoder failed. `bytes` is what it decoded before.
    failed: bool,
}

impl Decoded {
    /// The decoded bytes; the body itself if the decoder failed before any output.
    fn unless_not_encoded(self, body: Vec<u8>) -> Vec<u8> {
        if self.failed && self.bytes.is_empty() {
            body
        } else {
            self.bytes
        }
    }
}

/// Decodes all members of a gzip body.
fn gunzip(body: &[u8], cap: usize) -> Vec<u8> {
    let (mut bytes, mut rest, mut failed) = (Vec::new(), body, false);
    while rest.starts_with(&[0x1f, 0x8b]) && bytes.len() < cap && !failed {
        let mut state = Decompress::new_gzip(15);
        failed = inflate(rest, &mut state, &mut bytes, cap);
        rest = &rest[state.total_in() as usize..];
    }
    bytes
}

/// Decodes `deflate`. It means the zlib format (RFC 9110, 8.4.1.2), but some servers send raw deflate data, which can
/// begin like the zlib format.
fn decode_deflate(body: &[u8], cap: usize) -> Decoded {
    let is_zlib = body.len() >= 2
        && body[0] & 15 == 8
        && (u16::from(body[0]) << 8 | u16::from(body[1])).is_multiple_of(31);
    let decode = |has_header: bool| {
        let mut bytes = Vec::new();
        let failed = inflate(body, &mut Decompress::new(has_header), &mut bytes, cap);
        Decoded { bytes, failed }
    };
    if is_zlib {
        let decoded = decode(true);
        let raw = decoded.failed.then(|| decode(false));
        match raw {
            Some(raw) if !raw.failed || decoded.bytes.is_empty() => raw,
            _ => decoded,
        }
    } else {
        decode(false)
    }
}

/// Decodes until the end, the first error, or `cap` bytes of output. Returns whether the data are corrupt or
/// incomplete. The output has all bytes before the fault. (The readers of flate2 are not used, because they lose the
/// bytes that they decode in the same call that finds the fault.)
fn inflate(body: &[u8], state: &mut Decompress, out: &mut Vec<u8>, cap: usize) -> bool {
    /// Free space in the output for each step.
    const STEP: usize = 64 << 10;
    loop {
        out.reserve(STEP.min(cap - out.len()).max(1));
        let before = out.len();
        let input = &body[state.total_in() as usize..];
        let status = state.decompress_vec(input, out, FlushDecompress::None);
        let is_capped = out.len() >= cap;
        out.truncate(cap);
        match status {
            _ if is_capped => return false,
            Ok(Status::StreamEnd) => return false,
            Ok(_) if out.len() > before => {}
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Whether the body begins with a zstd frame or a skippable frame (RFC 8878, 3.1).
fn is_zstd(body: &[u8]) -> bool {
    matches!(
        body,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    )
}

fn zstd_decoder(body: &[u8]) -> Box<dyn Read + '_> {
    match zstd::stream::read::Decoder::with_buffer(body) {
        Ok(mut decoder) => {
            // RFC 8878, 3.1.1.1.2: decoders should support windows of 8 MiB. Larger ones are refused.
            let _ = decoder.window_log_max(23);
            Box::new(decoder)
        }
        Err(_) => Box::new(std::io::empty()),
    }
}

/// Reads until the end, the cap or the first error.
fn read(decoder: impl Read, cap: usize) -> Decoded {
    let mut bytes = Vec::new();
    let failed = decoder.take(cap as u64).read_to_end(&mut bytes).is_err();
    Decoded { bytes, failed }
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
    fn a_body_that_is_not_encoded_is_returned_unchanged() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            check(coding, TEXT, TEXT);
            check(coding, b"", b"");
        }
    }

    /// The body consists of a stored block with five bytes and a block of an invalid type.
    #[test]
    fn a_corrupt_body_is_decoded_up_to_the_fault() {
        let deflated = b"\x00\x05\x00\xfa\xffhello\x07";
        check("deflate", deflated, b"hello");
        check("deflate", &[b"\x78\x01", &deflated[..]].concat(), b"hello");
        let header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
        check("gzip", &[&header[..], deflated].concat(), b"hello");
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
