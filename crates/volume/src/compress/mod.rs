//! Compression of records. Every record becomes one *member*: a gzip member (WARC 1.1, annex D), which every tool
//! reads, or a zstd frame (IIPC draft "Zstandard Compression for WARC Files 1.0", without a dictionary), which is
//! shorter than the gzip member for the same processor time.
//!
//! Every member can be decompressed without the others, and has a checksum. Readers recognise the format by the first
//! byte, not by the file name. One collection may hold volumes of both formats.

pub(crate) mod members;
mod short;

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor};
use serde::{Deserialize, Serialize};
use zstd::stream::read::Decoder;

use self::short::ShortDeflater;

/// A reused buffer that grew larger than this many bytes is freed after the record.
pub(crate) const MAX_KEPT_BUFFER: usize = 4 << 20;

/// Size of a new reusable buffer for `bytes` bytes: the next power of two, so that the buffer is rarely replaced. The
/// size exceeds [`MAX_KEPT_BUFFER`] only if `bytes` does.
pub(crate) fn buffer_size(bytes: usize) -> usize {
    bytes.next_power_of_two().min(MAX_KEPT_BUFFER.max(bytes))
}

/// Compression format of the records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// One gzip member per record: `.warc.gz`.
    #[default]
    Gzip,
    /// One zstd frame per record: `.warc.zst`.
    Zstd,
}

impl Compression {
    pub(crate) const ALL: [Self; 2] = [Self::Gzip, Self::Zstd];

    /// Extension of the volumes' file names.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Gzip => ".warc.gz",
            Self::Zstd => ".warc.zst",
        }
    }

    /// First bytes of every member.
    pub(crate) fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => &[0x1f, 0x8b, 8],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        }
    }

    /// The format of a member with this first byte: zstd if it is the first byte of zstd's magic number, otherwise
    /// gzip.
    fn of(first: u8) -> Self {
        if first == Self::Zstd.magic()[0] {
            Self::Zstd
        } else {
            Self::Gzip
        }
    }
}

/// Compresses records one after the other and reuses the buffers.
pub(crate) struct RecordCompressor {
    method: CompressionMethod,
    /// Output of libdeflate or zstd, reused for every record.
    buffer: Vec<u8>,
}

