//! A TLS handshake that is never finished: the greeting is read, and then there is silence.
//!
//! Castillo A.1.3 one layer up: every network operation has a time-out, the handshake too (N5).

pub(super) use super::visit::ordinary as serve;
