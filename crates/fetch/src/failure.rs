//! Why there is no answer: a closed list, each with a stable code and one sentence.
//!
//! The return codes of K 2.4, sharpened: what a retry table keys on is the variant, what people read is the [`Display`](std::fmt::Display) sentence. A truncated answer is not in this list: it is an
//! [`FetchResponse`](crate::FetchResponse) with a mark.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Why a fetch or a look-up brought nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// The name does not exist (NXDOMAIN), or is no name that DNS could hold.
    #[error("the host name does not exist")]
    DnsNotFound,
    /// The name exists and has neither an IPv4 nor an IPv6 address (NODATA).
    #[error("the host name has no address")]
    DnsNoAddress,
    /// The name servers answered, and the answer was a failure (SERVFAIL, REFUSED, malformed).
    #[error("the name servers failed: {0}")]
    DnsFailed(String),
    /// No name server answered in time.
    #[error("no name server answered in time")]
    DnsTimeout,
    /// The address guard refused, by the rule named.
    #[error("the address {address} is refused: {rule}")]
    AddressRefused {
        /// The address that would have been connected to.
        address: IpAddr,
        /// The range it lies in, in words.
        rule: String,
    },
    /// The connection was refused or the address cannot be reached.
    #[error("no connection: {0}")]
    ConnectFailed(String),
    /// The connection was not made in time.
    #[error("the connection was not made in time")]
    ConnectTimeout,
    /// The TLS handshake failed or took too long, or the certificate is refused under `verify_tls`.
    #[error("no secure connection: {0}")]
    TlsFailed(String),
    /// Connected and asked, and no byte of an answer in time.
    #[error("the server did not begin to answer in time")]
    Timeout,
    /// An answer began and dried up before its head was complete.
    #[error("the answer stalled before its head was complete")]
    Stalled,
    /// The connection closed before a complete head.
    #[error("the connection was closed before an answer")]
    Reset,
    /// What came is not HTTP, or not HTTP that can be read (N10).
    #[error("not an HTTP answer: {0}")]
    Protocol(String),
}

impl Failure {
    /// A short stable word for logs, counters and retry tables.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::DnsNotFound => "dns-not-found",
            Failure::DnsNoAddress => "dns-no-address",
            Failure::DnsFailed(_) => "dns-failed",
            Failure::DnsTimeout => "dns-timeout",
            Failure::AddressRefused { .. } => "address-refused",
            Failure::ConnectFailed(_) => "connect-failed",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::TlsFailed(_) => "tls-failed",
            Failure::Timeout => "timeout",
            Failure::Stalled => "stalled",
            Failure::Reset => "reset",
            Failure::Protocol(_) => "protocol",
        }
    }
}

/// Why a [`Fetcher`](crate::Fetcher) cannot be built from its options.
#[derive(Debug, thiserror::Error)]
pub enum FetchSetupError {
    /// No resolver was named, and the system's configuration cannot be read.
    #[error("the system's name servers cannot be read: {0}")]
    SystemResolver(String),
    /// The resolver could not be built from the name servers named.
    #[error("the name servers {servers:?} cannot be used: {reason}")]
    Resolver {
        /// The servers as configured.
        servers: Vec<SocketAddr>,
        /// What the resolver said.
        reason: String,
    },
    /// A text that goes into every request holds a line break or another control character.
    #[error("the option `{option}` holds a control character, which cannot be sent in a header")]
    HeaderText {
        /// The option's name in the configuration.
        option: &'static str,
    },
    /// The TLS library refused its configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}
