//! A self-signed certificate.
//!
//! RFC 5280, 6.1; the most common certificate fault on the web. The crawler can be configured to accept the
//! certificate. Then it marks the stored pages.

pub(super) use super::request::ordinary as serve;
