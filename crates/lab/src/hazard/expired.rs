//! A certificate that expired in 2001.
//!
//! RFC 5280, 4.1.2.5. The crawler can be configured to keep such pages, marked. The lab's authority
//! ([`crate::Lab::authority`]) signs the certificate, so the date is its only fault for a client that trusts the
//! authority.

pub(super) use super::visit::ordinary as serve;
