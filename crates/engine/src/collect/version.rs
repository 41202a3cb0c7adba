//! Versions of a page: what a visit keeps of an answer, and what the next one asks and compares with (N14).

use std::time::Duration;

use aranha_fetch::FetchResponse;
use aranha_frontier::{Flags, PageRecord, Past, Pending};

/// The version of a page that an answer brought: what the next visit compares with, and asks with.
pub(crate) struct Version {
    pub(crate) past: Past,
    /// Until when the server says that it holds.
    pub(crate) expires: Option<i64>,
}

/// What makes a request conditional: the version that is kept is asked about (N14).
pub(super) fn conditions(pending: &Pending) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    let Some(past) = pending.past.as_ref().filter(|past| past.location.is_some()) else {
        return headers;
    };
    if !past.etag.is_empty() {
        headers.push(("If-None-Match", tags(&past.etag)));
    }
    if let Some(modified) = past.modified.and_then(|ms| u64::try_from(ms).ok()) {
        let date = std::time::UNIX_EPOCH + Duration::from_millis(modified);
        headers.push(("If-Modified-Since", httpdate::fmt_http_date(date)));
    }
    headers
}

/// The tag to ask with. Apache marks the tags of what it packs on the way (`"1-gzip"`), and does not know the mark when
/// it comes back: the tag without it stands for the same page, and is sent along.
fn tags(etag: &str) -> String {
    let marks = ["-gzip\"", "-br\"", "-zstd\""];
    match marks.iter().find_map(|mark| etag.strip_suffix(mark)) {
        Some(bare) => format!("{etag}, {bare}\""),
        None => etag.to_owned(),
    }
}

/// What the next visit is to know of this answer; digest and place are added when its bytes are stored.
pub(super) fn version(
    answer: &FetchResponse,
    modified: Option<i64>,
    record: &PageRecord,
    pending: &Pending,
) -> Option<Version> {
    let redirect = record.redirect.as_ref();
    if answer.status != 200 && redirect.is_none() {
        return None;
    }
    let text = record.text_digest != 0 && redirect.is_none();
    let fingerprint = match redirect {
        Some(target) => xxhash_rust::xxh3::xxh3_64(target.as_bytes()),
        None if text => record.text_digest,
        None => xxhash_rust::xxh3::xxh3_64(&answer.body),
    };
    // What is not whole must come whole the next time; and only a page itself can be "not modified".
    let whole = !record.flags.has(Flags::TRUNCATED)
        && !record.flags.has(Flags::UNDECODED)
        && redirect.is_none();
    let etag = answer.etag().filter(|_| whole).unwrap_or_default();
    let history = pending.past.as_ref().map(|past| past.history.clone());
    Some(Version {
        past: Past {
            time: record.time,
            visited: record.time,
            digest: [0; 20],
            fingerprint,
            text,
            location: None,
            media_type: record.media_type.clone(),
            size: record.size,
            etag: etag.to_owned(),
            modified: modified.filter(|_| whole),
            history: history.unwrap_or_default(),
            claim: 0,
        },
        expires: answer.expires(record.time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_asked_with_and_without_the_mark_of_packing() {
        let check = |etag, expected| assert_eq!(tags(etag), expected);
        check("\"1-gzip\"", "\"1-gzip\", \"1\"");
        check("W/\"1-br\"", "W/\"1-br\", W/\"1\"");
        check("\"gzip\"", "\"gzip\"");
        check("1-gzip", "1-gzip");
    }
}
