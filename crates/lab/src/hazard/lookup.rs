//! A DNS query for the name of a hazard, and the possible responses.

use std::net::Ipv4Addr;

use crate::packet::{A, DnsQuestion, Record};
use crate::request_counters::RequestCounters;

/// A DNS query that a hazard answers.
pub(crate) struct Lookup<'a> {
    /// The whole query packet.
    pub(crate) query: &'a [u8],
    pub(crate) question: &'a DnsQuestion,
    /// The address of the hazard's server.
    pub(crate) address: Ipv4Addr,
    /// The TTL of the plan, in seconds.
    pub(crate) ttl: u32,
    pub(crate) tcp: bool,
    pub(crate) counters: &'a RequestCounters,
}

/// The response of a hazard, which `dns.rs` encodes as a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DnsResponse {
    /// A response with records. An empty list says that the name exists, but has no record of this type.
    Records(Vec<Record>),
    /// A response code without records.
    Code(u16),
    /// The bytes of a packet, which are sent unchanged.
    Packet(Vec<u8>),
    /// The server sends nothing.
    NoResponse,
}

impl Lookup<'_> {
    /// The correct response: one IPv4 address and no IPv6 address.
    pub(super) fn correct_response(&self) -> DnsResponse {
        self.address_response(&[self.address], self.ttl)
    }

    /// The given addresses if the query has type A, otherwise no records.
    pub(super) fn address_response(&self, addresses: &[Ipv4Addr], ttl: u32) -> DnsResponse {
        if self.question.kind != A {
            return DnsResponse::Records(Vec::new());
        }
        let records = addresses.iter().map(|address| Record::a(*address, ttl));
        DnsResponse::Records(records.collect())
    }

    /// Counts this query. Returns the number of earlier queries for the same name and type.
    pub(super) fn count_query(&self) -> u64 {
        let key = format!("dns {} {}", self.question.name, self.question.kind);
        self.counters.increment(&key)
    }
}
