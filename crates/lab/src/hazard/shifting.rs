//! A host name that alternates between two valid addresses.
//!
//! N3: load balancing by DNS (RFC 1794) and sites that move. The courtesy pause per address (F8) must be kept for the
//! address of the connection, not for an earlier address of the name.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::site;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let second = site::address(0); // valid, because every server of the lab serves every host name
    let address = if lookup.count_query().is_multiple_of(2) {
        lookup.address
    } else {
        second
    };
    lookup.address_response(&[address], 1)
}
