//! A certificate for another host name.
//!
//! RFC 6125, 6.4; RFC 9110, 4.3.4. A virtual host without its own certificate presents the certificate of another host.
//! The crawler can be configured to accept the certificate. Then it marks the stored pages.

pub(super) use super::request::ordinary as serve;
