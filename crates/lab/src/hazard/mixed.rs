//! A host name with two addresses in one DNS response, one valid and one refused (`trespass.rs`).
//!
//! DNS rebinding with several A records (Jackson et al. 2007): a client that tries the second address after the first
//! fails must check each address.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    lookup.address_response(&[refused(4), lookup.address], lookup.ttl)
}
