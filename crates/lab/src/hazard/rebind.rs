//! A name that has a good address when it is checked and a refused one when it is connected to.
//!
//! DNS rebinding (Princeton 1996; Jackson et al. 2007): TTL 0, the first answer is good, all later ones are not.
//! The crawler must connect to the very address it checked, and check each new answer.

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
