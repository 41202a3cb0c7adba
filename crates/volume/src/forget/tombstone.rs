//! A tombstone: the record that takes the place of a forgotten one. Its member has the same compressed length, so that
//! all other records stay where they are.
//!
//! The member begins with the compressed tombstone and is filled up with empty blocks: stored blocks of deflate (five
//! bytes each, RFC 1951, 3.2.4) or raw blocks of zstd (three bytes each, RFC 8878, 3.1.1.2). The bytes that remain are a
//! comment in the gzip header or a dictionary identifier of zero in the zstd header. Every decoder accepts them.
//!
//! A response or revisit record becomes a response record with status 410 (gone). A metadata record becomes a metadata
//! record with the date only. The header keeps the identifier, date and URL, and says when and why the content was
//! forgotten.

use std::io::{self, Write};

use flate2::{Compress, FlushCompress};

use crate::WarcRecord;
use crate::compress::Compression;
use crate::record::digest;
use crate::record::escape;
use crate::record::header::put_field;

/// Header field of a tombstone: the time at which the content was forgotten, and the reason.
pub(crate) const FORGOTTEN: &str = "Aranha-Forgotten";

/// Bytes of a gzip member besides comment and compressed data: header, last block, trailer.
const GZIP_FRAME: u64 = 10 + 5 + 8;

/// A tombstone and the length that its member must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tombstone {
    /// The record, uncompressed.
    pub(crate) record: Vec<u8>,
    pub(crate) length: u64,
    pub(crate) compression: Compression,
}

impl Tombstone {
    /// The tombstone of a record whose member has this length. `None` if not even the shortest one fits, which does not
    /// happen with the records that aranha writes.
    pub(crate) fn of(
        record: &WarcRecord,
        length: u64,
        compression: Compression,
        date: &str,
        reason: &str,
    ) -> Option<Self> {
        let tombstone = |level: u32| Self {
            record: text(record, date, reason, level),
            length,
            compression,
        };
        (0..3).map(tombstone).find(|one| one.layout().is_some())
    }

    /// The compressed record, with the number of empty blocks and the number of remaining bytes. `None` if it does not
    /// fit.
    fn layout(&self) -> Option<(Vec<u8>, u64, usize)> {
        let (data, frame, block) = match self.compression {
            Compression::Gzip => (deflate(&self.record), GZIP_FRAME, 5),
            Compression::Zstd => (zstd_frame(&self.record)?, 3, 3),
        };
        let rest = self.length.checked_sub(frame + data.len() as u64)?;
        Some((data, rest / block, (rest % block) as usize))
    }

    /// Writes the member.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let too_short = || io::Error::other("the tombstone is longer than the record");
        let (data, blocks, rest) = self.layout().ok_or_else(too_short)?;
        match self.compression {
            Compression::Gzip => {
                const HAS_COMMENT: u8 = 16;
                let flags = if rest > 0 { HAS_COMMENT } else { 0 };
                out.write_all(&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255])?;
                if rest > 0 {
                    out.write_all(&b"    "[..rest - 1])?;
                    out.write_all(&[0])?;
                }
                out.write_all(&data)?;
                repeat(out, &[0, 0, 0, 255, 255], blocks)?;
                out.write_all(&[1, 0, 0, 255, 255])?;
                let mut crc = flate2::Crc::new();
                crc.update(&self.record);
                out.write_all(&crc.sum().to_le_bytes())?;
                out.write_all(&(self.record.len() as u32).to_le_bytes())
            }
            Compression::Zstd => {
                const MAGIC: usize = 4;
                const SINGLE_SEGMENT: u8 = 32;
                const HAS_CHECKSUM: u8 = 4;
                // The lowest bits of the frame header give the size of the dictionary identifier. The identifier comes
                // after the window size.
                let header = data[MAGIC];
                let identifier = if header & SINGLE_SEGMENT > 0 { 5 } else { 6 };
                out.write_all(&data[..MAGIC])?;
                out.write_all(&[header | rest as u8])?;
                out.write_all(&data[5..identifier])?;
                out.write_all(&[0; 2][..rest])?;
                let end = data.len() - if header & HAS_CHECKSUM > 0 { 4 } else { 0 };
                out.write_all(&data[identifier..end])?;
                repeat(out, &[0, 0, 0], blocks)?;
                out.write_all(&[1, 0, 0])?;
                out.write_all(&data[end..])
            }
        }
    }
}

/// Writes a block this many times.
fn repeat(out: &mut dyn Write, block: &[u8], times: u64) -> io::Result<()> {
    const AT_ONCE: u64 = 4096;
    let many = block.repeat(AT_ONCE as usize);
    for _ in 0..times / AT_ONCE {
        out.write_all(&many)?;
    }
    out.write_all(&many[..block.len() * (times % AT_ONCE) as usize])
}

