//! Tests of content codings: valid, damaged and malicious bodies.

use std::io::Write;

use flate2::{Compression, write};

use super::*;

const MAX_SIZE: u64 = 1 << 20;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
    coder
        .write_all(data)
        .expect("a write to memory cannot fail");
    coder.finish().expect("a write to memory cannot fail")
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut coder = write::ZlibEncoder::new(Vec::new(), Compression::default());
    coder
        .write_all(data)
        .expect("a write to memory cannot fail");
    coder.finish().expect("a write to memory cannot fail")
}

fn raw(data: &[u8]) -> Vec<u8> {
    let mut coder = write::DeflateEncoder::new(Vec::new(), Compression::default());
    coder
        .write_all(data)
        .expect("a write to memory cannot fail");
    coder.finish().expect("a write to memory cannot fail")
}

fn zstandard(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 3).expect("a write to memory cannot fail")
}

/// A brotli stream of uncompressed blocks (RFC 7932, 9.2). No dependency of the crate has a brotli encoder.
fn brotli(data: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    // WBITS=16 is one 0 bit; then per meta-block: ISLAST=0, MNIBBLES=4 (00), MLEN-1 in 16 bits, ISUNCOMPRESSED=1.
    let mut lead = 1_u32;
    for block in data.chunks(1 << 16) {
        let length = block.len() as u32 - 1;
        // The first `lead` bits are 0. Then follow 0, 00, the 16 bits of the length, 1, and padding to a byte.
        let bits = (length << (lead + 3)) | (1 << (lead + 19));
        output.extend_from_slice(&bits.to_le_bytes()[..3]);
        output.extend_from_slice(block);
        lead = 0;
    }
    output.push(3);
    output
}

fn sample() -> Vec<u8> {
    (0..4000)
        .flat_map(|n| format!("line {n} of the page\n").into_bytes())
        .collect()
}

#[test]
fn every_coding_is_decoded() {
    let data = sample();
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(&data)),
        (ContentCoding::Deflate, zlib(&data)),
        (ContentCoding::Deflate, raw(&data)),
        (ContentCoding::Zstd, zstandard(&data)),
        (ContentCoding::Brotli, brotli(&data)),
    ] {
        let (body, remarks) = decode(&[coding], &coded.into(), MAX_SIZE);
        assert_eq!(body, data, "{coding:?}");
        assert_eq!(remarks, [], "{coding:?}");
    }
}

#[test]
fn layers_are_decoded_from_the_outermost() {
    let data = sample();
    let coded = zstandard(&gzip(&zlib(&data)));
    let (body, remarks) = decode(
        &[
            ContentCoding::Deflate,
            ContentCoding::Gzip,
            ContentCoding::Zstd,
        ],
        &coded.into(),
        MAX_SIZE,
    );
    assert_eq!(body, data);
    assert_eq!(remarks, []);
}

#[test]
fn gzip_members_are_joined_and_trailing_bytes_ignored() {
    let mut coded = gzip(b"one ");
    coded.extend(gzip(b"two"));
    coded.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\0\0");
    let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), MAX_SIZE);
    assert_eq!(&body[..], b"one two");
    assert_eq!(remarks, []);
}

/// The first and the last member have the same trailer. The body must nevertheless be decoded as a stream.
#[test]
fn equal_first_and_last_gzip_members() {
    let coded = [gzip(b"one"), gzip(b" two "), gzip(b"one")].concat();
    let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), MAX_SIZE);
    assert_eq!(&body[..], b"one two one");
    assert_eq!(remarks, []);
}

#[test]
fn too_many_gzip_members_are_an_error() {
    for (members, remarked) in [(MAX_MEMBERS, false), (MAX_MEMBERS + 1, true)] {
        let coded = gzip(b"").repeat(members);
        let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), MAX_SIZE);
        assert!(body.is_empty());
        assert_eq!(!remarks.is_empty(), remarked, "{members}: {remarks:?}");
    }
}

#[test]
fn a_truncated_body_yields_its_beginning() {
    let data = sample();
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(&data)),
        (ContentCoding::Deflate, zlib(&data)),
        (ContentCoding::Deflate, raw(&data)),
        (ContentCoding::Brotli, brotli(&data)),
    ] {
        let cut = Bytes::copy_from_slice(&coded[..coded.len() * 2 / 3]);
        let (body, remarks) = decode(&[coding], &cut, MAX_SIZE);
        assert!(
            body.len() > data.len() / 3,
            "{coding:?}: {} bytes",
            body.len()
        );
        assert!(data.starts_with(&body), "{coding:?}");
        assert!(
            matches!(&remarks[..], [ResponseRemark::DecodeError { .. }]),
            "{coding:?}: {remarks:?}"
        );
    }
}

/// The body consists of a stored block with five bytes and a block of an invalid type.
#[test]
fn a_corrupt_body_yields_the_data_before_the_fault() {
    let deflated = b"\x00\x05\x00\xfa\xffhello\x07";
    let gzip_header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
    for (coding, header) in [
        (ContentCoding::Gzip, &gzip_header[..]),
        (ContentCoding::Deflate, b"\x78\x01"),
        (ContentCoding::Deflate, b""),
    ] {
        let coded = [header, deflated].concat();
        let (body, remarks) = decode(&[coding], &coded.into(), MAX_SIZE);
        assert_eq!(&body[..], b"hello", "{coding:?}");
        assert!(
            matches!(&remarks[..], [ResponseRemark::DecodeError { .. }]),
            "{coding:?}: {remarks:?}"
        );
    }
}

