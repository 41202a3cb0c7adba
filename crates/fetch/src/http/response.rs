//! The result of a fetch: the sent and received bytes, and the parsed response.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{date, spool::SpooledBody};
use crate::{Failure, Headers, limits::memory_budget::MemoryShare};

/// Maximum length of an entity tag.
const MAX_ETAG: usize = 256;

/// Maximum lifetime of a response: one year, the maximum that RFC 2616, 14.21 recommended. A longer lifetime is
/// shortened to it.
const MAX_LIFETIME_MS: i64 = 365 * 24 * 3600 * 1000;

/// The result of one fetch.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The response, complete or truncated, or the failure.
    pub result: Result<FetchResponse, Failure>,
    /// The bytes of the request head; empty if no connection was established.
    pub request: Bytes,
    /// The bytes of the response as received: head and body, including chunk framing. If the fetch failed, the bytes
    /// received before the failure. Interim (1xx) responses, blank lines before the head, and bytes after the end of
    /// the response are omitted. If the body is [spooled](FetchResponse::spooled), only the head and the first part of
    /// the body.
    pub response: Bytes,
    /// The address of the server. `None` if there was no connection, or if a proxy resolved the name or answered from
    /// its cache.
    pub address: Option<IpAddr>,
    /// When the fetch started, in Unix milliseconds by the wall clock.
    pub started_ms: i64,
    /// When the last byte was received. The courtesy pause starts here.
    pub finished: Instant,
    /// Duration of each phase.
    pub timings: Timings,
    /// The error of the server's certificate, if the certificate was accepted in spite of an error.
    pub certificate_error: Option<Box<str>>,
}

/// Durations of the phases. A phase that did not happen is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// Opening the TCP connection.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the request's last byte to the response's first.
    pub first_byte: Duration,
    /// From the call to the response's last byte.
    pub total: Duration,
    /// Whether a kept-alive connection was reused.
    pub reused: bool,
}

/// A parsed response.
#[derive(Clone, Debug)]
pub struct FetchResponse {
    /// The status code, 200 to 999.
    pub status: u16,
    /// The number of bytes of [`Fetched::response`] before the body.
    pub head_length: usize,
    /// The header fields. Folded lines are joined. Invalid lines are omitted and counted in a remark.
    pub headers: Headers,
    /// The body for the page parser, without transfer and content coding. At most `max_decoded` bytes.
    pub body: Bytes,
    /// The body with content coding but without transfer coding. Its digest identifies duplicates. It is a slice of
    /// [`Fetched::response`] unless the body has several chunks. If the body is spooled, only its first part.
    pub payload: Bytes,
    /// Why the body is truncated; `None` if it is complete.
    pub truncated: Option<Truncated>,
    /// Deviations from the standards that did not prevent parsing.
    pub remarks: Vec<ResponseRemark>,
    /// Whether the body was not read because its media type is not accepted.
    pub unwanted: bool,
    /// Set if the response is large.
    pub(crate) large: Option<Arc<LargeParts>>,
}

/// What a large response holds besides its bytes in memory.
#[derive(Debug)]
pub(crate) struct LargeParts {
    /// The whole body, if only its first part is in memory.
    pub(crate) spooled: Option<Box<SpooledBody>>,
    /// See [`FetchResponse::crlf_terminated`].
    pub(crate) crlf_terminated: Option<Bytes>,
    /// Shares of the memory budget, which are released when the last clone of the response is dropped.
    #[expect(dead_code, reason = "dropping it releases the shares")]
    pub(crate) shares: Vec<MemoryShare>,
}

impl Fetched {
    /// The number of bytes received: head and body, including chunk framing.
    pub fn received_length(&self) -> u64 {
        let response = self.result.as_ref().ok();
        match response.and_then(|response| Some((response.head_length, response.spooled()?))) {
            Some((head, spooled)) => head as u64 + spooled.length,
            None => self.response.len() as u64,
        }
    }
}

impl FetchResponse {
    /// The whole body as received, if it is too large for memory. Then [`body`](Self::body) is decoded from the first
    /// part.
    pub fn spooled(&self) -> Option<&SpooledBody> {
        self.large.as_ref()?.spooled.as_deref()
    }

