//! A certificate for another host's name.
//!
//! RFC 6125 6.4, RFC 9110 4.3.4: virtual hosts without certificates of their own. Kept and marked by choice.

pub(super) use super::visit::ordinary as serve;
