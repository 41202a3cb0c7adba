//! An endless chain of CNAME records: each name is an alias of a name that was never queried before.
//!
//! N4; RFC 1034, 3.6.2. No name occurs twice, unlike in `ring`, so only a limit on the length of the chain ends the
//! lookup.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::Record;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let question = &lookup.question.name;
    let step = question.split_once('.').and_then(|(label, domain)| {
        let step: u64 = label.strip_prefix("down")?.parse().ok()?;
        Some((step, domain))
    });
    let (step, domain) = step.unwrap_or((0, question));
    let next = format!("down{}.{domain}", step.wrapping_add(1));
    DnsResponse::Records(vec![Record::alias(&next, lookup.ttl).of(question)])
}
