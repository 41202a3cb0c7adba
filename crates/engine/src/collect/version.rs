//! Versions of a page (N14): the facts of a response that are remembered, and the conditional request that the next
//! visit makes from them.

use std::time::Duration;

use aranha_fetch::FetchResponse;
use aranha_frontier::{Flags, Past, Pending};

use super::PageResponse;

/// The version of a page after a visit.
pub(crate) struct Version {
    pub(crate) past: Past,
    /// True if this response contained the version. Then digest and location describe the bytes of this response. False
    /// for a 304, which confirms a version that was stored before.
    pub(crate) is_new: bool,
    /// When the version expires according to `Expires` or `Cache-Control`, in unix milliseconds.
    pub(crate) expires: Option<i64>,
}

/// The headers `If-None-Match` and `If-Modified-Since`. The list is empty if the archive has no version of the page.
pub(super) fn conditional_headers(page: &Pending) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    let Some(past) = page.past.as_ref().filter(|past| past.location.is_some()) else {
        return headers;
    };
    if !past.etag.is_empty() {
        headers.push(("If-None-Match", entity_tags(&past.etag)));
    }
    if let Some(modified) = past.modified.and_then(|ms| u64::try_from(ms).ok()) {
        let date = std::time::UNIX_EPOCH + Duration::from_millis(modified);
        headers.push(("If-Modified-Since", httpdate::fmt_http_date(date)));
    }
    headers
}

/// The entity tags to send. Apache appends a suffix to the tag of a compressed response (`"1-gzip"`), but does not
/// recognise this longer tag in a request. So the tag is also sent without the suffix.
fn entity_tags(etag: &str) -> String {
    let suffixes = ["-gzip\"", "-br\"", "-zstd\""];
    match suffixes.iter().find_map(|suffix| etag.strip_suffix(suffix)) {
        Some(bare) => format!("{etag}, {bare}\""),
        None => etag.to_owned(),
    }
}

/// The version in a 200 response or a redirect; `None` for other responses. Digest and location are added when the
/// bytes of the response are stored.
pub(super) fn version(
    response: &FetchResponse,
    modified: Option<i64>,
    summary: &PageResponse,
    page: &Pending,
) -> Option<Version> {
    let redirect = summary.redirect.as_ref();
    if response.status != 200 && redirect.is_none() {
        return None;
    }
    // Only the first part of a spooled body is read as text. So the digest of the whole body is compared instead.
    let text = summary.text_digest != 0 && redirect.is_none() && response.spooled().is_none();
    let fingerprint = match redirect {
        Some(redirect) => xxhash_rust::xxh3::xxh3_64(redirect.target.as_str().as_bytes()),
        None if text => summary.text_digest,
        None => match response.spooled() {
            Some(spooled) => xxhash_rust::xxh3::xxh3_64(&spooled.payload_digest),
            None => xxhash_rust::xxh3::xxh3_64(&response.body),
        },
    };
    // Entity tag and date make the next request conditional. They are kept only for a complete page, because an
    // incomplete page must be fetched again in full. They are not kept for a redirect, because servers do not send a
    // 304 for it.
    let is_complete = !summary.flags.has(Flags::TRUNCATED)
        && !summary.flags.has(Flags::UNDECODED)
        && redirect.is_none();
    let etag = response.etag().filter(|_| is_complete).unwrap_or_default();
    let history = page.past.as_ref().map(|past| past.history.clone());
    Some(Version {
        past: Past {
            time: summary.time,
            visited: summary.time,
            digest: [0; 20],
            fingerprint,
            text,
            location: None,
            media_type: summary.media_type.clone(),
            language: summary.language.clone(),
            size: summary.size,
            etag: etag.to_owned(),
            modified: modified.filter(|_| is_complete),
            history: history.unwrap_or_default(),
            claim: 0,
        },
        is_new: true,
        expires: response.expires(summary.time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_are_sent_with_and_without_the_compression_suffix() {
        let check = |etag, expected| assert_eq!(entity_tags(etag), expected);
        check("\"1-gzip\"", "\"1-gzip\", \"1\"");
        check("W/\"1-br\"", "W/\"1-br\", W/\"1\"");
        check("\"gzip\"", "\"gzip\"");
        check("1-gzip", "1-gzip");
    }
}
