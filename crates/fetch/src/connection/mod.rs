//! Connections: the address guard, TCP, TLS, and the kept-alive connections of a visit.
//!
//! `connect.rs` has the only function that opens a socket to the web. It calls `address_guard.rs` first.

pub(crate) mod address_guard;
pub(crate) mod connect;
mod session;
pub(crate) mod tls;
mod tls_error;

pub use session::FetchSession;
