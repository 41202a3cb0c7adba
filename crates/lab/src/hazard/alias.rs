//! A host name behind a chain of eight CNAME records.
//!
//! Content delivery networks build such chains (RFC 1034, 3.6.2). The crawler must find the address at the end.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{A, Record};

const CHAIN_LENGTH: usize = 8;

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let question = &lookup.question.name;
    let first = match question.split_once('.') {
        Some((step, _)) => step.strip_prefix("step").and_then(|n| n.parse().ok()),
        None => None,
    };
    let domain = question
        .splitn(2, '.')
        .last()
        .filter(|_| first.is_some())
        .unwrap_or(question);
    let mut name = question.clone();
    let mut records = Vec::new();
    for step in first.map_or(1, |n: usize| n + 1)..=CHAIN_LENGTH {
        let next = format!("step{step}.{domain}");
        records.push(Record::alias(&next, lookup.ttl).of(&name));
        name = next;
    }
    if lookup.question.kind == A {
        records.push(Record::a(lookup.address, lookup.ttl).of(&name));
    }
    DnsResponse::Records(records)
}