#[test]
fn truncated_and_corrupt_bodies_do_not_panic() {
    let data = &sample()[..3000];
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(data)),
        (ContentCoding::Deflate, zlib(data)),
        (ContentCoding::Deflate, raw(data)),
        (ContentCoding::Zstd, zstandard(data)),
        (ContentCoding::Brotli, brotli(data)),
    ] {
        for at in 0..coded.len() {
            let (body, _) = decode(&[coding], &Bytes::copy_from_slice(&coded[..at]), MAX_SIZE);
            assert!(
                data.starts_with(&body) || coded.starts_with(&body),
                "{coding:?} cut at {at}"
            );
            let mut flipped = coded.clone();
            flipped[at] ^= 0x55;
            decode(&[coding], &flipped.into(), MAX_SIZE);
        }
    }
}

/// The decoding of a bomb stops at 8 MiB, even if the maximum size is far larger. A large text is decoded
/// completely.
#[test]
fn decoding_stops_at_the_ratio_of_a_bomb() {
    let zeros = vec![0; 64 << 20];
    for (coding, body) in [
        (ContentCoding::Gzip, gzip(&zeros)),
        (ContentCoding::Deflate, zlib(&zeros)),
        (ContentCoding::Deflate, raw(&zeros)),
        (ContentCoding::Zstd, zstandard(&zeros)),
    ] {
        let (body, remarks) = decode(&[coding], &body.into(), 100 << 20);
        assert_eq!(body.len(), MIN_BOMB_SIZE, "{coding:?}");
        let truncated = ResponseRemark::DecodedTruncated(MIN_BOMB_SIZE as u64);
        assert_eq!(remarks, [truncated], "{coding:?}");
    }
    let lines = (0..1_000_000).map(|line| format!("this is line {line}\n"));
    let text = lines.collect::<Vec<_>>().concat();
    let body = gzip(text.as_bytes());
    let (body, remarks) = decode(&[ContentCoding::Gzip], &body.into(), 100 << 20);
    assert_eq!((body.len(), remarks), (text.len(), Vec::new()));
}

#[test]
fn the_output_of_compression_bombs_is_limited() {
    let zeros = vec![0; 8 << 20];
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(&zeros)),
        (ContentCoding::Deflate, zlib(&zeros)),
        (ContentCoding::Zstd, zstandard(&zeros)),
        (ContentCoding::Brotli, brotli(&zeros)),
    ] {
        let (body, remarks) = decode(&[coding], &coded.into(), 1000);
        assert_eq!(body.len(), 1000, "{coding:?}");
        assert_eq!(
            remarks,
            [ResponseRemark::DecodedTruncated(1000)],
            "{coding:?}"
        );
    }
    let layered = gzip(&gzip(&zeros));
    let (body, remarks) = decode(
        &[ContentCoding::Gzip, ContentCoding::Gzip],
        &layered.into(),
        100_000,
    );
    assert_eq!(body.len(), 100_000);
    assert_eq!(remarks, [ResponseRemark::DecodedTruncated(100_000)]);
}

#[test]
fn the_output_buffer_is_no_larger_than_the_limit() {
    let zeros = vec![0; 8 << 20];
    for (coding, coded) in [
        (ContentCoding::Gzip, gzip(&zeros)),
        (ContentCoding::Deflate, zlib(&zeros)),
        (ContentCoding::Zstd, zstandard(&zeros)),
        (ContentCoding::Brotli, brotli(&zeros)),
    ] {
        let mut layer = LayerDecoder {
            output: Vec::new(),
            max_size: MAX_SIZE,
            stop: None,
            consumed: &Cell::new(0),
        };
        layer.decode(coding, &coded);
        assert_eq!(layer.output.len() as u64, MAX_SIZE, "{coding:?}");
        assert!(layer.output.capacity() as u64 <= MAX_SIZE + 1, "{coding:?}");
    }
}

#[test]
fn a_body_that_is_not_encoded_is_returned_as_it_is() {
    for coding in [
        ContentCoding::Gzip,
        ContentCoding::Zstd,
        ContentCoding::Deflate,
        ContentCoding::Brotli,
    ] {
        let (body, remarks) = decode(&[coding], &Bytes::from_static(b"<!DOCTYPE html>"), MAX_SIZE);
        assert_eq!(&body[..], b"<!DOCTYPE html>", "{coding:?}");
        assert!(matches!(&remarks[..], [ResponseRemark::NotCoded(_)]));
    }
}

#[test]
fn content_encoding_headers() {
    let check = |value: &'static str, expected: &[ContentCoding], remark: bool| {
        let mut headers = Headers::default();
        headers.push(b"Content-Encoding", value.as_bytes());
        let mut remarks = Vec::new();
        assert_eq!(codings(&headers, &mut remarks), expected, "{value}");
        assert_eq!(remarks.is_empty(), !remark, "{value}");
    };
    check("gzip", &[ContentCoding::Gzip], false);
    check(
        "X-GZIP , br",
        &[ContentCoding::Gzip, ContentCoding::Brotli],
        false,
    );
    check("identity", &[], false);
    check("", &[], false);
    check("utf-8", &[], true);
    check("gzip, gzip, gzip", &[ContentCoding::Gzip; 3], false);
    check("gzip, gzip, gzip, gzip", &[], true);
}
