//! A DNS query for the name of a hazard, and the possible responses.

use std::net::Ipv4Addr;

use crate::memory::Memory;
use crate::packet::{A, Asked, Record};

/// A DNS query that a hazard answers.
pub(crate) struct Lookup<'a> {
    /// The whole query.
    pub(crate) query: &'a [u8],
    pub(crate) asked: &'a Asked,
    /// The address of the hazard's server.
    pub(crate) address: Ipv4Addr,
    /// The TTL of the plan, in seconds.
    pub(crate) ttl: u32,
    pub(crate) tcp: bool,
    pub(crate) memory: &'a Memory,
}

/// A response, which `dns` encodes as a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Records. An empty list: the name exists but has no records of this type.
    Records(Vec<Record>),
    /// A response code without records.
    Code(u16),
    /// A complete packet.
    Bytes(Vec<u8>),
    /// No response.
    Nothing,
}

impl Lookup<'_> {
    /// The correct response: one IPv4 address and no IPv6 address.
    pub(super) fn usual(&self) -> Said {
        self.at(&[self.address], self.ttl)
    }

    /// The given addresses, for a query of type A.
    pub(super) fn at(&self, addresses: &[Ipv4Addr], ttl: u32) -> Said {
        if self.asked.kind != A {
            return Said::Records(Vec::new());
        }
        let records = addresses.iter().map(|address| Record::a(*address, ttl));
        Said::Records(records.collect())
    }

    /// The number of earlier queries for this name and type.
    pub(super) fn times(&self) -> u64 {
        let key = format!("dns {} {}", self.asked.name, self.asked.kind);
        self.memory.count(&key)
    }
}
