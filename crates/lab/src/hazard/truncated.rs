//! A host name whose DNS response is always truncated over UDP and complete over TCP.
//!
//! RFC 1035, 4.2.1; RFC 7766, 5: the TC bit means that the client repeats the query over TCP.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{self, TRUNCATED};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    if lookup.tcp {
        return lookup.usual();
    }
    Said::Bytes(packet::positive(lookup.query, lookup.asked, &[], TRUNCATED))
}
