//! A linked host name that does not exist (NXDOMAIN).
//!
//! F11; Castillo A.2.2 recommends a retry a week later. RFC 2308 says how long the negative answer may be cached.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::NO_SUCH_NAME;

pub(super) fn resolve(_: &Lookup<'_>) -> Said {
    Said::Code(NO_SUCH_NAME)
}
