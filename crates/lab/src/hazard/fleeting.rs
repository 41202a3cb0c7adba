//! A name whose address holds for no time at all: TTL 0, or past the end of 31 bits.
//!
//! RFC 1035 3.2.1 (zero: use for the transaction in progress only), RFC 2181 8 (the highest bit set means zero).
//! A cache that obeys to the letter asks before every request: N3.

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
