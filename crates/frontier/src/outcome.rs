//! The outcome of a fetch: a closed list, based on the return codes of Chakrabarti 2.4.
//!
//! Failures of the web are data. Each outcome is stored and counted, and [`crate::Retry`] says whether and when the
//! page is retried. The codes are part of the stored format: a code never changes its meaning, and a new outcome gets a
//! new code.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a fetch, or the reason why the page was not fetched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// A response with this status.
    Answer(u16),
    /// A response with this status and an unwanted media type; its body was not read.
    Unwanted(u16),
    /// The name does not exist (NXDOMAIN), or it has no IP address (NODATA).
    DnsNotFound,
    /// No name server returned a usable answer.
    DnsFailed,
    /// The address guard refused all addresses of the name.
    AddressRefused,
    /// The connection was refused, or the network is unreachable.
    ConnectFailed,
    /// The connection was not established in time.
    ConnectTimeout,
    /// The TLS handshake failed.
    TlsFailed,
    /// The connection was established, but no byte of a response arrived in time.
    Timeout,
    /// The response began, but its head was not complete in time or arrived below the minimum speed.
    Stalled,
    /// The connection was closed before the head of the response was complete.
    Reset,
    /// The response is not HTTP.
    Protocol,
    /// A redirect without a usable target.
    NoTarget,
    /// robots.txt disallows the page.
    RobotsRefused,
    /// robots.txt could not be fetched, so all pages of the site are disallowed for now.
    RobotsUnreachable,
    /// The black list matches the page, or its site is blocked.
    Blocked,
    /// The page was in scope when it was admitted, but no longer is.
    OutOfScope,
    /// A fault of the crawler: the page could not be read in time, or the code that fetched or read it panicked.
    InternalError,
}

impl Outcome {
    /// The stored code, and the HTTP status (0 if there was no response).
    pub fn code(self) -> (u8, u16) {
        match self {
            Outcome::Answer(status) => (1, status),
            Outcome::Unwanted(status) => (2, status),
            Outcome::DnsNotFound => (3, 0),
            Outcome::DnsFailed => (4, 0),
            Outcome::AddressRefused => (5, 0),
            Outcome::ConnectFailed => (6, 0),
            Outcome::ConnectTimeout => (7, 0),
            Outcome::TlsFailed => (8, 0),
            Outcome::Timeout => (9, 0),
            Outcome::Stalled => (10, 0),
            Outcome::Reset => (11, 0),
            Outcome::Protocol => (12, 0),
            Outcome::NoTarget => (13, 0),
            Outcome::RobotsRefused => (14, 0),
            Outcome::RobotsUnreachable => (15, 0),
            Outcome::Blocked => (16, 0),
            Outcome::OutOfScope => (17, 0),
            Outcome::InternalError => (18, 0),
        }
    }

    /// The inverse of [`Outcome::code`]; `None` for a code that this version does not know.
    pub fn from_code(code: u8, status: u16) -> Option<Outcome> {
        Some(match code {
            1 => Outcome::Answer(status),
            2 => Outcome::Unwanted(status),
            3 => Outcome::DnsNotFound,
            4 => Outcome::DnsFailed,
            5 => Outcome::AddressRefused,
            6 => Outcome::ConnectFailed,
            7 => Outcome::ConnectTimeout,
            8 => Outcome::TlsFailed,
            9 => Outcome::Timeout,
            10 => Outcome::Stalled,
            11 => Outcome::Reset,
            12 => Outcome::Protocol,
            13 => Outcome::NoTarget,
            14 => Outcome::RobotsRefused,
            15 => Outcome::RobotsUnreachable,
            16 => Outcome::Blocked,
            17 => Outcome::OutOfScope,
            18 => Outcome::InternalError,
            _ => return None,
        })
    }

    /// The HTTP status, if there was a response.
    pub fn status(self) -> Option<u16> {
        match self {
            Outcome::Answer(status) | Outcome::Unwanted(status) => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Outcome::Answer(status) => return write!(f, "{status}"),
            Outcome::Unwanted(status) => return write!(f, "{status} unwanted media type"),
            Outcome::DnsNotFound => "name not found",
            Outcome::DnsFailed => "DNS failure",
            Outcome::AddressRefused => "address refused",
            Outcome::ConnectFailed => "connection failed",
            Outcome::ConnectTimeout => "connection time-out",
            Outcome::TlsFailed => "TLS failure",
            Outcome::Timeout => "time-out",
            Outcome::Stalled => "stalled",
            Outcome::Reset => "connection reset",
            Outcome::Protocol => "not HTTP",
            Outcome::NoTarget => "redirect without target",
            Outcome::RobotsRefused => "robots.txt refused",
            Outcome::RobotsUnreachable => "robots.txt unreachable",
            Outcome::Blocked => "blocked",
            Outcome::OutOfScope => "out of scope",
            Outcome::InternalError => "internal error",
        };
        f.write_str(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_decoded() {
        for code in 0..=u8::MAX {
            let status = if matches!(code, 1 | 2) { 404 } else { 0 };
            if let Some(outcome) = Outcome::from_code(code, status) {
                assert_eq!(outcome.code(), (code, status));
                assert!(!outcome.to_string().is_empty());
            } else {
                assert!(code == 0 || code > 18, "code {code} is not decoded");
            }
        }
    }
}
