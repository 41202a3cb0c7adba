//! Content codings undone for reading (RFC 9110, 8.4): gzip, deflate, br, zstd, in layers.
//!
//! The bytes stored are the coded ones; this makes the copy that the page reader sees. Output is capped, so that a
//! small bomb stays small, and a body cut short still gives its beginning. Deflate comes as zlib or raw, as servers
//! have it; a body that is not coded at all in spite of its label is passed through.

use std::{cell::RefCell, io::Read};

use bytes::Bytes;

use crate::{Headers, ResponseRemark};

/// Layers of coding that are undone; more are an attack or an accident.
const MOST_LAYERS: usize = 3;

/// Members of one gzip body: each costs a decoder, and twenty bytes are one.
const MOST_MEMBERS: usize = 10_000;

/// Room made before the first byte comes out.
const FIRST_ROOM: usize = 16 << 10;

/// zstd's window for content codings: at most 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl ContentCoding {
    fn of(name: &str) -> Option<ContentCoding> {
        Some(match name {
            "gzip" | "x-gzip" => ContentCoding::Gzip,
            "deflate" => ContentCoding::Deflate,
            "br" => ContentCoding::Brotli,
            "zstd" => ContentCoding::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            ContentCoding::Gzip => "gzip",
            ContentCoding::Deflate => "deflate",
            ContentCoding::Brotli => "br",
            ContentCoding::Zstd => "zstd",
        }
    }
}

/// The codings to undo, in the order in which they were applied: the content's, then the rare transfer coding other
/// than chunks. Empty when the headers cannot be followed.
pub(crate) fn codings(headers: &Headers, remarks: &mut Vec<ResponseRemark>) -> Vec<ContentCoding> {
    let mut codings = Vec::new();
    let transfer = headers.all("transfer-encoding");
    for value in headers.all("content-encoding").chain(transfer) {
        let text = String::from_utf8_lossy(value).to_ascii_lowercase();
        let names = text.split(',').map(str::trim);
        for name in names.filter(|name| !matches!(*name, "" | "identity" | "none" | "chunked")) {
            let Some(coding) = ContentCoding::of(name) else {
                remarks.push(ResponseRemark::UnknownCoding(
                    name.chars().take(40).collect(),
                ));
                return Vec::new();
            };
            codings.push(coding);
        }
    }
    if codings.len() > MOST_LAYERS {
        remarks.push(ResponseRemark::TooManyCodings(codings.len()));
        codings.clear();
    }
    codings
}

/// Undoes the codings, the last applied first. `cap`: bytes of output, of each layer.
pub(crate) fn decode(
    codings: &[ContentCoding],
    payload: &Bytes,
    cap: u64,
) -> (Bytes, Vec<ResponseRemark>) {
    let mut body = payload.clone();
    let mut remarks = Vec::new();
    for coding in codings.iter().rev() {
        if body.is_empty() {
            break;
        }
        let mut layer = LayerDecoder {
            out: Vec::new(),
            cap,
            stop: None,
        };
        layer.undo(*coding, &body);
        match layer.stop {
            None => {}
            Some(DecodeStop::Cut) => remarks.push(ResponseRemark::DecodedTruncated(cap)),
            Some(DecodeStop::Broken(reason)) => {
                remarks.push(ResponseRemark::DecodeError {
                    coding: coding.name().to_owned(),
                    reason,
                });
            }
            Some(DecodeStop::NotCoded) => {
                remarks.push(ResponseRemark::NotCoded(coding.name().to_owned()));
                continue;
            }
        }
        body = layer.out.into();
    }
    (body, remarks)
}

/// Why a layer ended before its input.
enum DecodeStop {
    Cut,
    Broken(String),
    NotCoded,
}

struct LayerDecoder {
    out: Vec<u8>,
    cap: u64,
    stop: Option<DecodeStop>,
}

