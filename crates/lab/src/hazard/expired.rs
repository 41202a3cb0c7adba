//! A certificate that expired in 2001.
//!
//! RFC 5280, 4.1.2.5. The crawler can be configured to accept the certificate. Then it marks the stored pages. The
//! lab's authority ([`crate::Lab::authority`]) signs the certificate. So the date is the only fault for a client that
//! trusts this authority.

pub(super) use super::request::ordinary as serve;
