//! Converts a fetch to records for the archive: request, response, and metadata. The metadata record has the facts that
//! neither the request nor the response contains.

use aranha_fetch::{FetchResponse, Fetched, Truncated};
use aranha_frontier::{Flags, Language, Pending};
use aranha_page::Page;
use aranha_units::calendar;
use aranha_url::CanonUrl;
use aranha_volume::{Exchange, LargeBody, WarcFields};

use super::PageResponse;

/// Initial capacity of a metadata record in bytes: its typical size.
const METADATA_SIZE: usize = 400;

/// Collects request, response and metadata of a fetch for the archive.
pub(crate) fn exchange(
    url: &CanonUrl,
    fetched: &Fetched,
    response: &FetchResponse,
    media_type: &str,
    metadata: WarcFields,
) -> Exchange {
    Exchange {
        url: url.as_str().to_owned(),
        time_ms: fetched.started_ms,
        address: fetched.address,
        request: fetched.request.clone(),
        response: fetched.response.clone(),
        large: response.spooled().map(|spooled| {
            Box::new(LargeBody {
                file: spooled.file.clone(),
                length: spooled.length,
                payload_length: spooled.payload_length,
                payload_digest: spooled.payload_digest,
            })
        }),
        with_record_end: response.crlf_terminated().cloned(),
        head_length: response.head_length,
        payload: response.payload.clone(),
        status: response.status,
        media_type: media_type.to_owned(),
        language: String::new(),
        truncated: response.truncated.map(Truncated::as_str),
        metadata,
        not_modified: None,
    }
}

/// The language as the archive records it; empty if it is unknown.
pub(super) fn iso_639_3(language: Option<&Language>) -> String {
    language.map_or_else(String::new, |language| {
        aranha_page::iso_639_3(&language.code).to_owned()
    })
}

/// Makes the metadata record. `modified` is the date in `Last-Modified` if it is plausible (N15). The unchanged header
/// is in the response record.
pub(super) fn metadata(
    page: &Pending,
    summary: &PageResponse,
    content: Option<&Page>,
    modified: Option<i64>,
    fetched: &Fetched,
) -> WarcFields {
    let mut fields = WarcFields::with_capacity(METADATA_SIZE);
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            fields.put(name, value);
        }
    };
    put("hopsFromSeed", &page.depth.to_string());
    put("fetchTimeMs", &summary.duration_ms.to_string());
    put("via", &page.via);
    if let Some(content) = content {
        put("charsetForLinkExtraction", content.charset);
        put("title", content.title.as_deref().unwrap_or_default());
        put("language", content.language.as_deref().unwrap_or_default());
    }
    if summary.flags.has(Flags::NOINDEX) {
        put("robots", "noindex");
    }
    put(
        "tlsFault",
        fetched.certificate_error.as_deref().unwrap_or_default(),
    );
    if let Some(modified) = modified {
        put("lastModified", &calendar::rfc3339_shortest(modified));
    }
    for remark in content.iter().flat_map(|content| &content.remarks) {
        put("remark", &remark.to_string());
    }
    fields
}
