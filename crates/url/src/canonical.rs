//! [`CanonUrl`]: a canonical URL in one allocation, with its parts as offsets into the text.
//!
//! Only the [`crate::Canonicaliser`] creates canonical URLs. The scheme is always http or https, the host is not empty,
//! the path begins with `/`, and there is neither a fragment nor credentials.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::key::{PageKey, PathKey, SiteKey};

/// The schemes that are crawled.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `http`, default port 80.
    Http,
    /// `https`, default port 443.
    Https,
}

impl Scheme {
    /// The scheme in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port that canonical text omits.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// Offset of the authority, after `http://` or `https://`.
    pub(crate) fn authority_start(self) -> usize {
        self.as_str().len() + "://".len()
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A canonical URL. URLs are compared by their text. To find out whether two URLs are the same page, compare
/// [`CanonUrl::key`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonUrl {
    text: String,
    offsets: PartOffsets,
}

/// Offsets of the authority's parts in the text, and the effective port. A link within the same origin reuses the
/// offsets of its page, so that the host is examined once per page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PartOffsets {
    pub(crate) scheme: Scheme,
    pub(crate) port: u16,
    /// Start of the site name: the start of the host, or four bytes later if `www.` is folded.
    pub(crate) site: u32,
    pub(crate) host_end: u32,
    pub(crate) path: u32,
}

impl CanonUrl {
    /// Creates a URL, as the last step of the canonicaliser. `offsets` must describe `text`.
    pub(crate) fn assemble(text: String, offsets: PartOffsets) -> CanonUrl {
        debug_assert_eq!(text.as_bytes().get(offsets.path as usize), Some(&b'/'));
        CanonUrl { text, offsets }
    }

    pub(crate) fn offsets(&self) -> PartOffsets {
        self.offsets
    }

    /// The site name without its port.
    pub(crate) fn site_host(&self) -> &str {
        &self.text[self.offsets.site as usize..self.offsets.host_end as usize]
    }

    /// The text after `://`.
    pub(crate) fn below_scheme(&self) -> &str {
        &self.text[self.offsets.scheme.authority_start()..]
    }

    /// The text from the start of the site name, without a folded `www.`.
    pub(crate) fn below_www(&self) -> &str {
        &self.text[self.offsets.site as usize..]
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text, so that the next URL can reuse its allocation.
    pub fn into_string(self) -> String {
        self.text
    }

    /// http or https.
    pub fn scheme(&self) -> Scheme {
        self.offsets.scheme
    }

    /// The canonical host, including `www.`; an IPv6 address keeps its brackets.
    pub fn host(&self) -> &str {
        &self.text[self.offsets.scheme.authority_start()..self.offsets.host_end as usize]
    }

    /// The effective port, even if the text omits it.
    pub fn port(&self) -> u16 {
        self.offsets.port
    }

    /// `host[:port]` without the default port: the value of the `Host` header.
    pub fn authority(&self) -> &str {
        &self.text[self.offsets.scheme.authority_start()..self.offsets.path as usize]
    }

    /// Scheme and authority: `https://www.example.org`.
    pub fn origin(&self) -> &str {
        &self.text[..self.offsets.path as usize]
    }

    /// Path and query, the request target. Begins with `/`.
    pub fn path(&self) -> &str {
        &self.text[self.offsets.path as usize..]
    }

    /// The path without the query.
    pub fn path_only(&self) -> &str {
        let path = self.path();
        memchr::memchr(b'?', path.as_bytes()).map_or(path, |mark| &path[..mark])
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&str> {
        let path = self.path();
        memchr::memchr(b'?', path.as_bytes()).map(|mark| &path[mark + 1..])
    }

    /// The site of this URL: the authority, with `www.` folded according to U3. http and https on their default ports
    /// are one site. Any other port is part of the name (`example.org:8080`).
    pub fn site(&self) -> &str {
        &self.text[self.offsets.site as usize..self.offsets.path as usize]
    }

    /// First half of the key: the hash of [`CanonUrl::site`].
    pub fn site_key(&self) -> SiteKey {
        SiteKey::of(self.site())
    }

    /// Second half of the key: the hash of [`CanonUrl::path`]. Twins have equal keys.
    pub fn path_key(&self) -> PathKey {
        PathKey::of(self.path())
    }

    /// The two-level key of the page.
    pub fn key(&self) -> PageKey {
        PageKey {
            site: self.site_key(),
            path: self.path_key(),
        }
    }
}

impl fmt::Display for CanonUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for CanonUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, out)
    }
}

impl AsRef<str> for CanonUrl {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl Serialize for CanonUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
