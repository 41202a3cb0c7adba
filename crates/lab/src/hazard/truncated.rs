//! A name whose answer does not fit: over UDP always cut short, whole over TCP.
//!
//! RFC 7766 5, RFC 1035 4.2.1: the TC bit means ask again by TCP.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{self, TRUNCATED};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    if lookup.tcp {
        return lookup.usual();
    }
    Said::Bytes(packet::positive(lookup.query, lookup.asked, &[], TRUNCATED))
}
