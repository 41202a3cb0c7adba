//! What a fetch brings back: the wire's bytes, and what was understood of them.

use std::{net::IpAddr, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::Failure;

/// The end of one fetch: always exactly one of these, within the whole-fetch limit.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The answer, whole or truncated, or why there is none.
    pub result: Result<Answer, Failure>,
    /// Wire bytes of the request head; empty when no connection was made.
    pub request: Bytes,
    /// Wire bytes of the answer, head and body as they came, chunk framing included. Kept for failures too when
    /// something came. Left out are interim (1xx) answers and blank lines before the head, and bytes after the
    /// answer's end.
    pub response: Bytes,
    /// The address connected to.
    pub address: Option<IpAddr>,
    /// Wall-clock start, Unix milliseconds.
    pub started_ms: i64,
    /// When the last byte was taken: the courtesy pause counts from here.
    pub finished: Instant,
    /// How long each phase took.
    pub timings: Timings,
    /// What was wrong with the server's certificate, when it was accepted all the same.
    pub tls_fault: Option<String>,
}

/// Durations of the phases. A phase that did not happen is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// Opening the TCP connection.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the request's last byte to the answer's first.
    pub first_byte: Duration,
    /// From the call to the answer's last byte.
    pub total: Duration,
    /// The connection was one kept alive from an earlier request.
    pub reused: bool,
}

/// A server's answer as read.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code, 200 to 999.
    pub status: u16,
    /// How many bytes of [`Fetched::response`] come before the body.
    pub head_length: usize,
    /// The header fields that could be read; folded lines joined, broken lines left out with a remark.
    pub headers: http::HeaderMap,
    /// The body for reading: transfer and content coding removed, capped by `max_decoded`.
    pub body: Bytes,
    /// The body for judging duplicates: transfer coding removed, content coding kept. A slice of
    /// [`Fetched::response`] when the body did not come in several chunks.
    pub payload: Bytes,
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncated>,
    /// Oddities seen on the way; none of them hinders the use of what is there.
    pub remarks: Vec<Remark>,
    /// The media type is not wanted: the body was not taken.
    pub unwanted: bool,
    /// Room in the budget of memory, given back with the last copy of the answer.
    #[expect(dead_code, reason = "held, never read")]
    pub(crate) shares: std::sync::Arc<[crate::memory::Share]>,
}

/// Why a body is not whole, in the words of `WARC-Truncated` (WARC 1.1, 5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truncated {
    /// Longer than the size limit.
    Length,
    /// Longer than the time limit, or slower than the lowest speed.
    Time,
    /// The connection ended before the body did.
    Disconnect,
    /// Framing broken, or body not wanted.
    Unspecified,
}

impl Truncated {
    /// The value of `WARC-Truncated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Truncated::Length => "length",
            Truncated::Time => "time",
            Truncated::Disconnect => "disconnect",
            Truncated::Unspecified => "unspecified",
        }
    }
}

/// An oddity of an answer that was read all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Remark {
    /// The status line is not quite HTTP/1.1's, as `HTTP/2.0 200`.
    #[error("odd status line: {0}")]
    StatusLine(String),
    /// So many header lines could not be read and are left out of the map.
    #[error("{0} header lines could not be read")]
    Headers(usize),
    /// `Content-Length` is no number, or there are several that differ.
    #[error("unusable Content-Length: {0}")]
    ContentLength(String),
    /// The chunk framing is broken; what came before, or the raw bytes, are the body.
    #[error("broken chunk framing")]
    Chunks,
    /// A content coding that is not known: the body is left as it came.
    #[error("unknown content coding: {0}")]
    UnknownCoding(String),
    /// More layers of content coding than are undone.
    #[error("too many layers of content coding: {0}")]
    TooManyCodings(usize),
    /// A decoder gave up; the body is what it gave before.
    #[error("the {coding} decoder stopped: {reason}")]
    Decode {
        /// The coding, as `gzip`.
        coding: String,
        /// What the decoder said.
        reason: String,
    },
    /// The decoded body reached `max_decoded` and was cut there.
    #[error("the decoded body was cut at {0} bytes")]
    DecodedCut(u64),
    /// More bytes followed the end of the answer.
    #[error("bytes after the end of the answer")]
    Excess,
}
