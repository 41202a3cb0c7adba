//! What became of a page: the closed list of invariant 6 (K 2.4's return codes, sharpened).
//!
//! What the web does is data: each of these is stored, counted and, through [`crate::Retry`], rescheduled. The codes
//! are written to disk and never change their meaning; new outcomes take new codes.

use std::fmt;

/// How one fetch, or the refusal to make it, ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// The server answered with this status.
    Answer(u16),
    /// The server answered with this status and a media type that is not wanted: the body was left.
    Unwanted(u16),
    /// The name does not exist (NXDOMAIN, NODATA).
    DnsNotFound,
    /// No name server gave a usable answer.
    DnsFailed,
    /// The address guard refused where the name led.
    AddressRefused,
    /// The connection was refused or the network unreachable.
    ConnectFailed,
    /// The connection was not made in time.
    ConnectTimeout,
    /// No TLS session could be agreed.
    TlsFailed,
    /// The answer was not complete in time.
    Timeout,
    /// Bytes came, but slower than the minimum speed.
    Stalled,
    /// The server ended the connection before the answer was complete.
    Reset,
    /// What came is no HTTP.
    Protocol,
    /// A redirect without a usable target.
    NoTarget,
    /// robots.txt forbids the page.
    RobotsRefused,
    /// robots.txt could not be read, so everything counts as forbidden for now.
    RobotsUnreachable,
    /// The user's black list, or a block on the site.
    Blocked,
    /// The scope no longer wants the page.
    OutOfScope,
}

impl Outcome {
    /// Code on disk, and the status that goes with it (0 where there is none).
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
        }
    }

    /// The outcome that [`Outcome::code`] wrote; `None` for a code this version does not know.
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
            _ => return None,
        })
    }

    /// The HTTP status, where a server gave one.
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
        };
        f.write_str(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for code in 0..=u8::MAX {
            let status = if matches!(code, 1 | 2) { 404 } else { 0 };
            if let Some(outcome) = Outcome::from_code(code, status) {
                assert_eq!(outcome.code(), (code, status));
                assert!(!outcome.to_string().is_empty());
            } else {
                assert!(code == 0 || code > 17, "code {code} was lost");
            }
        }
    }
}
