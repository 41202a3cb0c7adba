//! Determines where a body ends (RFC 9112, 6.3). Common mistakes of servers are tolerated.
//!
//! `Transfer-Encoding` takes precedence over `Content-Length`. If `Content-Length` has several different values, the
//! largest is the maximum length of the body. If a value is not a number, `Content-Length` is ignored. If the framing
//! is ambiguous, the body is read, but the connection is not reused, because the server may mean more or fewer bytes
//! than were read.

use super::{chunks::ChunkReader, head::ResponseHead};
use crate::{Headers, ResponseRemark};

/// How the end of a body is recognised.
#[derive(Debug)]
pub(crate) enum ResponseFraming {
    /// There is no body, whatever the headers say (status 204 and 304).
    Empty,
    /// The body ends after this many bytes.
    Length(u64),
    /// The body ends after this many bytes, or earlier if the connection is closed.
    UpTo(u64),
    /// The body ends after the last chunk.
    Chunked(ChunkReader),
    /// The body ends when the connection is closed.
    Close,
}

/// The framing, and whether it is unambiguous. If it is ambiguous, the connection must not be reused.
pub(crate) fn of(
    head: &ResponseHead,
    remarks: &mut Vec<ResponseRemark>,
) -> (ResponseFraming, bool) {
    if matches!(head.status, 204 | 304) {
        return (ResponseFraming::Empty, true);
    }
    let length = content_length(&head.headers);
    match transfer_coding(&head.headers) {
        TransferEncoding::Chunked => (
            ResponseFraming::Chunked(ChunkReader::default()),
            matches!(length, ContentLength::None),
        ),
        TransferEncoding::Other => (ResponseFraming::Close, false),
        TransferEncoding::None => match length {
            ContentLength::None => (ResponseFraming::Close, false),
            ContentLength::One(bytes) => (ResponseFraming::Length(bytes), true),
            ContentLength::Several(max) => {
                remarks.push(ResponseRemark::ContentLength(
                    "several different values".to_owned(),
                ));
                (ResponseFraming::UpTo(max), false)
            }
            ContentLength::Unusable(text) => {
                remarks.push(ResponseRemark::ContentLength(text));
                (ResponseFraming::Close, false)
            }
        },
    }
}

enum TransferEncoding {
    None,
    Chunked,
    /// Another transfer coding. The body ends when the connection is closed.
    Other,
}

fn transfer_coding(headers: &Headers) -> TransferEncoding {
    let mut last = TransferEncoding::None;
    for value in headers.all("transfer-encoding") {
        for name in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if name.eq_ignore_ascii_case(b"chunked") {
                last = TransferEncoding::Chunked;
            } else if !name.is_empty() && !name.eq_ignore_ascii_case(b"identity") {
                last = TransferEncoding::Other;
            }
        }
    }
    last
}

enum ContentLength {
    None,
    One(u64),
    Several(u64),
    Unusable(String),
}

fn content_length(headers: &Headers) -> ContentLength {
    let mut found = ContentLength::None;
    for value in headers.all("content-length") {
        for part in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let Some(bytes) = number(part) else {
                return ContentLength::Unusable(
                    String::from_utf8_lossy(part).chars().take(40).collect(),
                );
            };
            found = match found {
                ContentLength::One(before) if before != bytes => {
                    ContentLength::Several(before.max(bytes))
                }
                ContentLength::Several(max) => ContentLength::Several(max.max(bytes)),
                _ => ContentLength::One(bytes),
            };
        }
    }
    found
}

/// Parses a number of digits only. `str::parse` alone would accept a sign.
fn number(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head;

    fn check(status: u16, fields: &str, expected: &str, reusable: bool) {
        let head = head::parse(format!("HTTP/1.1 {status} x\r\n{fields}\r\n\r\n").as_bytes())
            .expect("the head is valid");
        let (framing, unambiguous) = of(&head, &mut Vec::new());
        let found = match framing {
            ResponseFraming::Chunked(_) => "Chunked".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(
            (found.as_str(), unambiguous),
            (expected, reusable),
            "{status} {fields}"
        );
    }

    #[test]
    fn framing_by_headers() {
        check(200, "Content-Length: 5", "Length(5)", true);
        check(200, "Content-Length: 5, 5", "Length(5)", true);
        check(
            200,
            "Content-Length: 5\r\nContent-Length: 5",
            "Length(5)",
            true,
        );
        check(
            200,
            "Content-Length: 5\r\nContent-Length: 7",
            "UpTo(7)",
            false,
        );
        check(200, "Content-Length: 9, 5", "UpTo(9)", false);
        check(200, "Content-Length: -5", "Close", false);
        check(200, "Content-Length: +5", "Close", false);
        check(200, "Content-Length:", "Close", false);
        check(200, "Content-Length: 99999999999999999999", "Close", false);
        check(200, "X: y", "Close", false);
        check(200, "Transfer-Encoding: chunked", "Chunked", true);
        check(
            200,
            "Transfer-Encoding: Chunked\r\nContent-Length: 5",
            "Chunked",
            false,
        );
        check(200, "Transfer-Encoding: gzip, chunked", "Chunked", true);
        check(200, "Transfer-Encoding: gzip", "Close", false);
        check(
            200,
            "Transfer-Encoding: identity\r\nContent-Length: 5",
            "Length(5)",
            true,
        );
        check(204, "Content-Length: 5", "Empty", true);
        check(304, "Transfer-Encoding: chunked", "Empty", true);
    }
}
