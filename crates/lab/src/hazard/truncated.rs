//! A host name whose DNS response is always truncated over UDP and complete over TCP.
//!
//! RFC 1035, 4.2.1; RFC 7766, 5: a response with the TC bit asks the client to repeat the query over TCP.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{self, TRUNCATED};

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    if lookup.tcp {
        return lookup.correct_response();
    }
    DnsResponse::Packet(packet::positive(
        lookup.query,
        lookup.question,
        &[],
        TRUNCATED,
    ))
}
