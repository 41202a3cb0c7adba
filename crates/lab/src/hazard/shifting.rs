//! A host name that alternates between two valid addresses.
//!
//! N3: load balancing by DNS (RFC 1794) and sites that move. The courtesy pause per address (F8) must use the connected
//! address, not a cached one.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::site;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let second = site::address(0); // every server of the lab serves every host name
    let address = if lookup.times().is_multiple_of(2) {
        lookup.address
    } else {
        second
    };
    lookup.at(&[address], 1)
}
