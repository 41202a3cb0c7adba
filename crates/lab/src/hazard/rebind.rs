//! A host name whose first DNS response has a valid address. All later responses have a refused address
//! (`trespass.rs`).
//!
//! DNS rebinding (Princeton 1996; Jackson et al. 2007), with TTL 0. The crawler must connect to the address that it
//! checked, and check every new response.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::A;
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    if lookup.question.kind != A {
        return DnsResponse::Records(Vec::new());
    }
    let address = if lookup.count_query() == 0 {
        lookup.address
    } else {
        refused(3)
    };
    lookup.address_response(&[address], 0)
}
