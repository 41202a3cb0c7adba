//! What goes in ([`Exchange`]) and what comes back ([`Stored`]).

use std::net::IpAddr;

use bytes::Bytes;

use crate::{Location, WarcFields};

/// One fetch to keep: the wire bytes and what the fetcher understood of them.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The URL that was asked for.
    pub url: String,
    /// When the request was sent, Unix time in milliseconds.
    pub time_ms: i64,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The request as sent.
    pub request: Bytes,
    /// The answer as it came: head, then body with its chunks.
    pub response: Bytes,
    /// `response` with two line ends behind it, where it lies so in memory: then it is packed without being copied.
    pub with_record_end: Option<Bytes>,
    /// How many bytes of `response` are the head, empty line included.
    pub head_length: usize,
    /// The body without transfer coding, content coding kept: what duplicates are judged on.
    pub payload: Bytes,
    /// The status, for the index.
    pub status: u16,
    /// The media type as identified (`WARC-Identified-Payload-Type`, and `mime` in the index); may be empty.
    pub media_type: String,
    /// Why the answer is not whole, in WARC's words: `length`, `time`, `disconnect`, `unspecified`.
    pub truncated: Option<&'static str>,
    /// Fields of the metadata record: via, hopsFromSeed, fetchTimeMs, outlink …
    pub metadata: WarcFields,
    /// For an answer 304: the version that the server says is still current. Such an answer is a revisit record.
    pub not_modified: Option<EarlierVersion>,
}

/// A version of a page that was stored before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlierVersion {
    /// When it was fetched, Unix time in milliseconds.
    pub time_ms: i64,
    /// [`Stored::digest`] of it.
    pub digest: [u8; 20],
    /// [`Stored::location`] of it, which must be durable.
    pub location: Option<Location>,
}

/// An exchange that has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Where the response or revisit record is.
    pub location: Location,
    /// SHA-1 of the payload without transfer coding; of the earlier one that an answer 304 stands for.
    pub digest: [u8; 20],
    /// Whether the payload was known, or has not changed, and only the head was written.
    pub revisit: bool,
    /// Bytes that all records of the exchange take on the disk.
    pub written: u64,
}

impl Exchange {
    /// Head and body of the response.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        self.response
            .split_at(self.head_length.min(self.response.len()))
    }

    /// Bytes that it holds in the queue, about.
    pub(crate) fn weight(&self) -> u64 {
        let parts = [&self.request, &self.response, &self.payload];
        let wire: usize = parts.iter().map(|part| part.len()).sum();
        (wire + self.metadata.as_bytes().len()) as u64
    }
}
