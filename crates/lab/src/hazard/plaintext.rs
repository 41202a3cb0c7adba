//! A server that uses plain HTTP at an https URL.
//!
//! It answers the first bytes of the handshake with `HTTP/1.1 400`.

pub(super) use super::request::ordinary as serve;
