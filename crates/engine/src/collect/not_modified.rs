//! Handles 304 Not Modified: the response becomes a revisit record that refers to the stored version.
//!
//! The page's record describes the stored version (size, media type, digests), because the server still has that
//! version. The archive writes the exchange as a WARC revisit record (profile `server-not-modified`).

use aranha_fetch::{FetchResponse, Fetched};
use aranha_frontier::Past;
use aranha_volume::{EarlierVersion, Exchange};

use super::archive_record::{exchange, iso_639_3, metadata};
use super::version::Version;
use super::{FinishedTask, PageResponse};

/// Completes `summary` from the stored version, and returns the exchange for the archive.
pub(super) fn not_modified(
    fetched: &Fetched,
    response: &FetchResponse,
    stored: &Past,
    task: &FinishedTask,
    summary: &mut PageResponse,
) -> Exchange {
    let mut past = stored.clone();
    summary.media_type.clone_from(&past.media_type);
    summary.language.clone_from(&past.language);
    summary.size = past.size;
    summary.digest = Some(past.digest);
    summary.text_digest = if past.text { past.fingerprint } else { 0 };
    let modified = response.last_modified(summary.time);
    let metadata = metadata(&task.page, summary, None, modified, fetched);
    let mut exchange = exchange(&task.url, fetched, response, &summary.media_type, metadata);
    exchange.language = iso_639_3(summary.language.as_ref());
    exchange.not_modified = Some(EarlierVersion {
        time_ms: past.time,
        digest: past.digest,
        location: past.location,
    });
    if let Some(etag) = response.etag() {
        etag.clone_into(&mut past.etag);
    }
    past.modified = modified.or(past.modified);
    summary.version = Some(Version {
        past,
        is_new: false,
        expires: response.expires(summary.time),
    });
    exchange
}