    /// [`Fetched::response`] followed by two CRLFs in the same memory. `None` if the response is small or its buffer
    /// had no space for them. A WARC record ends with two CRLFs, so the record can be compressed without a copy.
    pub fn crlf_terminated(&self) -> Option<&Bytes> {
        self.large.as_ref()?.crlf_terminated.as_ref()
    }

    /// The length of the decoded body. If an encoded body is spooled, the length of the part that was decoded.
    pub fn body_length(&self) -> u64 {
        let length = self.body.len() as u64;
        match self.spooled() {
            Some(spooled) if !self.headers.has("content-encoding") => spooled.payload_length,
            _ => length,
        }
    }

    /// The `Last-Modified` date in Unix milliseconds, if it is plausible (N15).
    pub fn last_modified(&self, now_ms: i64) -> Option<i64> {
        date::parse_past(self.text("last-modified")?, now_ms)
    }

    /// The entity tag as the server sent it, for use in `If-None-Match`.
    pub fn etag(&self) -> Option<&str> {
        let tag = self.text("etag")?;
        let is_valid = (1..=MAX_ETAG).contains(&tag.len()) && !tag.contains('\t');
        is_valid.then_some(tag)
    }

    /// When the response expires, Unix milliseconds (RFC 9111, 4.2.1 and 5.3). `now_ms` if the response has expired or
    /// must not be cached; `None` if it has no expiry time. `max-age` takes precedence over `Expires`. `Expires` is
    /// compared with the server's own `Date`. The result is at most one year from now.
    pub fn expires(&self, now_ms: i64) -> Option<i64> {
        let lifetime = self.max_age().or_else(|| {
            let expires = self.text("expires")?;
            let server_now = self.text("date").and_then(date::parse);
            let until = |at: i64| at.saturating_sub(server_now.unwrap_or(now_ms));
            // An invalid date, such as `0` or `-1`, means that the response has expired.
            Some(date::parse(expires).map_or(0, until))
        })?;
        Some(now_ms.saturating_add(lifetime.clamp(0, MAX_LIFETIME_MS)))
    }

    /// `Cache-Control: max-age` in milliseconds; 0 for `no-store` and `no-cache`.
    fn max_age(&self) -> Option<i64> {
        let mut age = None;
        for text in self.headers.texts("cache-control") {
            for part in text.split(',') {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                let name = name.trim();
                if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
                    return Some(0);
                }
                let digits = value.trim().trim_matches('"');
                let is_number =
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                if name.eq_ignore_ascii_case("max-age") && is_number && age.is_none() {
                    let seconds = digits.parse().unwrap_or(i64::MAX);
                    age = Some(seconds.saturating_mul(1000));
                }
            }
        }
        age
    }

    /// The trimmed value of a header, if it is ASCII.
    fn text(&self, name: &str) -> Option<&str> {
        self.headers.text(name).map(str::trim)
    }
}

/// Why a body is truncated: the values of `WARC-Truncated` (WARC 1.1, 5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truncated {
    /// The body is longer than the size limit.
    Length,
    /// A timeout passed, or the body was slower than the minimum speed.
    Time,
    /// The connection ended before the body did.
    Disconnect,
    /// The framing is broken, or the media type is not accepted.
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

