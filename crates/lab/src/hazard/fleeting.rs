//! A host name whose address record has a TTL of 0 or of more than 31 bits.
//!
//! N3; RFC 1035, 3.2.1 (0: use for the current transaction only); RFC 2181, 8 (a set highest bit means 0). A cache that
//! obeys literally sends a query before every request.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let ttl = if lookup.times().is_multiple_of(2) {
        0
    } else {
        u32::MAX
    };
    lookup.at(&[lookup.address], ttl)
}
