//! The input of the archive ([`Exchange`]) and the result of writing it ([`Stored`]).

use std::fs::File;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use crate::record::http::{self, TransferCoding};
use crate::{Location, WarcFields};

/// One fetch to store: the bytes that were sent and received, and what the fetcher parsed from them.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The requested URL.
    pub url: String,
    /// When the request was sent, Unix time in milliseconds.
    pub time_ms: i64,
    /// IP address of the server.
    pub address: Option<IpAddr>,
    /// The request as sent.
    pub request: Bytes,
    /// The response as received: head and body, with the transfer coding. If the body is in a file (`large`), only the
    /// head and the first part of the body.
    pub response: Bytes,
    /// The whole body, if it is too large for memory.
    pub large: Option<Box<LargeBody>>,
    /// The same bytes as `response`, followed by `\r\n\r\n`, the end of a WARC record. Set if the fetcher has all these
    /// bytes in one buffer, so that a large response can be compressed without being copied.
    pub with_record_end: Option<Bytes>,
    /// Length of the head in `response`, including the empty line.
    pub head_length: usize,
    /// The body without transfer coding, but with its content coding. Duplicates are recognised by its digest.
    pub payload: Bytes,
    /// HTTP status. The index uses it if the head has no status line.
    pub status: u16,
    /// The media type identified from the content; may be empty. Written as `WARC-Identified-Payload-Type` and as
    /// `mime` in the index.
    pub media_type: String,
    /// ISO 639-3 code of the language of the content; empty if unknown. Written as `WARC-Identified-Content-Language`
    /// and as `languages` in the index, like Common Crawl.
    pub language: String,
    /// Reason why the response is incomplete, as in `WARC-Truncated`: `length`, `time`, `disconnect`, `unspecified`.
    pub truncated: Option<&'static str>,
    /// Fields of the metadata record, for example via, hopsFromSeed, fetchTimeMs, outlink.
    pub metadata: WarcFields,
    /// For a 304 response: the stored version that is still current. The response is written as a revisit record.
    pub not_modified: Option<EarlierVersion>,
}

/// A response body in a file.
#[derive(Debug, Clone)]
pub struct LargeBody {
    /// The file. It has the body as received, with the transfer coding, and nothing else.
    pub file: Arc<File>,
    /// Length of the body as received.
    pub length: u64,
    /// Length of the body without transfer coding.
    pub payload_length: u64,
    /// SHA-1 of the body without transfer coding.
    pub payload_digest: [u8; 20],
}

/// An earlier, stored version of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlierVersion {
    /// When the version was fetched, as Unix time in milliseconds.
    pub time_ms: i64,
    /// The [`Stored::digest`] of the version.
    pub digest: [u8; 20],
    /// The [`Stored::location`] of the version. The record there must be durable.
    pub location: Option<Location>,
}

/// An exchange that has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Location of the response or revisit record.
    pub location: Location,
    /// SHA-1 of the payload without transfer coding. For a 304 response, the digest of the earlier version.
    pub digest: [u8; 20],
    /// Whether a revisit record was written. It has the HTTP head but not the payload.
    pub revisit: bool,
    /// Compressed size of all records of the exchange, in bytes.
    pub written: u64,
}

impl Exchange {
    /// Head and body of the response.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        self.response
            .split_at(self.head_length.min(self.response.len()))
    }

    /// For a truncated response whose `Content-Length` is larger than the stored body: the exchange with a head that
    /// states the length of the stored body. The old field is kept as `X-Archive-Orig-Content-Length`, the name that
    /// replay tools use. Without this change pywb would announce the old length, and browsers would wait for the rest.
    /// `None` for all other responses, whose heads are stored as received.
    pub(crate) fn with_stored_length(&self) -> Option<Self> {
        self.truncated?;
        let (head, body) = self.split();
        let announced = http::header(head, "content-length")?;
        let announced: u64 = std::str::from_utf8(announced).ok()?.parse().ok()?;
        let stored = match &self.large {
            Some(large) => large.length,
            None => body.len() as u64,
        };
        if http::transfer_coding(head) != TransferCoding::Plain || announced <= stored {
            return None;
        }
        let head = http::with_content_length(head, stored);
        Some(Self {
            head_length: head.len(),
            response: [&head, body].concat().into(),
            with_record_end: None,
            ..self.clone()
        })
    }

    /// Approximate memory use in the queue, in bytes.
    pub(crate) fn queued_size(&self) -> u64 {
        let parts = [&self.request, &self.response, &self.payload];
        let wire: usize = parts.iter().map(|part| part.len()).sum();
        (wire + self.metadata.as_bytes().len()) as u64
    }
}
