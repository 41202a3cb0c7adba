//! A host name whose CNAME records form a loop.
//!
//! RFC 1034, 3.6.2: a loop is an error. A resolver without a limit follows it without end.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::Record;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let asked = &lookup.asked.name;
    let (domain, next) = match asked.split_once('.') {
        Some(("left", domain)) => (domain, format!("right.{domain}")),
        Some(("right", domain)) => (domain, domain.to_owned()),
        _ => (asked.as_str(), format!("left.{asked}")),
    };
    debug_assert!(next.ends_with(domain));
    Said::Records(vec![Record::alias(&next, lookup.ttl).of(asked)])
}
