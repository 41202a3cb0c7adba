//! What is kept of a fetch: the page's record for the frontier, the exchange and its metadata for the archive.

use aranha_fetch::{Failure, FetchResponse, Fetched, Truncated};
use aranha_frontier::{Flags, Outcome, PageRecord, Pending};
use aranha_page::Page;
use aranha_units::calendar;
use aranha_url::CanonUrl;
use aranha_volume::{Exchange, WarcFields};

/// Bytes of most metadata records.
const METADATA: usize = 400;

/// The record of a page before anything is known about its answer.
pub(crate) fn blank(pending: &Pending, time: i64) -> PageRecord {
    PageRecord {
        path: pending.path.clone(),
        key: pending.key,
        depth: pending.depth,
        site_depth: pending.site_depth,
        time,
        outcome: Outcome::Reset,
        media_type: String::new(),
        size: 0,
        digest: None,
        text_digest: 0,
        location: None,
        revisit: false,
        duration_ms: 0,
        tries: pending.tries.saturating_add(1),
        hop: pending.hop,
        via: pending.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// The frontier's word for the fetcher's.
pub(crate) fn outcome(failure: &Failure) -> Outcome {
    match failure {
        Failure::DnsNotFound | Failure::DnsNoAddress => Outcome::DnsNotFound,
        Failure::DnsFailed(_) | Failure::DnsTimeout => Outcome::DnsFailed,
        Failure::AddressRefused { .. } => Outcome::AddressRefused,
        Failure::ConnectFailed(_) => Outcome::ConnectFailed,
        Failure::ConnectTimeout => Outcome::ConnectTimeout,
        Failure::TlsFailed(_) => Outcome::TlsFailed,
        Failure::Timeout => Outcome::Timeout,
        Failure::Stalled => Outcome::Stalled,
        Failure::Reset => Outcome::Reset,
        Failure::Protocol(_) => Outcome::Protocol,
    }
}

/// What the archive keeps of a fetch.
pub(crate) fn exchange(
    url: &CanonUrl,
    fetched: &Fetched,
    answer: &FetchResponse,
    media_type: &str,
    metadata: WarcFields,
) -> Exchange {
    Exchange {
        url: url.as_str().to_owned(),
        time_ms: fetched.started_ms,
        address: fetched.address,
        request: fetched.request.clone(),
        response: fetched.response.clone(),
        with_record_end: answer.crlf_terminated.clone(),
        head_length: answer.head_length,
        payload: answer.payload.clone(),
        status: answer.status,
        media_type: media_type.to_owned(),
        truncated: answer.truncated.map(Truncated::as_str),
        metadata,
        not_modified: None,
    }
}

/// What the answer itself does not say, for whoever reads the archive. `modified`: when the page changed last, as far as
/// the answer's word for it can be believed (N15).
pub(super) fn metadata(
    record: &PageRecord,
    page: Option<&Page>,
    modified: Option<i64>,
    fetched: &Fetched,
) -> WarcFields {
    let mut fields = WarcFields::with_capacity(METADATA);
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            fields.put(name, value);
        }
    };
    put("hopsFromSeed", &record.depth.to_string());
    put("fetchTimeMs", &record.duration_ms.to_string());
    put("via", &record.via);
    if let Some(page) = page {
        put("charsetForLinkExtraction", page.charset);
        put("title", page.title.as_deref().unwrap_or_default());
        put("language", page.language.as_deref().unwrap_or_default());
    }
    put(
        "tlsFault",
        fetched.certificate_error.as_deref().unwrap_or_default(),
    );
    // The header itself is in the record.
    if let Some(modified) = modified {
        put("lastModified", &calendar::rfc3339_shortest(modified));
    }
    for remark in page.iter().flat_map(|page| &page.remarks) {
        put("remark", &remark.to_string());
    }
    fields
}