impl LayerDecoder {
    fn undo(&mut self, coding: ContentCoding, input: &[u8]) {
        match coding {
            ContentCoding::Gzip if !input.starts_with(&[0x1f, 0x8b]) => {
                self.stop = Some(DecodeStop::NotCoded);
            }
            ContentCoding::Gzip => self.gzip(input),
            ContentCoding::Deflate => self.deflate(input),
            ContentCoding::Brotli => {
                self.drain(brotli_decompressor::Decompressor::new(input, 4 << 10));
                self.or_not_coded();
            }
            ContentCoding::Zstd
                if !input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && !is_skippable(input) =>
            {
                self.stop = Some(DecodeStop::NotCoded);
            }
            ContentCoding::Zstd => self.zstd(input),
        }
    }

    /// Whole gzip bodies of one member at once; the rest, and whatever fails, by stream.
    fn gzip(&mut self, input: &[u8]) {
        if self.gzip_at_once(input) {
            return;
        }
        let mut rest = input;
        let mut members = 0;
        while rest.starts_with(&[0x1f, 0x8b]) && self.stop.is_none() {
            if members == MOST_MEMBERS {
                self.stop = Some(DecodeStop::Broken("too many members".to_owned()));
                return;
            }
            members += 1;
            let mut member = flate2::bufread::GzDecoder::new(rest);
            self.drain(&mut member);
            rest = member.into_inner();
        }
    }

    /// Twice as fast as a stream: the trailer tells the size, so that one buffer and one call do. False when the
    /// trailer does not fit: cut short, several members, junk at the end.
    fn gzip_at_once(&mut self, input: &[u8]) -> bool {
        /// Deflate cannot do better than this.
        const BEST_RATIO: u64 = 1032;
        thread_local! {
            static DECOMPRESSOR: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
        }
        let Some((_, &[c0, c1, c2, c3, s0, s1, s2, s3])) = input.split_last_chunk() else {
            return false;
        };
        // The call reads the first member only, and the last one's trailer may fit it.
        if memchr::memmem::find(&input[1..], &[0x1f, 0x8b, 8]).is_some() {
            return false;
        }
        let size = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
        if size == 0 || size > self.cap || size > input.len() as u64 * BEST_RATIO {
            return false;
        }
        self.out.resize(size as usize, 0);
        let done = DECOMPRESSOR
            .with_borrow_mut(|decompressor| decompressor.gzip_decompress(input, &mut self.out));
        let mut sum = libdeflater::Crc::new();
        sum.update(&self.out);
        let right = done == Ok(self.out.len()) && sum.sum() == u32::from_le_bytes([c0, c1, c2, c3]);
        if !right {
            self.out.clear();
        }
        right
    }

