//! Proxies through which requests are sent to servers: the options `proxy`, `https_proxy` and `no_proxy`.
//!
//! ```text
//! routes.rs ─► which proxy serves a URL, and who resolves its name
//! dial.rs   ─► TCP connection to the proxy, SOCKS greeting ─► health.rs: outages
//!               └─► http_connect.rs or socks5.rs: "connect me to this server"
//! ```
//!
//! `connection/connect.rs` opens the connections; nothing here creates a socket. The user names the proxy, so the address
//! guard does not check its address. What the guard checks of the servers behind it is described in `routes.rs`.
//!
//! - The login of a proxy is sent to the proxy only. It is in no archived request, log or message.
//! - **A proxy that cannot be reached is not the fault of a server.** Its failures are [`Failure::ProxyDown`](crate::Failure::ProxyDown)
//!   (the crawl waits) and [`Failure::ProxyUnusable`](crate::Failure::ProxyUnusable) (the crawl stops). A server that the
//!   proxy cannot reach is a [`Failure::ConnectFailed`](crate::Failure::ConnectFailed).
//!
//! The section `[proxy_cache]` of the configuration is another matter: a Squid whose *cache* is read, with
//! [`FetchRequest::cache`](crate::FetchRequest::cache).

mod bypass;
mod dial;
mod health;
pub(crate) mod http_connect;
mod routes;
pub(crate) mod socks5;
mod url;

pub use bypass::is_bypass_entry;
pub(crate) use dial::Proxy;
pub use dial::check_proxies;
pub(crate) use health::ProxyHealth;
pub(crate) use http_connect::ConnectError;
pub(crate) use routes::{NameLookup, Routes, Via, via};
pub use routes::{ProxyLookups, Route};
pub(crate) use url::ProxyProtocol;
pub use url::{ProxySetting, ProxyUrl};

/// Why a proxy cannot be used. The texts are clauses about the proxy.
#[derive(Debug, PartialEq)]
pub(crate) enum ProxyError {
    /// It wants a login, or rejects the one that it got.
    Login(String),
    /// It does not speak the expected protocol.
    Protocol(String),
    /// It cannot be reached, or the connection to it broke before it was asked for a server.
    Down(String),
}

impl ProxyError {
    fn problem(&self) -> &str {
        let (ProxyError::Login(problem)
        | ProxyError::Protocol(problem)
        | ProxyError::Down(problem)) = self;
        problem
    }
}
