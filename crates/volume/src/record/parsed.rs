//! Parses a WARC record: version line, named fields, empty line, block, two empty lines (WARC 1.1, section 4).
//! [`crate::write::encoder`] writes such records.

use std::sync::Arc;

use bytes::Bytes;
use memchr::memmem;

use crate::VolumeId;
use crate::compress::members::{Member, MemberRest};
use crate::forget::tombstone::FORGOTTEN;
use crate::record::content_coding;
use crate::record::digest;
use crate::record::http;
use crate::record::revisit::{self, REFERS_TO_LOCATION};

/// One WARC record. A resolved revisit record contains its original. The functions that return the body then return the
/// body of the original.
#[derive(Debug, Clone)]
pub struct WarcRecord {
    fields: Vec<(String, String)>,
    block: Bytes,
    head_length: usize,
    /// Length and digests of the block, if only its first part is in `block`.
    rest: Option<MemberRest>,
    /// The volume and offset from which the record was read.
    pub(crate) position: Option<(VolumeId, u64)>,
    original: Option<Arc<WarcRecord>>,
}

impl WarcRecord {
    /// Parses the content of one member. The error is a description of the problem.
    pub(crate) fn of_member(member: Member) -> Result<Self, String> {
        Self::parse_parts(member.bytes, member.rest)
    }