    fn deflate(&mut self, input: &[u8]) {
        let is_zlib = matches!(input, [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([*a, *b]).is_multiple_of(31));
        if is_zlib {
            self.drain(flate2::bufread::ZlibDecoder::new(input));
        }
        if self.out.is_empty() {
            self.stop = None;
            self.drain(flate2::bufread::DeflateDecoder::new(input));
        }
        self.or_not_coded();
    }

    /// Codings without a mark at their beginning: what brings nothing at all was none.
    fn or_not_coded(&mut self) {
        if self.out.is_empty() && matches!(self.stop, Some(DecodeStop::Broken(_))) {
            self.stop = Some(DecodeStop::NotCoded);
        }
    }

    fn zstd(&mut self, input: &[u8]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(input).and_then(|mut decoder| {
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Ok(decoder)
        });
        match decoder {
            Ok(decoder) => self.drain(decoder),
            Err(error) => self.stop = Some(DecodeStop::Broken(error.to_string())),
        }
    }

    /// Reads a decoder to its end, its fault or the cap. What it gave before a fault is kept.
    /// All that comes out, and a byte more than the cap at most. The buffer doubles, but never beyond that byte.
    fn drain(&mut self, mut decoder: impl Read) {
        let end = usize::try_from(self.cap.saturating_add(1)).unwrap_or(usize::MAX);
        let mut result = Ok(0);
        while result.is_ok() && self.out.len() < end {
            if self.out.len() == self.out.capacity() {
                let larger = (2 * self.out.len()).max(FIRST_ROOM).min(end);
                self.out.reserve_exact(larger - self.out.len());
            }
            let room = self.out.capacity() - self.out.len();
            let room = room.min(end - self.out.len());
            result = decoder
                .by_ref()
                .take(room as u64)
                .read_to_end(&mut self.out);
            if matches!(result, Ok(read) if read < room) {
                break;
            }
        }
        if self.out.len() as u64 > self.cap {
            self.out.truncate(self.cap as usize);
            self.stop = Some(DecodeStop::Cut);
        } else if let Err(error) = result {
            self.stop = Some(DecodeStop::Broken(error.to_string()));
        }
    }
}

/// A skippable zstd frame may come first (RFC 8878, 3.1.2).
fn is_skippable(input: &[u8]) -> bool {
    matches!(input, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write};

    use super::*;

    const CAP: u64 = 1 << 20;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut coder = write::GzEncoder::new(Vec::new(), Compression::default());
        coder.write_all(data).expect("in memory");
        coder.finish().expect("in memory")
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut coder = write::ZlibEncoder::new(Vec::new(), Compression::default());
        coder.write_all(data).expect("in memory");
        coder.finish().expect("in memory")
    }

    fn raw(data: &[u8]) -> Vec<u8> {
        let mut coder = write::DeflateEncoder::new(Vec::new(), Compression::default());
        coder.write_all(data).expect("in memory");
        coder.finish().expect("in memory")
    }

    fn zstandard(data: &[u8]) -> Vec<u8> {
        zstd::encode_all(data, 3).expect("in memory")
    }

    /// A brotli stream of uncompressed blocks: no encoder is at hand, the format allows it (RFC 7932, 9.2).
    fn brotli(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // WBITS=16 is one 0 bit; then per meta-block: ISLAST=0, MNIBBLES=4 (00), MLEN-1 in 16 bits, ISUNCOMPRESSED=1.
        let mut lead = 1_u32;
        for block in data.chunks(1 << 16) {
            let length = block.len() as u32 - 1;
            // lead bits of 0, then 0, 00, 16 bits, 1, padded to a byte.
            let bits = (length << (lead + 3)) | (1 << (lead + 19));
            out.extend_from_slice(&bits.to_le_bytes()[..3]);
            out.extend_from_slice(block);
            lead = 0;
        }
        out.push(3);
        out
    }

    fn sample() -> Vec<u8> {
        (0..4000)
            .flat_map(|n| format!("line {n} of the page\n").into_bytes())
            .collect()
    }

    #[test]
    fn every_coding_is_undone() {
        let data = sample();
        for (coding, coded) in [
            (ContentCoding::Gzip, gzip(&data)),
            (ContentCoding::Deflate, zlib(&data)),
            (ContentCoding::Deflate, raw(&data)),
            (ContentCoding::Zstd, zstandard(&data)),
            (ContentCoding::Brotli, brotli(&data)),
        ] {
            let (body, remarks) = decode(&[coding], &coded.into(), CAP);
            assert_eq!(body, data, "{coding:?}");
            assert_eq!(remarks, [], "{coding:?}");
        }
    }

    #[test]
    fn layers_are_undone_from_the_outside_in() {
        let data = sample();
        let coded = zstandard(&gzip(&zlib(&data)));
        let (body, remarks) = decode(
            &[
                ContentCoding::Deflate,
                ContentCoding::Gzip,
                ContentCoding::Zstd,
            ],
            &coded.into(),
            CAP,
        );
        assert_eq!(body, data);
        assert_eq!(remarks, []);
    }

