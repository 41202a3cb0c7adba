//! `Range` (N7): the server is told how much is wanted, so that it need not be cut off.
//!
//! Off by default: some servers answer 416 for a page that is shorter than the range, and must be asked again without it
//! (P A.3.2), which costs a second request. That is the caller's, who knows the pause before it
//! ([`FetchRequest::without_range`](crate::FetchRequest::without_range)). Servers may ignore a range (RFC 9110, 14.2): the limit on the body holds
//! all the same. A range is one of the coded body, whose beginning can be decoded.

use crate::{FetchRequest, Headers, Options, Truncated};

/// The last byte wanted. `None`: nothing is said of ranges, or the request has one of its own.
pub(crate) fn last_byte(options: &Options, request: &FetchRequest<'_>) -> Option<u64> {
    let has_own = request
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("range"));
    if !options.range_requests || request.without_range || has_own {
        return None;
    }
    // The media type is not known yet: the longest of all limits.
    let by_type = options.max_body_by_type.values().copied();
    let most = request
        .max_body
        .unwrap_or_else(|| by_type.fold(options.max_body, u64::max));
    most.checked_sub(1)
}

/// Why the body of a 206 answer is not the whole page, if it is not.
pub(crate) fn truncation(headers: &Headers, last_byte: u64) -> Option<Truncated> {
    match headers.text("content-range").and_then(sent) {
        Some((0, end, Some(length))) if end.checked_add(1) == Some(length) => None,
        // The length is not told: shorter than what was asked for is all there is.
        Some((0, end, None)) if end < last_byte => None,
        Some((0, ..)) => Some(Truncated::Length),
        Some(_) | None => Some(Truncated::Unspecified),
    }
}

/// First and last byte, and the whole length if it is told, of `bytes 0-499/1234`.
fn sent(text: &str) -> Option<(u64, u64, Option<u64>)> {
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
    fn parts_and_wholes() {
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
            "several parts, or nothing said"
        );
    }
}
