//! Connections: address guard, TCP, TLS, keep-alive.

pub(crate) mod address_guard;
pub(crate) mod connect;
mod session;
pub(crate) mod tls;

pub use session::FetchSession;