    #[test]
    fn several_members_and_junk_after_them() {
        let mut coded = gzip(b"one ");
        coded.extend(gzip(b"two"));
        coded.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\0\0");
        let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), CAP);
        assert_eq!(&body[..], b"one two");
        assert_eq!(remarks, []);
    }

    /// The trailer at the end is that of the first member, too.
    #[test]
    fn several_members_that_are_equal() {
        let coded = [gzip(b"one"), gzip(b" two "), gzip(b"one")].concat();
        let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), CAP);
        assert_eq!(&body[..], b"one two one");
        assert_eq!(remarks, []);
    }

    #[test]
    fn members_without_end_are_given_up() {
        for (members, remarked) in [(MOST_MEMBERS, false), (MOST_MEMBERS + 1, true)] {
            let coded = gzip(b"").repeat(members);
            let (body, remarks) = decode(&[ContentCoding::Gzip], &coded.into(), CAP);
            assert!(body.is_empty());
            assert_eq!(!remarks.is_empty(), remarked, "{members}: {remarks:?}");
        }
    }

    #[test]
    fn a_body_cut_short_gives_its_beginning() {
        let data = sample();
        for (coding, coded) in [
            (ContentCoding::Gzip, gzip(&data)),
            (ContentCoding::Deflate, zlib(&data)),
            (ContentCoding::Deflate, raw(&data)),
            (ContentCoding::Brotli, brotli(&data)),
        ] {
            let cut = Bytes::copy_from_slice(&coded[..coded.len() * 2 / 3]);
            let (body, remarks) = decode(&[coding], &cut, CAP);
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

    #[test]
    fn no_cut_or_flipped_byte_panics() {
        let data = &sample()[..3000];
        for (coding, coded) in [
            (ContentCoding::Gzip, gzip(data)),
            (ContentCoding::Deflate, zlib(data)),
            (ContentCoding::Deflate, raw(data)),
            (ContentCoding::Zstd, zstandard(data)),
            (ContentCoding::Brotli, brotli(data)),
        ] {
            for at in 0..coded.len() {
                let (body, _) = decode(&[coding], &Bytes::copy_from_slice(&coded[..at]), CAP);
                assert!(
                    data.starts_with(&body) || coded.starts_with(&body),
                    "{coding:?} cut at {at}"
                );
                let mut flipped = coded.clone();
                flipped[at] ^= 0x55;
                decode(&[coding], &flipped.into(), CAP);
            }
        }
    }

    #[test]
    fn bombs_are_capped() {
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
    fn the_output_has_no_more_room_than_its_cap() {
        let zeros = vec![0; 8 << 20];
        for (coding, coded) in [
            (ContentCoding::Gzip, gzip(&zeros)),
            (ContentCoding::Deflate, zlib(&zeros)),
            (ContentCoding::Zstd, zstandard(&zeros)),
            (ContentCoding::Brotli, brotli(&zeros)),
        ] {
            let mut layer = LayerDecoder {
                out: Vec::new(),
                cap: CAP,
                stop: None,
            };
            layer.undo(coding, &coded);
            assert_eq!(layer.out.len() as u64, CAP, "{coding:?}");
            assert!(layer.out.capacity() as u64 <= CAP + 1, "{coding:?}");
        }
    }

    #[test]
    fn a_body_that_is_not_coded_passes_through() {
        for coding in [
            ContentCoding::Gzip,
            ContentCoding::Zstd,
            ContentCoding::Deflate,
            ContentCoding::Brotli,
        ] {
            let (body, remarks) = decode(&[coding], &Bytes::from_static(b"<!DOCTYPE html>"), CAP);
            assert_eq!(&body[..], b"<!DOCTYPE html>", "{coding:?}");
            assert!(matches!(&remarks[..], [ResponseRemark::NotCoded(_)]));
        }
    }

    #[test]
    fn the_header_is_read_as_servers_write_it() {
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
}
