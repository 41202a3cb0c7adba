//! The `Range` header (N7). It asks the server for no more bytes than the maximum body size, so that the fetch need not
//! close the connection in the middle of a body.
//!
//! Ranges are off by default, because some servers respond with 416 to a range that is longer than the page (Castillo
//! A.3.2). The caller must then repeat the request with
//! [`FetchRequest::without_range`](crate::FetchRequest::without_range), after the courtesy pause. A server may ignore
//! the header (RFC 9110, 14.2), so the maximum body size is enforced in any case. If the body is compressed, the range
//! refers to the compressed bytes. The part of the body that is received can nevertheless be decoded.

use crate::{FetchRequest, Headers, Options, Truncated};

/// The offset of the last byte to request. `None` if ranges are off or the request has its own `Range` header.
pub(crate) fn last_byte(options: &Options, request: &FetchRequest<'_>) -> Option<u64> {
    let has_own = request
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("range"));
    if !options.range_requests || request.without_range || has_own {
        return None;
    }
    // The media type is not known yet, so the largest of all limits applies.
    let by_type = options.max_body_by_type.values().copied();
    let max_body = request
        .max_body
        .unwrap_or_else(|| by_type.fold(options.max_body, u64::max));
    max_body.checked_sub(1)
}

/// Why the body of a 206 response is truncated; `None` if it is the whole page.
pub(crate) fn truncation(headers: &Headers, last_byte: u64) -> Option<Truncated> {
    match headers.text("content-range").and_then(content_range) {
        Some((0, end, Some(length))) if end.checked_add(1) == Some(length) => None,
        // Without a total length, a part that is shorter than the requested range is the whole page.
        Some((0, end, None)) if end < last_byte => None,
        Some((0, ..)) => Some(Truncated::Length),
        Some(_) | None => Some(Truncated::Unspecified),
    }
}

/// Parses a value such as `bytes 0-499/1234`. Returns the offsets of the first and the last byte, and the total length,
/// which is `None` for `*`.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (unit, rest) = text.split_at_checked(5)?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (range, length) = rest.trim_start_matches([' ', '=', ':']).split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let length = match length.trim() {
        "*" => None,
        digits => Some(digits.parse().ok()?),
    };
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_and_whole_bodies() {
        let check = |value: &str, expected: Option<Truncated>| {
            let mut headers = Headers::default();
            headers.push(b"Content-Range", value.as_bytes());
            assert_eq!(truncation(&headers, 999), expected, "{headers:?}");
        };
        check("bytes 0-499/500", None);
        check("Bytes 0-499/500", None);
        check("bytes=0-499/500", None);
        check("bytes 0-999/1000", None);
        check("bytes 0-999/5000", Some(Truncated::Length));
        check("bytes 0-499/*", None);
        check("bytes 0-999/*", Some(Truncated::Length));
        check("bytes 500-999/1000", Some(Truncated::Unspecified));
        check("bytes */1000", Some(Truncated::Unspecified));
        check("bytes 0-18446744073709551615/*", Some(Truncated::Length));
        check("bytes 0-18446744073709551615/0", Some(Truncated::Length));
        check("bytes 0-x/7", Some(Truncated::Unspecified));
        check("lines 0-1/2", Some(Truncated::Unspecified));
        check("", Some(Truncated::Unspecified));
        assert_eq!(
            truncation(&Headers::default(), 999),
            Some(Truncated::Unspecified),
            "no Content-Range: a multipart body, or an error of the server"
        );
    }
}
