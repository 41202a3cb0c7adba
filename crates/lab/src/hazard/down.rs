//! A host name whose address refuses connections.
//!
//! F11; Castillo A.1.1: servers are down for days and return. Where one socket serves every address of the lab, the
//! connection is reset immediately instead of refused.

pub(super) use super::visit::ordinary as serve;
