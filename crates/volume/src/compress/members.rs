//! Reads the members of a volume in order, each with its offset and length. A member is a gzip member or a zstd frame,
//! and contains one record.

use std::io::{self, BufRead, Read};

use crate::compress;

/// One member, decompressed.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) offset: u64,
    /// Compressed length.
    pub(crate) length: u64,
    /// Decompressed content.
    pub(crate) bytes: Vec<u8>,
}

/// Reads the members of a stream. An incomplete or damaged member is an error, after which the reader cannot continue.
#[derive(Debug)]
pub(crate) struct MemberReader<R> {
    source: CountingReader<R>,
}

impl<R: BufRead> MemberReader<R> {
    /// `offset` is the position of `source` in its file.
    pub(crate) fn new(source: R, offset: u64) -> Self {
        Self {
            source: CountingReader {
                source,
                position: offset,
            },
        }
    }

    /// Offset of the next member.
    pub(crate) fn position(&self) -> u64 {
        self.source.position
    }

    /// The next member, or `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> io::Result<Option<Member>> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let offset = self.source.position;
        let mut bytes = Vec::with_capacity(16 << 10);
        compress::decompress(&mut self.source, &mut bytes)?;
        Ok(Some(Member {
            offset,
            length: self.source.position - offset,
            bytes,
        }))
    }
}

/// Counts the bytes that are consumed from `source`.
#[derive(Debug)]
struct CountingReader<R> {
    source: R,
    position: u64,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.source.consume(amount);
        self.position += amount as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use libdeflater::{CompressionLvl, Compressor};

    use super::*;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::fastest());
        let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
        let length = compressor.gzip_compress(bytes, &mut out).unwrap();
        out.truncate(length);
        out
    }

    #[test]
    fn offsets_and_lengths_are_exact_for_every_buffer_size() {
        let parts: Vec<Vec<u8>> = (0..5u32)
            .map(|n| n.to_string().repeat(3000).into_bytes())
            .collect();
        let members: Vec<Vec<u8>> = parts.iter().map(|part| gzip(part)).collect();
        let file = members.concat();
        for buffer in [1, 7, 64, 100_000] {
            let mut reader =
                MemberReader::new(BufReader::with_capacity(buffer, file.as_slice()), 0);
            let mut offset = 0;
            for (part, member) in parts.iter().zip(&members) {
                let read = reader.next().unwrap().unwrap();
                assert_eq!((read.offset, read.length), (offset, member.len() as u64));
                assert_eq!(&read.bytes, part);
                offset += read.length;
            }
            assert!(reader.next().unwrap().is_none());
        }
    }

    #[test]
    fn a_member_truncated_at_any_length_is_an_error() {
        let member = gzip(b"as dez aranhas tecem as dez teias");
        for length in 1..member.len() {
            assert!(
                MemberReader::new(&member[..length], 0).next().is_err(),
                "{length}"
            );
        }
    }
}