    /// Parses a whole record in memory.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        Self::parse_parts(bytes, None)
    }

    fn parse_parts(bytes: Vec<u8>, rest: Option<MemberRest>) -> Result<Self, String> {
        let (fields, start) = parse_fields(&bytes)?;
        let length = field(&fields, "Content-Length").ok_or("no Content-Length")?;
        let length: usize = length
            .parse()
            .map_err(|_| "Content-Length is not a number")?;
        let end = start
            .checked_add(length)
            .ok_or("Content-Length is out of range")?;
        let (content_length, is_ended) = match &rest {
            Some(rest) => (rest.content_length, rest.end == *b"\r\n\r\n"),
            None => (bytes.len() as u64, bytes.ends_with(b"\r\n\r\n")),
        };
        if content_length != end as u64 + 4 || !is_ended {
            return Err(format!(
                "the block has {} bytes, but Content-Length is {length}",
                content_length.saturating_sub(start as u64 + 4)
            ));
        }
        let bytes = Bytes::from(bytes);
        let block = bytes.slice(start..end.min(bytes.len()));
        let holds_http = matches!(
            field(&fields, "WARC-Type"),
            Some("response" | "revisit" | "request")
        );
        let head_length = if holds_http {
            http::head_end(&block)
        } else {
            0
        };
        Ok(Self {
            fields,
            block,
            head_length,
            rest,
            position: None,
            original: None,
        })
    }

    /// All WARC header fields, in order.
    pub fn headers(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The value of a WARC header field. Names are case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.fields, name)
    }

    /// `WARC-Type`: response, revisit, request, metadata, warcinfo.
    pub fn kind(&self) -> &str {
        self.header("WARC-Type").unwrap_or_default()
    }

    /// `WARC-Target-URI`.
    pub fn url(&self) -> Option<&str> {
        self.header("WARC-Target-URI")
    }

    /// `WARC-Date` as Unix time in milliseconds.
    pub fn time_ms(&self) -> Option<i64> {
        let date: jiff::Timestamp = self.header("WARC-Date")?.parse().ok()?;
        Some(date.as_millisecond())
    }

    /// Whether this is a revisit record, which has no payload of its own.
    pub fn is_revisit(&self) -> bool {
        self.kind() == "revisit"
    }

    /// The volume with the original of a revisit record, if the record names it.
    pub fn original_volume(&self) -> Option<VolumeId> {
        let location = self.header(REFERS_TO_LOCATION)?;
        Some(revisit::parse_location(location)?.0)
    }

    /// When and why the content was deleted from the archive: an RFC 3339 time, a space and the reason. For a resolved
    /// revisit record, the content of the original.
    pub fn forgotten(&self) -> Option<&str> {
        self.body_record().header(FORGOTTEN)
    }

    /// Length of the block. [`WarcRecord::block`] is shorter if the record is too large for memory.
    pub fn block_length(&self) -> u64 {
        let length = self
            .header("Content-Length")
            .and_then(|length| length.parse().ok());
        length.unwrap_or(self.block.len() as u64)
    }

    /// Whether only the first part of the body is in memory. [`crate::ArchiveReader::copy_body`] reads all of it. A
    /// resolved revisit record is partial if its original is.
    pub fn is_partial(&self) -> bool {
        self.body_record().rest.is_some()
    }

    /// The record that has the body. For a resolved revisit record it is the original, otherwise this record.
    pub(crate) fn body_record(&self) -> &WarcRecord {
        self.original.as_deref().unwrap_or(self)
    }

    /// Whether the block has this digest, which is labelled as in WARC headers.
    pub(crate) fn has_block_digest(&self, label: &str) -> bool {
        let digest = match &self.rest {
            Some(rest) => rest.block,
            None => digest::sha1(&self.block),
        };
        label == digest::label(&digest)
    }

    /// Whether the HTTP body has this digest, which is labelled as in WARC headers.
    pub(crate) fn has_body_digest(&self, label: &str) -> bool {
        let digest = match &self.rest {
            Some(rest) => rest.body,
            None => digest::sha1(&self.block[self.head_length..]),
        };
        label == digest::label(&digest)
    }

    /// The block as stored: the HTTP message of a response, or the HTTP head of a revisit record. If the record is
    /// [partial](WarcRecord::is_partial), only the first part of it.
    pub fn block(&self) -> &Bytes {
        &self.block
    }

    /// The record to which a revisit record refers. Set by [`crate::ArchiveReader::read_resolved`].
    pub fn original(&self) -> Option<&WarcRecord> {
        self.original.as_deref()
    }

    /// The HTTP head, including its empty line. Empty if the block is not an HTTP message.
    pub fn http_head(&self) -> Bytes {
        self.block.slice(..self.head_length)
    }

    /// The HTTP status of a response or revisit record.
    pub fn http_status(&self) -> Option<u16> {
        http::status(&self.block[..self.head_length])
    }

    /// The first value of an HTTP header. Names are case-insensitive. If a 304 response does not have the header, the
    /// value in its original is returned.
    pub fn http_header(&self, name: &str) -> Option<String> {
        let value_in = |record: &WarcRecord| {
            let value = http::header(&record.block[..record.head_length], name)?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        value_in(self).or_else(|| value_in(self.describing_record()))
    }

    /// Every value of an HTTP header, like [`WarcRecord::http_header`].
    pub fn http_headers(&self, name: &str) -> Vec<String> {
        let values_in = |record: &WarcRecord| -> Vec<String> {
            http::headers(&record.block[..record.head_length], name)
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect()
        };
        let values = values_in(self);
        if values.is_empty() {
            return values_in(self.describing_record());
        }
        values
    }

    /// The record whose HTTP head describes the body. For a resolved 304 response it is the original, otherwise this
    /// record.
    pub(crate) fn describing_record(&self) -> &WarcRecord {
        match &self.original {
            Some(original) if self.http_status() == Some(304) => original,
            _ => self,
        }
    }

    /// The HTTP body as stored, with transfer and content coding. For a resolved revisit record, the body of the
    /// original. If the record is [partial](WarcRecord::is_partial), only the first part of it.
    pub fn http_body(&self) -> Bytes {
        match &self.original {
            Some(original) => original.http_body(),
            None => self.block.slice(self.head_length..),
        }
    }

    /// The body without transfer coding, but with its content coding. At most `cap` bytes.
    pub fn payload(&self, cap: usize) -> Vec<u8> {
        // The stored body has the transfer coding of the original, not that in the head of the revisit record.
        let source = self.original.as_deref().unwrap_or(self);
        let body = source.http_body();
        if http::transfer_coding(&source.http_head()) == http::TransferCoding::Chunked {
            let (payload, _) = http::dechunk(&body, cap);
            if !payload.is_empty() || http::was_chunked(&body) {
                return payload;
            }
        }
        body[..body.len().min(cap)].to_vec()
    }

    /// The body without transfer and content coding. At most `cap` bytes. If decoding fails, the result has only the
    /// bytes that were decoded before the failure.
    pub fn body_decoded(&self, cap: usize) -> Vec<u8> {
        let payload = self.payload(cap);
        match http::header(&self.describing_record().http_head(), "content-encoding") {
            Some(codings) => content_coding::decode(codings, payload, cap),
            None => payload,
        }
    }

    /// Stores the position from which the record was read.
    pub(crate) fn at(mut self, volume: VolumeId, offset: u64) -> Self {
        self.position = Some((volume, offset));
        self
    }

    pub(crate) fn with_original(mut self, original: WarcRecord) -> Self {
        self.original = Some(Arc::new(original));
        self
    }
}

