//! Reads the body of a stored response as a stream, for bodies that are too large for memory.

use std::io::{self, BufRead as _, BufReader, Read};

use brotli_decompressor::Decompressor as Brotli;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::record::http::{self, TransferCoding};
use crate::record::parsed::WarcRecord;

/// Maximum length of a chunk-size line.
const MAX_LINE: u64 = 256;

/// The HTTP body as stored. `member` is the whole content of the record's member.
pub(super) fn stored_body(mut member: impl Read, record: &WarcRecord) -> io::Result<impl Read> {
    // The header of the record ends at its first empty line.
    let mut last = [0; 4];
    while last != *b"\r\n\r\n" {
        last.rotate_left(1);
        member.read_exact(&mut last[3..])?;
    }
    let head = record.http_head().len() as u64;
    io::copy(&mut (&mut member).take(head), &mut io::sink())?;
    Ok(member.take(record.block_length() - head))
}

/// The body without transfer coding and without the content codings that the head of `record` names. As in
/// [`WarcRecord::body_decoded`], decoding stops at an unknown coding, and a body that is not encoded is returned
/// unchanged.
pub(super) fn decoded_body<'a>(body: impl Read + 'a, record: &WarcRecord) -> Box<dyn Read + 'a> {
    let stored = record.body_record();
    let is_chunked = http::transfer_coding(&stored.http_head()) == TransferCoding::Chunked
        && http::begins_like_a_chunk(&stored.http_body());
    let mut body: Box<dyn Read + 'a> = if is_chunked {
        Box::new(Dechunked::new(body))
    } else {
        Box::new(body)
    };
    let head = record.describing_record().http_head();
    let codings = http::header(&head, "content-encoding").unwrap_or_default();
    for coding in codings.rsplit(|&byte| byte == b',') {
        let mut source = BufReader::new(body);
        let first = source.fill_buf().unwrap_or_default();
        let (is_gzip, is_zlib) = (
            first.starts_with(&[0x1f, 0x8b]),
            matches!(first, [a, b, ..] if a & 15 == 8 && u16::from_be_bytes([*a, *b]).is_multiple_of(31)),
        );
        body = match coding.trim_ascii().to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" if is_gzip => Box::new(MultiGzDecoder::new(source)),
            b"deflate" if is_zlib => Box::new(ZlibDecoder::new(source)),
            b"deflate" => Box::new(DeflateDecoder::new(source)),
            b"br" => Box::new(Brotli::new(source, 4096)),
            b"zstd" => match zstd::stream::read::Decoder::with_buffer(source) {
                Ok(decoder) => Box::new(decoder),
                Err(_) => return Box::new(io::empty()),
            },
            _ => Box::new(source),
        };
    }
    body
}

/// The data of the chunks of a body. Ends at the last chunk or at the first error.
struct Dechunked<R> {
    source: BufReader<R>,
    /// Bytes of the current chunk that were not read yet.
    left: u64,
    state: ChunkPosition,
}

#[derive(PartialEq)]
enum ChunkPosition {
    First,
    Later,
    End,
}

impl<R: Read> Dechunked<R> {
    fn new(source: R) -> Self {
        Self {
            source: BufReader::with_capacity(1 << 16, source),
            left: 0,
            state: ChunkPosition::First,
        }
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.source)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Reads the next size line. Returns the size; 0 at the last chunk and after an error.
    fn next_size(&mut self) -> io::Result<u64> {
        if self.state == ChunkPosition::Later && self.line()? != b"\r\n" {
            return Ok(0);
        }
        self.state = ChunkPosition::Later;
        Ok(http::chunk_size(&self.line()?).map_or(0, |(size, _)| size as u64))
    }
}

impl<R: Read> Read for Dechunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && self.state != ChunkPosition::End {
            self.left = self.next_size()?;
            if self.left == 0 {
                self.state = ChunkPosition::End;
            }
        }
        let size = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.source.read(&mut buffer[..size])?;
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_removed_in_reads_of_any_size() {
        for (wire, expected) in [
            (&b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"[..], "abcde"),
            (b"3\r\nabc\r\n9\r\nde", "abcde"),
            (b"3\r\nabcd\r\n", "abc"),
            (b"0\r\n\r\n", ""),
        ] {
            for size in [1, 2, 100] {
                let mut reader = Dechunked::new(wire);
                let (mut out, mut buffer) = (Vec::new(), vec![0; size]);
                loop {
                    match reader.read(&mut buffer).unwrap() {
                        0 => break,
                        count => out.extend_from_slice(&buffer[..count]),
                    }
                }
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{size}");
            }
        }
    }
}
