//! A host name that resolves to a refused address, in IPv4 and IPv6.
//!
//! Server-side request forgery by DNS (OWASP): the URL looks public, the address is not. The guard must check the
//! address after the lookup. `trespass` counts connections.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{A, AAAA, Record};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let address = refused(2);
    Said::Records(match lookup.asked.kind {
        A => vec![Record::a(address, lookup.ttl)],
        AAAA => vec![Record::aaaa(address.to_ipv6_mapped(), lookup.ttl)],
        _ => Vec::new(),
    })
}
