//! A TLS handshake that never finishes: the server reads the `ClientHello` and sends nothing.
//!
//! N5, Castillo A.1.3: every network operation needs a timeout, including the handshake.

pub(super) use super::request::ordinary as serve;
