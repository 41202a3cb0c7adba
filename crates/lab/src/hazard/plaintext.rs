//! A server that speaks plain HTTP where TLS is expected.
//!
//! It answers the first bytes of the handshake with `HTTP/1.1 400`.

pub(super) use super::visit::ordinary as serve;
