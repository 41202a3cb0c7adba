//! Reads the members of a volume in order, each with its offset and length. A member is a gzip member or a zstd frame,
//! and contains one record.

use std::io::{self, BufRead, Read};

use sha1::{Digest as _, Sha1};

use crate::compress;
use crate::record::digest::Digest;
use crate::record::{http, parsed};

/// One member, decompressed.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) offset: u64,
    /// Compressed length.
    pub(crate) length: u64,
    /// Decompressed content. At most [`MAX_IN_MEMORY`] bytes; the rest is only hashed.
    pub(crate) bytes: Vec<u8>,
    /// Set if the content is longer than `bytes`.
    pub(crate) rest: Option<MemberRest>,
}

/// The content of a member beyond [`MAX_IN_MEMORY`] bytes.
#[derive(Debug, Clone)]
pub(crate) struct MemberRest {
    /// Length of the whole content.
    pub(crate) content_length: u64,
    /// Digest of the block of the record.
    pub(crate) block: Digest,
    /// Digest of the HTTP body in the block.
    pub(crate) body: Digest,
    /// The last four bytes of the content.
    pub(crate) end: [u8; 4],
}

/// Number of bytes that are read before the length of the record is known.
const FIRST_BYTES: usize = 16 << 10;
/// Maximum number of bytes of a record that readers keep in memory.
pub(crate) const MAX_IN_MEMORY: usize = 128 << 20;

/// Reads the members of a stream. An incomplete or damaged member is an error, after which the reader cannot continue.
#[derive(Debug)]
pub(crate) struct MemberReader<R> {
    source: CountingReader<R>,
    max_in_memory: usize,
}

impl<R: BufRead> MemberReader<R> {
    /// `offset` is the position of `source` in its file.
    pub(crate) fn new(source: R, offset: u64) -> Self {
        Self {
            source: CountingReader {
                source,
                position: offset,
            },
            max_in_memory: MAX_IN_MEMORY,
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
        let mut bytes = Vec::with_capacity(FIRST_BYTES);
        let mut decoder = compress::decoder(&mut self.source)?;
        let first = FIRST_BYTES.min(self.max_in_memory);
        (&mut decoder).take(first as u64).read_to_end(&mut bytes)?;
        if bytes.len() == first {
            // A buffer that grows by doubling would need up to three times the memory of a large record.
            let rest = self.max_in_memory - first;
            let expected = block_length(&bytes).map_or(0, |(_, length)| length);
            bytes.reserve_exact(
                usize::try_from(expected).map_or(rest, |expected| expected.min(rest)),
            );
            (&mut decoder).take(rest as u64).read_to_end(&mut bytes)?;
        }
        let rest = if bytes.len() < self.max_in_memory {
            None
        } else {
            hash_rest(&bytes, &mut decoder)?
        };
        drop(decoder);
        Ok(Some(Member {
            offset,
            length: self.source.position - offset,
            bytes,
            rest,
        }))
    }
}

/// Where the block of a record begins, and its length.
fn block_length(first: &[u8]) -> Option<(usize, u64)> {
    let (fields, start) = parsed::parse_fields(first).ok()?;
    let length = parsed::field(&fields, "Content-Length")?.parse().ok()?;
    Some((start, length))
}

/// Reads the content after `first` to its end. Returns `None` if nothing follows.
fn hash_rest(first: &[u8], decoder: &mut dyn Read) -> io::Result<Option<MemberRest>> {
    let (start, length) = block_length(first).unwrap_or((first.len(), 0));
    let head = http::head_end(&first[start..]);
    // Bytes of the block that were not hashed yet. The bytes after the block are the end of the record.
    let mut unhashed = length;
    let (mut block, mut body) = (Sha1::new(), Sha1::new());
    let mut hash = |bytes: &[u8], head: usize| {
        let bytes = &bytes[..bytes
            .len()
            .min(usize::try_from(unhashed).unwrap_or(usize::MAX))];
        block.update(bytes);
        body.update(&bytes[head.min(bytes.len())..]);
        unhashed -= bytes.len() as u64;
    };
    hash(&first[start..], head);
    let mut content_length = first.len() as u64;
    let mut buffer = vec![0; 1 << 18];
    let mut end = [0; 4];
    end.copy_from_slice(&first[first.len().saturating_sub(4)..]);
    loop {
        let count = decoder.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        content_length += count as u64;
        hash(&buffer[..count], 0);
        let last = [&end[..], &buffer[count.saturating_sub(4)..count]].concat();
        end.copy_from_slice(&last[last.len() - 4..]);
    }
    let is_longer = content_length > first.len() as u64;
    Ok(is_longer.then(|| MemberRest {
        content_length,
        block: block.finalize().into(),
        body: body.finalize().into(),
        end,
    }))
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
    fn the_rest_of_a_large_member_is_hashed() {
        let body = "teia ".repeat(1000);
        let block = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        let record = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        );
        let file = gzip(record.as_bytes());
        for max_in_memory in [100, 1000, record.len() - 2, record.len(), record.len() + 1] {
            let mut reader = MemberReader::new(file.as_slice(), 0);
            reader.max_in_memory = max_in_memory;
            let member = reader.next().unwrap().unwrap();
            assert_eq!(member.length, file.len() as u64);
            assert_eq!(
                member.bytes,
                &record.as_bytes()[..max_in_memory.min(record.len())]
            );
            assert_eq!(member.rest.is_some(), max_in_memory < record.len());
            if let Some(rest) = &member.rest {
                assert_eq!(rest.content_length, record.len() as u64);
                assert_eq!(rest.block, crate::record::digest::sha1(block.as_bytes()));
                assert_eq!(rest.body, crate::record::digest::sha1(body.as_bytes()));
            }
            let record = parsed::WarcRecord::of_member(member).unwrap();
            assert_eq!(record.block_length(), block.len() as u64);
            assert_eq!(record.http_status(), Some(200));
            assert!(record.has_block_digest(&crate::record::digest::label(
                &crate::record::digest::sha1(block.as_bytes())
            )));
            assert!(block.as_bytes().starts_with(record.block()));
            let mut truncated = MemberReader::new(&file[..file.len() - 1], 0);
            truncated.max_in_memory = max_in_memory;
            assert!(truncated.next().is_err());
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
