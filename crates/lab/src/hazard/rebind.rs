//! A host name whose first DNS response has a valid address and all later ones a refused address.
//!
//! DNS rebinding (Princeton 1996; Jackson et al. 2007), with TTL 0. The crawler must connect to the address that it
//! checked, and check every new response.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::A;
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    if lookup.asked.kind != A {
        return Said::Records(Vec::new());
    }
    let address = if lookup.times() == 0 {
        lookup.address
    } else {
        refused(3)
    };
    lookup.at(&[address], 0)
}
