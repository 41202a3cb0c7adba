//! A name that resolves to an address that is refused, in both versions of IP.
//!
//! Server-side request forgery by DNS (OWASP's SSRF pages): the URL looks public, the address is not. The check
//! belongs after the look-up; connections are counted (`trespass`).

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
