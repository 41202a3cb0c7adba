//! A name that is linked and does not exist.
//!
//! NXDOMAIN, the commonest end of a link: F11, Castillo A.2.2 (ask again a week later), RFC 2308 for how long it holds.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::NO_SUCH_NAME;

pub(super) fn resolve(_: &Lookup<'_>) -> Said {
    Said::Code(NO_SUCH_NAME)
}
