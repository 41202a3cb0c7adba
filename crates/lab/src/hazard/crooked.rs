//! A DNS response with a valid address record, followed by a malformed record.
//!
//! N4; Castillo A.2.3: a resolver should use the address even if other parts of the response are malformed.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{self, A, Record};

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    if lookup.question.kind != A {
        return lookup.correct_response();
    }
    let record = Record::a(lookup.address, lookup.ttl);
    let mut bytes = packet::positive(lookup.query, lookup.question, &[record], packet::NO_ERROR);
    bytes[11] = 1; // one additional record is announced
    bytes.extend(b"\x3fhalf a label");
    DnsResponse::Packet(bytes)
}
