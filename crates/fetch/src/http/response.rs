//! What a fetch brings back: the wire's bytes, and what was understood of them.

use std::{net::IpAddr, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::date;
use crate::{Failure, Headers};

/// Longest entity tag that is worth keeping and sending back.
const LONGEST_ETAG: usize = 256;

/// How far ahead an expiry is believed: a year, as long as HTTP ever recommended.
const LONGEST_LIFE_MS: i64 = 365 * 24 * 3600 * 1000;

/// The end of one fetch: always exactly one of these, within the whole-fetch limit.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The answer, whole or truncated, or why there is none.
    pub result: Result<FetchResponse, Failure>,
    /// Wire bytes of the request head; empty when no connection was made.
    pub request: Bytes,
    /// Wire bytes of the answer, head and body as they came, chunk framing included. Kept for failures too when
    /// something came. Left out are interim (1xx) answers and blank lines before the head, and bytes after the
    /// answer's end.
    pub response: Bytes,
    /// The address connected to: the proxy's, when there was one.
    pub address: Option<IpAddr>,
    /// Wall-clock start, Unix milliseconds.
    pub started_ms: i64,
    /// When the last byte was taken: the courtesy pause counts from here.
    pub finished: Instant,
    /// How long each phase took.
    pub timings: Timings,
    /// What was wrong with the server's certificate, when it was accepted all the same.
    pub certificate_error: Option<String>,
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
pub struct FetchResponse {
    /// The status code, 200 to 999.
    pub status: u16,
    /// How many bytes of [`Fetched::response`] come before the body.
    pub head_length: usize,
    /// The header fields that could be read; folded lines joined, broken lines left out with a remark.
    pub headers: Headers,
    /// The body for reading: transfer and content coding removed, capped by `max_decoded`.
    pub body: Bytes,
    /// The body for judging duplicates: transfer coding removed, content coding kept. A slice of
    /// [`Fetched::response`] when the body did not come in several chunks.
    pub payload: Bytes,
    /// [`Fetched::response`] with two line ends behind it, in the same memory, where a large answer had room for them. So
    /// ends a WARC record, which can then be packed where it lies.
    pub crlf_terminated: Option<Bytes>,
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncated>,
    /// Oddities seen on the way; none of them hinders the use of what is there.
    pub remarks: Vec<ResponseRemark>,
    /// The media type is not wanted: the body was not taken.
    pub unwanted: bool,
    /// Room in the budget of memory, given back with the last copy of the answer.
    #[expect(dead_code, reason = "held, never read")]
    pub(crate) shares: Option<std::sync::Arc<[crate::limits::memory_budget::MemoryShare]>>,
}

impl FetchResponse {
    /// When the page changed last, Unix milliseconds, as far as that can be believed (N15).
    pub fn last_modified(&self, now_ms: i64) -> Option<i64> {
        date::repair(self.text("last-modified")?, now_ms)
    }

    /// The entity tag as the server wrote it, to be sent back in `If-None-Match`.
    pub fn etag(&self) -> Option<&str> {
        let tag = self.text("etag")?;
        let is_sane = (1..=LONGEST_ETAG).contains(&tag.len()) && !tag.contains('\t');
        is_sane.then_some(tag)
    }

    /// Until when the server says that nothing will change, Unix milliseconds; `now_ms` when it says that anything may
    /// have, `None` when it says nothing (RFC 9111, 4.2.1 and 5.3). A hint: `max-age` wins over `Expires`, which is
    /// taken relative to the server's own clock; a year at most.
    pub fn expires(&self, now_ms: i64) -> Option<i64> {
        let life = self.max_age().or_else(|| {
            let expires = self.text("expires")?;
            let clock = self.text("date").and_then(date::parse);
            // What is no date has passed: servers write `0` or `-1`.
            let life = |at: i64| at.saturating_sub(clock.unwrap_or(now_ms));
            Some(date::parse(expires).map_or(0, life))
        })?;
        Some(now_ms.saturating_add(life.clamp(0, LONGEST_LIFE_MS)))
    }

    /// Milliseconds of `Cache-Control: max-age`; 0 when nothing may be kept.
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

    /// A header's text without control characters, trimmed.
    fn text(&self, name: &str) -> Option<&str> {
        self.headers.text(name).map(str::trim)
    }
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
pub enum ResponseRemark {
    /// The status line is not quite HTTP/1.1's, as `HTTP/2.0 200`.
    #[error("odd status line: {0}")]
    StatusLine(String),
    /// So many header lines could not be read and are left out of the map.
    #[error("{0} header lines could not be read")]
    UnreadableHeaders(usize),
    /// `Content-Length` is no number, or there are several that differ.
    #[error("unusable Content-Length: {0}")]
    ContentLength(String),
    /// The chunk framing is broken; what came before, or the raw bytes, are the body.
    #[error("broken chunk framing")]
    BrokenChunks,
    /// A content coding that is not known: the body is left as it came.
    #[error("unknown content coding: {0}")]
    UnknownCoding(String),
    /// More layers of content coding than are undone.
    #[error("too many layers of content coding: {0}")]
    TooManyCodings(usize),
    /// A decoder gave up; the body is what it gave before.
    #[error("the {coding} decoder stopped: {reason}")]
    DecodeError {
        /// The coding, as `gzip`.
        coding: String,
        /// What the decoder said.
        reason: String,
    },
    /// The body is not coded at all in spite of its label, and left as it came.
    #[error("the body is no {0}")]
    NotCoded(String),
    /// The decoded body reached `max_decoded` and was cut there.
    #[error("the decoded body was cut at {0} bytes")]
    DecodedTruncated(u64),
    /// More bytes followed the end of the answer.
    #[error("bytes after the end of the answer")]
    ExtraBytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn answer(fields: &str) -> FetchResponse {
        let head = head::read(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes());
        FetchResponse {
            status: 200,
            head_length: 0,
            headers: head.expect("a head").headers,
            body: Bytes::new(),
            payload: Bytes::new(),
            crlf_terminated: None,
            truncated: None,
            remarks: Vec::new(),
            unwanted: false,
            shares: None,
        }
    }

    #[test]
    fn dates_of_change() {
        let check = |fields: &str, expected| {
            assert_eq!(answer(fields).last_modified(NOW), expected, "{fields}");
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
            assert_eq!(answer(fields).etag(), expected, "{fields}");
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
    fn expiries() {
        let check = |fields: &str, expected: Option<i64>| {
            let found = answer(fields).expires(NOW).map(|at| at - NOW);
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
            Some(LONGEST_LIFE_MS),
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
            Some(LONGEST_LIFE_MS),
        );
    }
}