/// The deflate blocks of a record, without a last block. They end at the end of a byte.
fn deflate(record: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() + 1024);
    let mut compress = Compress::new(flate2::Compression::best(), false);
    compress
        .compress_vec(record, &mut out, FlushCompress::Sync)
        .expect("the output has room for all input");
    out
}

/// The zstd frame of a record, whose last block is not marked as the last one.
fn zstd_frame(record: &[u8]) -> Option<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(19).ok()?;
    compressor.include_checksum(true).ok()?;
    let mut frame = compressor.compress(record).ok()?;
    let header = frame[4];
    let is_single = header & 32 > 0;
    let size_bytes = match header >> 6 {
        0 => usize::from(is_single),
        flag => 1 << flag,
    };
    let mut position = 5 + usize::from(!is_single) + size_bytes;
    loop {
        let bytes = frame.get(position..position + 3)?;
        let block = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        if block & 1 == 1 {
            frame[position] &= !1;
            return Some(frame);
        }
        let is_repeated_byte = block >> 1 & 3 == 1;
        let size = if is_repeated_byte { 1 } else { block >> 3 };
        position += 3 + size as usize;
    }
}

/// The text of a tombstone. A higher level gives a shorter text: 0 is the full text, 2 has only what is needed.
fn text(record: &WarcRecord, date: &str, reason: &str, level: u32) -> Vec<u8> {
    let is_metadata = record.kind() == "metadata";
    let why = match reason {
        _ if level > 0 => String::new(),
        "" => String::new(),
        reason => {
            let mut escaped = Vec::new();
            escape::value(reason, &mut escaped);
            format!(" {}", String::from_utf8_lossy(&escaped))
        }
    };
    let block = if is_metadata {
        format!("forgotten: {date}\r\n")
    } else if level > 1 {
        "HTTP/1.1 410 Gone\r\n\r\n".to_owned()
    } else {
        let body = format!("This content was removed from the archive on {date}.{why}\n");
        let length = body.len();
        format!(
            "HTTP/1.1 410 Gone\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let (kind, content_type) = if is_metadata {
        ("metadata", "application/warc-fields")
    } else {
        ("response", "application/http;msgtype=response")
    };
    let mut out = b"WARC/1.1\r\n".to_vec();
    put_field(&mut out, "WARC-Type", kind);
    for name in ["WARC-Record-ID", "WARC-Date", "WARC-Target-URI"] {
        if let Some(value) = record.header(name) {
            put_field(&mut out, name, value);
        }
    }
    if level < 2 {
        if let Some(value) = record.header("WARC-Concurrent-To") {
            put_field(&mut out, "WARC-Concurrent-To", value);
        }
        put_field(
            &mut out,
            "WARC-Block-Digest",
            &digest::sha1(block.as_bytes()),
        );
    }
    put_field(&mut out, FORGOTTEN, format!("{date}{why}").as_str());
    put_field(&mut out, "Content-Type", content_type);
    put_field(&mut out, "Content-Length", &(block.len() as u64));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(block.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::members::MemberReader;

    #[test]
    fn a_member_can_have_any_length_from_the_shortest_on() {
        let original = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
            WARC-Date: 2026-11-15T17:48:00Z\r\nWARC-Target-URI: http://a/\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n";
        let original = WarcRecord::parse(original.to_vec()).unwrap();
        for compression in Compression::ALL {
            let make =
                |length| Tombstone::of(&original, length, compression, "2026-11-19", "by request");
            assert_eq!(make(20), None);
            let shortest = (20..300).find(|length| make(*length).is_some()).unwrap();
            for length in (shortest..shortest + 300).chain([70_000, 1 << 20, (1 << 20) + 1]) {
                let tombstone = make(length).unwrap();
                let mut member = Vec::new();
                tombstone.write(&mut member).unwrap();
                assert_eq!(member.len() as u64, length);
                // The next member follows at once.
                let two = [&member[..], &member].concat();
                let mut reader = MemberReader::new(two.as_slice(), 0);
                for _ in 0..2 {
                    let read = reader.next().unwrap().unwrap();
                    assert_eq!(read.length, length, "{compression:?}");
                    assert_eq!(read.bytes, tombstone.record);
                    let record = WarcRecord::of_member(read).unwrap();
                    assert_eq!(record.http_status(), Some(410));
                    assert!(record.forgotten().unwrap().starts_with("2026-11-19"));
                }
                assert!(reader.next().unwrap().is_none());
            }
        }
    }
}
