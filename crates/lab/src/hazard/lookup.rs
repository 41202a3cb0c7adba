//! A DNS question about a hostile name, and what can be said to it.

use std::net::Ipv4Addr;

use crate::memory::Memory;
use crate::packet::{A, Asked, Record};

/// A question in the hands of a hazard.
pub(crate) struct Lookup<'a> {
    /// The whole query.
    pub(crate) query: &'a [u8],
    pub(crate) asked: &'a Asked,
    /// Where the hazard's server is.
    pub(crate) address: Ipv4Addr,
    /// The plan's.
    pub(crate) ttl: u32,
    pub(crate) tcp: bool,
    pub(crate) memory: &'a Memory,
}

/// What is said; `dns` makes a packet of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// None: the name exists but has no such records.
    Records(Vec<Record>),
    /// An answer code instead.
    Code(u16),
    /// A packet as it is.
    Bytes(Vec<u8>),
    Nothing,
}

impl Lookup<'_> {
    /// What an honest server says: one address, none of version six.
    pub(super) fn usual(&self) -> Said {
        self.at(&[self.address], self.ttl)
    }

    /// These addresses to who asks for addresses.
    pub(super) fn at(&self, addresses: &[Ipv4Addr], ttl: u32) -> Said {
        if self.asked.kind != A {
            return Said::Records(Vec::new());
        }
        let records = addresses.iter().map(|address| Record::a(*address, ttl));
        Said::Records(records.collect())
    }

    /// How often this was asked before.
    pub(super) fn times(&self) -> u64 {
        let key = format!("dns {} {}", self.asked.name, self.asked.kind);
        self.memory.count(&key)
    }
}
