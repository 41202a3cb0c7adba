//! A host name that resolves to refused addresses (`trespass.rs`), in IPv4 and IPv6.
//!
//! Server-side request forgery by DNS (OWASP): the URL looks public, but its address is not public. The crawler must
//! check the address after the lookup. `trespass.rs` counts the connections to refused addresses.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{A, AAAA, Record};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let address = refused(2);
    DnsResponse::Records(match lookup.question.kind {
        A => vec![Record::a(address, lookup.ttl)],
        AAAA => vec![Record::aaaa(address.to_ipv6_mapped(), lookup.ttl)],
        _ => Vec::new(),
    })
}
