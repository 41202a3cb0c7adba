//! A host name whose CNAME records form a loop.
//!
//! RFC 1034, 3.6.2: a loop is an error. A resolver without a limit follows it without end.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::Record;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let question = &lookup.question.name;
    let (domain, next) = match question.split_once('.') {
        Some(("left", domain)) => (domain, format!("right.{domain}")),
        Some(("right", domain)) => (domain, domain.to_owned()),
        _ => (question.as_str(), format!("left.{question}")),
    };
    debug_assert!(next.ends_with(domain));
    DnsResponse::Records(vec![Record::alias(&next, lookup.ttl).of(question)])
}
