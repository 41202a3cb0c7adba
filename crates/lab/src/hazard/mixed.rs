//! A host name with two addresses in one DNS response, one valid and one refused (`trespass.rs`).
//!
//! DNS rebinding with several A records (Jackson et al. 2007): if the first address fails, the client tries the second,
//! so it must check each address.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    lookup.address_response(&[refused(4), lookup.address], lookup.ttl)
}