/// The value of a header field. Names are case-insensitive.
pub(crate) fn field<'fields>(
    fields: &'fields [(String, String)],
    name: &str,
) -> Option<&'fields str> {
    let (_, value) = fields
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    Some(value)
}

/// The named fields at the beginning of `bytes`, and the offset of the block.
pub(crate) fn parse_fields(bytes: &[u8]) -> Result<(Vec<(String, String)>, usize), String> {
    let end = memmem::find(bytes, b"\r\n\r\n").ok_or("the header does not end")?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "the header is not UTF-8")?;
    let mut lines = head.split("\r\n");
    match lines.next() {
        Some("WARC/1.1" | "WARC/1.0") => {}
        _ => return Err("not a WARC record".to_owned()),
    }
    let mut fields = Vec::with_capacity(16);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a header line has no colon")?;
        fields.push((name.to_owned(), value.trim().to_owned()));
    }
    Ok((fields, end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_records_are_described() {
        let check = |bytes: &[u8], expected: &str| {
            let fault = WarcRecord::parse(bytes.to_vec()).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        };
        check(b"", "does not end");
        check(b"HTTP/1.1 200 OK\r\n\r\n", "not a WARC");
        check(b"WARC/1.1\r\nA: b\r\n\r\n", "no Content-Length");
        check(b"WARC/1.1\r\nContent-Length: x\r\n\r\n", "not a number");
        check(
            b"WARC/1.1\r\nContent-Length: 2\r\n\r\nabc\r\n\r\n",
            "3 bytes, but",
        );
        check(b"WARC/1.1\r\nno colon\r\n\r\n", "no colon");
        let huge = format!("WARC/1.1\r\nContent-Length: {}\r\n\r\n", usize::MAX);
        check(huge.as_bytes(), "out of range");
    }

    #[test]
    fn a_resolved_revisit_returns_the_body_of_the_original() {
        let response = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 60\r\n\r\n\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n\r\n";
        let original = WarcRecord::parse(response.to_vec()).unwrap();
        assert_eq!(original.http_status(), Some(200));
        assert_eq!(original.body_decoded(100), b"abc");
        let revisit = b"WARC/1.1\r\nWARC-Type: revisit\r\nContent-Length: 19\r\n\r\n\
            HTTP/1.1 203 OK\r\n\r\n\r\n\r\n";
        let revisit = WarcRecord::parse(revisit.to_vec())
            .unwrap()
            .with_original(original);
        assert!(revisit.is_revisit());
        assert_eq!(revisit.http_status(), Some(203));
        assert_eq!(revisit.body_decoded(2), b"ab");
        assert_eq!(revisit.http_body().len(), 13);
    }
}
