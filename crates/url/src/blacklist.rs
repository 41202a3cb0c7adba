//! Black lists of URLs, domains and address ranges (U11).

use std::net::IpAddr;

use crate::canonical::CanonUrl;

/// What must never be asked for, whatever the scope says.
#[derive(Clone, Debug, Default)]
pub struct Blacklist {}

/// A line that is no entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("black list, line {line}: {problem}")]
pub struct BlacklistError {
    /// Counted from 1.
    pub line: usize,
    /// One sentence, the entry inside.
    pub problem: String,
}

impl Blacklist {
    /// One entry a line: a URL, a domain (its subdomains included), an address or a range in CIDR form.
    pub fn parse_lines(_text: &str) -> Result<Blacklist, BlacklistError> {
        Ok(Blacklist::default())
    }

    /// The entry that names this URL or its domain.
    pub fn url(&self, _url: &CanonUrl) -> Option<&str> {
        None
    }

    /// The entry whose range holds this address.
    pub fn address(&self, _address: IpAddr) -> Option<&str> {
        None
    }

    /// No entries at all.
    pub fn is_empty(&self) -> bool {
        true
    }
}
