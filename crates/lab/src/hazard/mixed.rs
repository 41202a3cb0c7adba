//! A host name with two addresses in one response, one valid and one refused.
//!
//! DNS rebinding with several A records (Jackson et al. 2007): a client that tries the second address after the first
//! fails must check each address.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::trespass::refused;

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    lookup.at(&[refused(4), lookup.address], lookup.ttl)
}
