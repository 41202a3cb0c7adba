//! A host name for which the DNS server sends no response at all.
//!
//! N4, Castillo A.2.1: name servers drop queries under load. The lookup must time out and must not delay other lookups.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};

pub(super) fn resolve(_: &Lookup<'_>) -> DnsResponse {
    DnsResponse::NoResponse
}
