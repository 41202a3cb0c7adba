//! A certificate for another host name.
//!
//! RFC 6125, 6.4; RFC 9110, 4.3.4: virtual hosts without their own certificates. The crawler can be configured to keep
//! such pages, marked.

pub(super) use super::visit::ordinary as serve;
