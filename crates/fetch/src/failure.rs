//! The failures of a fetch. They are a closed list; each has a stable code and a message of one sentence.
//!
//! The list is finer than the return codes of Chakrabarti 2.4. Retry tables use the variant, logs use
//! [`Failure::code`], and users see the [`Display`](std::fmt::Display) text. A truncated response is not a failure: it
//! is a [`FetchResponse`](crate::FetchResponse) with [`truncated`](crate::FetchResponse::truncated) set.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Why a fetch or a DNS look-up failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// The name does not exist (NXDOMAIN), or is not a valid DNS name.
    #[error("the host name does not exist")]
    DnsNotFound,
    /// The name exists but has neither an IPv4 nor an IPv6 address (NODATA).
    #[error("the host name has no address")]
    DnsNoAddress,
    /// The name servers answered with a failure (SERVFAIL, REFUSED) or with a malformed message.
    #[error("the name servers failed: {0}")]
    DnsFailed(String),
    /// No name server answered within `dns_timeout`.
    #[error("no name server answered in time")]
    DnsTimeout,
    /// The address guard refused the address.
    #[error("the address {address} is refused: {rule}")]
    AddressRefused {
        /// The refused address.
        address: IpAddr,
        /// The range or black-list entry that contains the address.
        rule: String,
    },
    /// A proxy resolves the name, and the address guard refuses the name itself.
    #[error("the host name is refused: {rule}")]
    NameRefused {
        /// Why the name is refused.
        rule: String,
    },
    /// The connection was refused or the address cannot be reached, from here or from the proxy.
    #[error("connection failed: {0}")]
    ConnectFailed(String),
    /// The TCP connection was not established within `connect_timeout`.
    #[error("the connection timed out")]
    ConnectTimeout,
    /// The TLS handshake failed or timed out, or the certificate was refused under `verify_tls`.
    #[error("TLS failed: {0}")]
    TlsFailed(String),
    /// The request was sent, but no byte of a response arrived within `first_byte_timeout`.
    #[error("the server did not respond in time")]
    Timeout,
    /// The first bytes of the response arrived, but its head was not complete within the time limits.
    #[error("the response stalled before its head was complete")]
    Stalled,
    /// The connection was closed before the response head was complete.
    #[error("the connection was closed before a response")]
    Reset,
    /// The received bytes are not an HTTP response (N10), or the request is not valid and was not sent.
    #[error("HTTP protocol error: {0}")]
    Protocol(String),
    /// The proxy cannot be reached. The server is not to blame. Wait with
    /// [`Fetcher::wait_for_proxy`](crate::Fetcher::wait_for_proxy) and repeat the request.
    #[error("{0}")]
    ProxyDown(String),
    /// The proxy rejects the login or does not speak the configured protocol. The server is not to blame, and waiting
    /// does not help.
    #[error("{0}")]
    ProxyUnusable(String),
    /// A large body could not be written to a temporary file. The server is not to blame.
    #[error("a large response could not be written to the disk: {reason}")]
    Disk {
        /// Whether there is no space left.
        full: bool,
        /// The error of the operating system.
        reason: String,
    },
}

impl Failure {
    /// Whether the proxy failed, and not the server.
    pub fn is_of_proxy(&self) -> bool {
        matches!(self, Failure::ProxyDown(_) | Failure::ProxyUnusable(_))
    }

    /// A short stable identifier for logs, counters and retry tables.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::DnsNotFound => "dns-not-found",
            Failure::DnsNoAddress => "dns-no-address",
            Failure::DnsFailed(_) => "dns-failed",
            Failure::DnsTimeout => "dns-timeout",
            Failure::AddressRefused { .. } => "address-refused",
            Failure::NameRefused { .. } => "name-refused",
            Failure::ConnectFailed(_) => "connect-failed",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::TlsFailed(_) => "tls-failed",
            Failure::Timeout => "timeout",
            Failure::Stalled => "stalled",
            Failure::Reset => "reset",
            Failure::Protocol(_) => "protocol",
            Failure::ProxyDown(_) => "proxy-down",
            Failure::ProxyUnusable(_) => "proxy-unusable",
            Failure::Disk { .. } => "disk",
        }
    }
}

/// Why a [`Fetcher`](crate::Fetcher) cannot be built from its options.
#[derive(Debug, thiserror::Error)]
pub enum FetchSetupError {
    /// No resolver is configured, and the system's resolver configuration cannot be read.
    #[error("the system's resolver configuration cannot be read: {0}")]
    SystemResolver(String),
    /// The resolver cannot be built from the configured name servers.
    #[error("the name servers {servers:?} cannot be used: {reason}")]
    Resolver {
        /// The configured servers.
        servers: Vec<SocketAddr>,
        /// The resolver library's error message.
        reason: String,
    },
    /// An option that is sent as a header contains a line break or another control character.
    #[error("the option `{option}` contains a control character, which cannot be sent in a header")]
    HeaderText {
        /// The option's name in the configuration.
        option: &'static str,
    },
    /// Credentials or cookies cannot be read. The sentence contains no secret.
    #[error("{0}")]
    Secrets(String),
    /// The URL of a proxy cannot be read, or does not fit the other options. The sentence contains no secret.
    #[error("{0}")]
    Proxy(String),
    /// A proxy cannot be reached, rejects the login, or does not speak the configured protocol. The sentence contains
    /// no secret.
    #[error("{0}")]
    ProxyUnusable(String),
    /// The TLS library rejected its configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}
