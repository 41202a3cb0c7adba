//! Proxies through which requests are sent to servers: the options `proxy`, `https_proxy` and `no_proxy`.
//!
//! ```text
//! routes.rs ─► which proxy serves a URL, and who resolves its name
//! dial.rs   ─► TCP connection to the proxy, SOCKS greeting ─► health.rs: outages
//!               └─► http_connect.rs or socks5.rs: "connect me to this server"
//! ```
//!
//! `connection/connect.rs` opens the connections; nothing here creates a socket. The address guard does not check the
//! address of a proxy, because the user named the proxy. `routes.rs` describes what the guard checks of the servers
//! behind a proxy.
//!
//! - The login of a proxy is sent to the proxy only. It is in no archived request, log or message.
//! - **A proxy that cannot be reached is not the fault of a server.** If the proxy fails, the failure is
//!   [`Failure::ProxyDown`](crate::Failure::ProxyDown) (the crawl waits) or
//!   [`Failure::ProxyUnusable`](crate::Failure::ProxyUnusable) (the crawl stops). If the proxy cannot reach a server,
//!   the failure is [`Failure::ConnectFailed`](crate::Failure::ConnectFailed).
//!
//! The section `[proxy_cache]` of the configuration is not about these proxies. It names a Squid whose *cache* is read
//! ([`FetchRequest::cache`](crate::FetchRequest::cache)).

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

/// Why a proxy cannot be used. The texts are parts of a sentence that begins with the proxy.
#[derive(Debug, PartialEq)]
pub(crate) enum ProxyError {
    /// The proxy wants a login, or rejects the one that it got.
    Login(String),
    /// The proxy does not speak the expected protocol.
    Protocol(String),
    /// The proxy cannot be reached, or the connection to it broke before it was asked to connect to a server.
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
