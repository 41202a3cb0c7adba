//! A host name whose address refuses connections.
//!
//! F11; Castillo A.1.1: servers are down for days and return. If the lab uses one socket for all addresses (see
//! `server.rs`), the connection is reset immediately instead of refused.

pub(super) use super::request::ordinary as serve;
