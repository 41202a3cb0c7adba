//! A self-signed certificate.
//!
//! RFC 5280, 6.1; the most common certificate fault on the web. The crawler can be configured to keep such pages,
//! marked.

pub(super) use super::visit::ordinary as serve;
