//! The response to a fetch, reduced to the input of the verdict and of the page's record.

use std::time::Duration;

use aranha_fetch::{Failure, FetchResponse, Fetched, ResponseRemark, Truncated};
use aranha_frontier::{Flags, Language, Outcome};

use super::version::Version;
use crate::courtesy::retry_after;
use crate::links::RedirectTarget;
use crate::traps::novelty::Reading;

/// The result of one fetch. `collect` fills it in; later steps only read it.
pub(crate) struct PageResponse {
    /// When the request was sent, unix milliseconds.
    pub(crate) time: i64,
    pub(crate) duration_ms: u32,
    pub(crate) outcome: Outcome,
    /// Why the body was truncated; `None` if it is complete.
    pub(crate) truncated: Option<Truncated>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) redirect: Option<RedirectTarget>,
    /// The media type; empty if it is unknown.
    pub(crate) media_type: String,
    /// Bytes of the decoded body.
    pub(crate) size: u64,
    /// For a 304, the SHA-1 of the stored version. `None` for all other responses, because the archive computes the
    /// digest of a new body.
    pub(crate) digest: Option<[u8; 20]>,
    /// Hash of the text; 0 if there is no text.
    pub(crate) text_digest: u64,
    /// The language of the text, if it was identified.
    pub(crate) language: Option<Language>,
    pub(crate) flags: Flags,
    /// The text in the form that the trap check needs; only for status 200.
    pub(crate) reading: Option<Reading>,
    /// The version of the page that this response brought (200 or redirect) or confirmed (304).
    pub(crate) version: Option<Version>,
}

impl PageResponse {
    /// The result for a page that was not fetched, or whose fetch failed.
    pub(crate) fn without_body(time: i64, outcome: Outcome) -> Self {
        Self {
            time,
            duration_ms: 0,
            outcome,
            truncated: None,
            retry_after: None,
            redirect: None,
            media_type: String::new(),
            size: 0,
            digest: None,
            text_digest: 0,
            language: None,
            flags: Flags::default(),
            reading: None,
            version: None,
        }
    }

    /// Makes the result from the status line and the headers. Also returns a note for the crawl log, which is empty
    /// unless the fetch failed. `began` is the start of the fetch. If no request was sent, it is recorded as the time
    /// of the response.
    pub(crate) fn of(result: &Result<Fetched, Failure>, began: i64) -> (Self, String) {
        let fetched = match result {
            Ok(fetched) => fetched,
            Err(failure) => {
                let response = Self::without_body(began, outcome_of(failure));
                return (response, failure.to_string());
            }
        };
        let (mut response, notes) = match &fetched.result {
            Ok(response) => (
                Self::of_headers(response, fetched.started_ms),
                String::new(),
            ),
            Err(failure) => {
                let response = Self::without_body(fetched.started_ms, outcome_of(failure));
                (response, failure.to_string())
            }
        };
        let total = fetched.timings.total.as_millis();
        response.duration_ms = total.min(u128::from(u32::MAX)) as u32;
        (response, notes)
    }

    fn of_headers(response: &FetchResponse, time: i64) -> Self {
        let outcome = if response.unwanted {
            Outcome::Unwanted(response.status)
        } else {
            Outcome::Answer(response.status)
        };
        let mut flags = Flags::default();
        if response.truncated.is_some() {
            flags = flags.with(Flags::TRUNCATED);
        }
        let is_undecoded = |remark: &ResponseRemark| {
            matches!(
                remark,
                ResponseRemark::DecodeError { .. } | ResponseRemark::NotCoded(_)
            )
        };
        if response.remarks.iter().any(is_undecoded) {
            flags = flags.with(Flags::UNDECODED);
        }
        Self {
            size: response.body_length(),
            flags,
            retry_after: retry_after(response, time),
            truncated: response.truncated.filter(|_| !response.unwanted),
            ..Self::without_body(time, outcome)
        }
    }
}

/// The frontier's outcome for a failure of the fetcher.
fn outcome_of(failure: &Failure) -> Outcome {
    match failure {
        Failure::DnsNotFound | Failure::DnsNoAddress => Outcome::DnsNotFound,
        Failure::DnsFailed(_) | Failure::DnsTimeout => Outcome::DnsFailed,
        Failure::AddressRefused { .. } | Failure::NameRefused { .. } => Outcome::AddressRefused,
        // After a failure of the proxy, `request` waits or stops the crawl. So the last two are never recorded.
        Failure::ConnectFailed(_) | Failure::ProxyDown(_) | Failure::ProxyUnusable(_) => {
            Outcome::ConnectFailed
        }
        Failure::ConnectTimeout => Outcome::ConnectTimeout,
        Failure::TlsFailed(_) => Outcome::TlsFailed,
        Failure::Timeout => Outcome::Timeout,
        Failure::Stalled => Outcome::Stalled,
        // `collect` stops the crawl after an error of the disk, before this outcome is recorded.
        Failure::Reset | Failure::Disk { .. } => Outcome::Reset,
        Failure::Protocol(_) => Outcome::Protocol,
    }
}