/// A deviation from the standards that did not prevent the parsing of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ResponseRemark {
    /// The status line is not that of HTTP/1.0 or HTTP/1.1, for example `HTTP/2.0 200`.
    #[error("irregular status line: {0}")]
    StatusLine(String),
    /// The number of header lines that were omitted because they are invalid.
    #[error("{0} invalid header lines")]
    UnreadableHeaders(usize),
    /// `Content-Length` is not a number, or has several different values.
    #[error("unusable Content-Length: {0}")]
    ContentLength(String),
    /// The chunk framing is invalid. The body is the data before the fault, or all received bytes if there is no valid
    /// chunk.
    #[error("broken chunk framing")]
    BrokenChunks,
    /// The content coding is unknown. The body is not decoded.
    #[error("unknown content coding: {0}")]
    UnknownCoding(String),
    /// There are too many layers of content coding. The body is not decoded.
    #[error("too many layers of content coding: {0}")]
    TooManyCodings(usize),
    /// The decoder failed. The body is its output before the error.
    #[error("the {coding} decoder failed: {reason}")]
    DecodeError {
        /// The coding, for example `gzip`.
        coding: String,
        /// The decoder's error message.
        reason: String,
    },
    /// The body is not encoded in spite of its `Content-Encoding`. It is returned unchanged.
    #[error("the body is not encoded with {0}")]
    NotCoded(String),
    /// The decoded body was truncated at `max_decoded` bytes.
    #[error("the decoded body was truncated at {0} bytes")]
    DecodedTruncated(u64),
    /// The server sent more bytes after the end of the response.
    #[error("bytes after the end of the response")]
    ExtraBytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn response(fields: &str) -> FetchResponse {
        let head = head::parse(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes());
        FetchResponse {
            status: 200,
            head_length: 0,
            headers: head.expect("the head is valid").headers,
            body: Bytes::new(),
            payload: Bytes::new(),
            truncated: None,
            remarks: Vec::new(),
            unwanted: false,
            large: None,
        }
    }

    #[test]
    fn last_modified_dates() {
        let check = |fields: &str, expected| {
            assert_eq!(response(fields).last_modified(NOW), expected, "{fields}");
        };
        check(
            "Last-Modified: Tue, 14 Nov 2023 21:13:20 GMT",
            Some(NOW - HOUR),
        );
        check("Last-Modified: Tue, 14 Nov 2023 23:13:20 GMT", Some(NOW));
        check("Last-Modified: Tue, 14 Nov 2024 23:13:20 GMT", None);
        check("Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT", None);
        check("Last-Modified: gestern", None);
        check("Last-Modified: \u{e9}", None);
        check("Date: Tue, 14 Nov 2023 21:13:20 GMT", None);
    }

    #[test]
    fn entity_tags() {
        let check = |fields: &str, expected: Option<&str>| {
            assert_eq!(response(fields).etag(), expected, "{fields}");
        };
        let longest = "x".repeat(256);
        check("ETag: \"abc\"", Some("\"abc\""));
        check("ETag: W/\"a b\" ", Some("W/\"a b\""));
        check("ETag: unquoted", Some("unquoted"));
        check("ETag:", None);
        check("ETag: \"a\tb\"", None);
        check("ETag: \"\u{e9}\"", None);
        check(&format!("ETag: {}", "x".repeat(256)), Some(&longest));
        check(&format!("ETag: {}", "x".repeat(257)), None);
        check("A: b", None);
    }

    #[test]
    fn expiry_times() {
        let check = |fields: &str, expected: Option<i64>| {
            let found = response(fields).expires(NOW).map(|at| at - NOW);
            assert_eq!(found, expected, "{fields}");
        };
        check("A: b", None);
        check("Cache-Control: public", None);
        check("Cache-Control: max-age=3600", Some(HOUR));
        check("Cache-Control: public, Max-Age=\"3600\", x", Some(HOUR));
        check(
            "Cache-Control: max-age=3600\r\nCache-Control: no-cache",
            Some(0),
        );
        check("Cache-Control: no-store", Some(0));
        check("Cache-Control: max-age=-1", None);
        check(
            "Cache-Control: max-age=99999999999999999999",
            Some(MAX_LIFETIME_MS),
        );
        let expires = "Expires: Tue, 14 Nov 2023 23:13:20 GMT";
        check(expires, Some(HOUR));
        check(
            &format!("{expires}\r\nCache-Control: max-age=60"),
            Some(60_000),
        );
        check(
            &format!("{expires}\r\nDate: Tue, 14 Nov 2023 22:43:20 GMT"),
            Some(HOUR / 2),
        );
        check(
            &format!("{expires}\r\nDate: Tue, 14 Nov 2025 22:43:20 GMT"),
            Some(0),
        );
        check("Expires: 0", Some(0));
        check("Expires: -1", Some(0));
        check("Expires: Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check(
            "Expires: Thu, 31 Dec 2037 23:55:55 GMT",
            Some(MAX_LIFETIME_MS),
        );
    }
}