enum CompressionMethod {
    /// Gzip at level 1. Short records are compressed by [`ShortDeflater`].
    FastGzip(Compressor, Box<ShortDeflater>),
    Gzip(Compressor),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl RecordCompressor {
    /// Levels outside the range of libdeflate or zstd are clamped.
    pub(crate) fn new(compression: Compression, level: i32) -> Self {
        let method = match compression {
            Compression::Gzip => {
                let level = level.clamp(1, 12);
                let gzip = Compressor::new(
                    CompressionLvl::new(level).expect("libdeflate has levels 1 to 12"),
                );
                if level == 1 {
                    CompressionMethod::FastGzip(gzip, Box::new(ShortDeflater::new()))
                } else {
                    CompressionMethod::Gzip(gzip)
                }
            }
            Compression::Zstd => {
                let mut compressor = zstd::bulk::Compressor::new(level.clamp(1, 22))
                    .expect("zstd has levels 1 to 22, and memory is available");
                compressor
                    .include_checksum(true)
                    .expect("every zstd compressor supports checksums");
                CompressionMethod::Zstd(compressor)
            }
        };
        Self {
            method,
            buffer: Vec::new(),
        }
    }

    /// Appends the compressed record to `out`. Returns its compressed length.
    pub(crate) fn compress(&mut self, record: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        match &mut self.method {
            CompressionMethod::FastGzip(_, short) if record.len() <= short::MAX_SHORT => {
                short.compress(record, out);
            }
            _ => {
                let length = self.compress_into_buffer(record);
                out.extend_from_slice(&self.buffer[..length]);
                self.free_large_buffer();
            }
        }
        out.len() - start
    }

    /// Whether [`RecordCompressor::compress_split`] accepts a first part of this length.
    pub(crate) fn can_compress_split(&self, length: usize) -> bool {
        matches!(self.method, CompressionMethod::FastGzip(..)) && length <= short::MAX_SHORT
    }

    /// Like [`RecordCompressor::compress`], for a record whose two parts are in different buffers. Call it only if
    /// [`RecordCompressor::can_compress_split`] returns true for the length of `first`.
    pub(crate) fn compress_split(&mut self, first: &[u8], rest: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        if let CompressionMethod::FastGzip(gzip, _) = &mut self.method {
            let bound = gzip.deflate_compress_bound(rest.len());
            self.ensure_buffer(bound);
        }
        if let CompressionMethod::FastGzip(gzip, short) = &mut self.method {
            short.compress_split(first, rest, gzip, &mut self.buffer, out);
            self.free_large_buffer();
        }
        out.len() - start
    }

    /// Makes the buffer at least `bound` bytes long. Its content is lost.
    fn ensure_buffer(&mut self, bound: usize) {
        if self.buffer.len() < bound {
            self.buffer = vec![0; buffer_size(bound)];
        }
    }

    /// Compresses into the buffer. Returns the compressed length.
    fn compress_into_buffer(&mut self, record: &[u8]) -> usize {
        let bound = match &mut self.method {
            CompressionMethod::FastGzip(gzip, _) | CompressionMethod::Gzip(gzip) => {
                gzip.gzip_compress_bound(record.len())
            }
            CompressionMethod::Zstd(_) => zstd::zstd_safe::compress_bound(record.len()),
        };
        self.ensure_buffer(bound);
        let buffer = &mut self.buffer[..];
        let enough = "the buffer has the size that the compressor requires";
        match &mut self.method {
            CompressionMethod::FastGzip(gzip, _) | CompressionMethod::Gzip(gzip) => {
                gzip.gzip_compress(record, buffer).expect(enough)
            }
            CompressionMethod::Zstd(zstd) => zstd.compress_to_buffer(record, buffer).expect(enough),
        }
    }

    /// Frees the buffer after a very large record.
    fn free_large_buffer(&mut self) {
        if self.buffer.len() > MAX_KEPT_BUFFER {
            self.buffer = Vec::new();
        }
    }
}

/// Reads the content of the next member. When it has been read to its end, exactly that member was consumed. An
/// incomplete or damaged member is an error.
pub(crate) enum MemberDecoder<'a, R: BufRead> {
    Gzip(Box<GzDecoder<R>>),
    Zstd(Decoder<'a, R>),
}

/// The decoder for the next member of `source`.
pub(crate) fn decoder<'a, R: BufRead>(mut source: R) -> io::Result<MemberDecoder<'a, R>> {
    let first = source.fill_buf()?.first().copied().unwrap_or_default();
    Ok(match Compression::of(first) {
        Compression::Gzip => MemberDecoder::Gzip(Box::new(GzDecoder::new(source))),
        Compression::Zstd => MemberDecoder::Zstd(zstd_decoder(source)?),
    })
}

impl<R: BufRead> Read for MemberDecoder<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            MemberDecoder::Gzip(decoder) => decoder.read(buffer),
            MemberDecoder::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// At most `limit` bytes from the beginning of a member's content. If `compressed` is only the beginning of the member,
/// the result is the content that can be decompressed from it.
pub(crate) fn decompress_prefix(compressed: &[u8], limit: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let first = compressed.first().copied().unwrap_or_default();
    // An incomplete member gives an error, but the bytes that were decompressed before the error are valid.
    let _ = match Compression::of(first) {
        Compression::Gzip => GzDecoder::new(compressed).take(limit).read_to_end(&mut out),
        Compression::Zstd => {
            zstd_decoder(compressed).and_then(|decoder| decoder.take(limit).read_to_end(&mut out))
        }
    };
    out
}

fn zstd_decoder<'a, R: BufRead>(source: R) -> io::Result<Decoder<'a, R>> {
    let mut decoder = Decoder::with_buffer(source)?.single_frame();
    // The zstd window (the range that matches can refer to) can be as large as the record, so the largest size is
    // allowed.
    decoder.window_log_max(31)?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decompress(source: &mut &[u8], out: &mut Vec<u8>) -> io::Result<usize> {
        decoder(source)?.read_to_end(out)
    }

    fn compressed(compression: Compression, level: i32, record: &[u8]) -> Vec<u8> {
        let mut member = Vec::new();
        let length = RecordCompressor::new(compression, level).compress(record, &mut member);
        assert_eq!(length, member.len());
        member
    }

    #[test]
    fn members_of_both_formats_are_read_in_sequence() {
        let text: Vec<u8> = (0..50_000u32)
            .flat_map(|n| (n / 7).to_string().into_bytes())
            .collect();
        for level in [-5, 1, 6, 99] {
            let mut file = compressed(Compression::Zstd, level, &text);
            file.extend(compressed(Compression::Gzip, level, b"second"));
            file.extend(compressed(Compression::Zstd, level, b""));
            let mut source = file.as_slice();
            for expected in [text.as_slice(), b"second", b""] {
                let mut content = Vec::new();
                decompress(&mut source, &mut content).unwrap();
                assert_eq!(content, expected);
            }
            assert!(source.is_empty());
        }
    }

    #[test]
    fn the_buffer_of_a_very_large_record_is_freed() {
        for compression in Compression::ALL {
            let mut compressor = RecordCompressor::new(compression, 1);
            for (length, kept) in [
                (5_000, 8 << 10),
                (70_000, 128 << 10),
                (5_000, 128 << 10),
                (MAX_KEPT_BUFFER - (1 << 16), MAX_KEPT_BUFFER),
                (100_000, MAX_KEPT_BUFFER),
                (MAX_KEPT_BUFFER + 1, 0),
                (5_000, 8 << 10),
            ] {
                compressor.compress(&vec![b'a'; length], &mut Vec::new());
                assert_eq!(compressor.buffer.len(), kept, "after {length}");
            }
        }
        let mut compressor = RecordCompressor::new(Compression::Gzip, 1);
        assert!(compressor.can_compress_split(short::MAX_SHORT));
        assert!(!compressor.can_compress_split(short::MAX_SHORT + 1));
        for (length, kept) in [(70_000, 128 << 10), (MAX_KEPT_BUFFER + 1, 0)] {
            compressor.compress_split(b"WARC/1.1", &vec![b'a'; length], &mut Vec::new());
            assert_eq!(compressor.buffer.len(), kept, "after {length}");
        }
    }

    #[test]
    fn an_incomplete_or_changed_member_is_an_error() {
        for compression in Compression::ALL {
            let member = compressed(compression, 3, b"as dez aranhas tecem as dez teias");
            assert!(member.starts_with(compression.magic()));
            for length in 1..member.len() {
                let truncated = &mut &member[..length];
                assert!(decompress(truncated, &mut Vec::new()).is_err(), "{length}");
            }
            let mut changed = member.clone();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            assert!(decompress(&mut changed.as_slice(), &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn a_prefix_is_decompressed_without_the_rest() {
        for compression in Compression::ALL {
            let member = compressed(compression, 1, "teia ".repeat(100_000).as_bytes());
            assert_eq!(decompress_prefix(&member, 12), b"teia teia te");
            assert!(decompress_prefix(b"", 12).is_empty());
        }
    }
}
