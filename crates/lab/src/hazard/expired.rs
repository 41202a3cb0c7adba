//! A certificate that was good until 2001.
//!
//! RFC 5280 4.1.2.5; kept and marked by choice. Signed by the lab's authority ([`crate::Lab::authority`]), so that
//! this is its only fault for who trusts it.

pub(super) use super::visit::ordinary as serve;
