//! Access to the parsers of this crate for the fuzz targets (`fuzz/`). Not part of the interface.

#![allow(
    clippy::missing_panics_doc,
    reason = "a fuzz target finds a fault by a panic"
)]

use std::io::BufReader;

use crate::compress::members::MemberReader;
use crate::compress::{Compression, RecordCompressor};
use crate::index::{entry::IndexEntry, lookup};
use crate::record::{content_coding, http};
use crate::{VolumeId, WarcRecord};

/// Parses one record.
pub fn record(bytes: &[u8]) -> Result<WarcRecord, String> {
    WarcRecord::parse(bytes.to_vec())
}

/// The members of a volume up to the first fault: offset, compressed length and content of each. `buffer` is the size of
/// the reads.
pub fn members(volume: &[u8], buffer: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let mut reader = MemberReader::new(BufReader::with_capacity(buffer.max(1), volume), 0);
    let mut members = Vec::new();
    while let Ok(Some(member)) = reader.next() {
        members.push((member.offset, member.length, member.bytes));
    }
    members
}

/// One member that contains these bytes.
pub fn compress(compression: Compression, level: i32, record: &[u8]) -> Vec<u8> {
    let mut member = Vec::new();
    RecordCompressor::new(compression, level).compress(record, &mut member);
    member
}

/// The index line of a record: checks that it can be read and has the location of the record. Returns `None` for kinds
/// of records that are not indexed.
pub fn index_line(record: &WarcRecord, offset: u64, length: u64) -> Option<String> {
    let entry = IndexEntry::of(record, offset, length)?;
    let line = entry.line("volume.warc.gz");
    let read = lookup::parse(line.as_bytes()).expect("an index line can be read");
    let location = entry.location(VolumeId::new(1, 1));
    assert_eq!(
        (read.offset, read.length),
        (location.offset, location.length)
    );
    assert_eq!(read.url, *entry.url);
    assert_eq!(read.mime, *entry.media_type);
    assert_eq!(read.filename, "volume.warc.gz");
    assert_eq!(read.status, entry.status.map(|status| status.to_string()));
    Some(line)
}

/// Parses a line of an index. Returns its key and URL.
pub fn cdxj_line(line: &[u8]) -> Option<(String, String)> {
    lookup::parse(line).map(|line| (line.key, line.url))
}

/// Decodes a body with this `Content-Encoding`.
pub fn decode(content_encoding: &str, body: &[u8], max_size: usize) -> Vec<u8> {
    content_coding::decode(content_encoding.as_bytes(), body.to_vec(), max_size)
}

/// The data of a chunked body, and whether the body is complete.
pub fn dechunk(body: &[u8], max_size: usize) -> (Vec<u8>, bool) {
    http::dechunk(body, max_size)
}
