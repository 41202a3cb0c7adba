//! A host name whose address record has a TTL of 0 or of more than 31 bits.
//!
//! N3; RFC 1035, 3.2.1 (0: use for the current transaction only); RFC 2181, 8 (a TTL whose highest bit is set counts as
//! 0). A crawler that follows these rules literally sends a DNS query before every request.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let ttl = if lookup.count_query().is_multiple_of(2) {
        0
    } else {
        u32::MAX
    };
    lookup.address_response(&[lookup.address], ttl)
}
