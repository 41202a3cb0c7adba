//! A name with an address where nobody listens.
//!
//! Castillo A.1.1: servers are down for days and come back; F11. Where one socket serves the whole network (many
//! addresses) the connection is reset at once instead of refused.

pub(super) use super::visit::ordinary as serve;
