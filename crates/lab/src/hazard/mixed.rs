//! A name with two addresses in one answer, one good and one refused.
//!
//! The other half of DNS rebinding (Jackson et al. 2007, multiple A records): a client that falls back to the
//! second address when the first fails must check each.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    lookup.at(&[refused(4), lookup.address], lookup.ttl)
}
