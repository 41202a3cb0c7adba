//! A server that speaks plain HTTP where TLS is expected.
//!
//! The famous "speaking plain HTTP to an SSL-enabled server port", the other way round: the first bytes of the
//! handshake are answered by `HTTP/1.1 400`.

pub(super) use super::visit::ordinary as serve;
