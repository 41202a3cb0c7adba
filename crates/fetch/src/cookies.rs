//! Cookies of one site (N12), RFC 6265.

use aranha_url::CanonUrl;
use http::HeaderMap;
use serde::{Deserialize, Serialize};

/// The jar of ONE site: bounded, no public suffix domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cookies {}

impl Cookies {
    /// The value of the `Cookie` header for a request, if any cookie applies.
    pub fn header(&self, _url: &CanonUrl, _now_ms: i64) -> Option<String> {
        None
    }

    /// Takes in the `Set-Cookie` headers of an answer; whether anything changed.
    pub fn store(&mut self, _url: &CanonUrl, _headers: &HeaderMap, _now_ms: i64) -> bool {
        false
    }
}
