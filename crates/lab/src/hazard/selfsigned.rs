//! A certificate that nobody vouches for but itself.
//!
//! RFC 5280 6.1; the commonest fault of certificates on the web. Kept and marked by choice.

pub(super) use super::visit::ordinary as serve;
