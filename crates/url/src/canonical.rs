//! [`CanonUrl`]: one canonical URL, one allocation, its parts as offsets into the text.
//!
//! Made only by the [`crate::Canonicaliser`], so whoever holds one need not ask whether it is valid: the scheme is
//! http or https, the host is not empty, the path begins with `/`, and there is neither fragment nor credentials.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::key::{PageKey, PathKey, SiteKey};

/// The two schemes that are crawled.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain text, port 80.
    Http,
    /// Under TLS, port 443.
    Https,
}

impl Scheme {
    /// As it stands in the URL, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port that is left out of the canonical text.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// Where the authority begins: after `http://` or `https://`.
    pub(crate) fn authority_start(self) -> usize {
        self.as_str().len() + "://".len()
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A canonical URL. Equality and order are those of the text; pages are compared by [`CanonUrl::key`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonUrl {
    text: String,
    place: PartOffsets,
}

/// Where the authority's parts stand in the text, and the port they mean. A link within the same origin takes
/// over its page's place: nothing about the host is looked up twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PartOffsets {
    pub(crate) scheme: Scheme,
    pub(crate) port: u16,
    /// Start of the site's name: the host's, or four bytes later where `www.` is folded.
    pub(crate) site: u32,
    pub(crate) host_end: u32,
    pub(crate) path: u32,
}

impl CanonUrl {
    /// The canonicaliser's last step; `place` must describe `text`.
    pub(crate) fn assemble(text: String, place: PartOffsets) -> CanonUrl {
        debug_assert_eq!(text.as_bytes().get(place.path as usize), Some(&b'/'));
        CanonUrl { text, place }
    }

    pub(crate) fn place(&self) -> PartOffsets {
        self.place
    }

    /// The site's name without a port.
    pub(crate) fn site_host(&self) -> &str {
        &self.text[self.place.site as usize..self.place.host_end as usize]
    }

    /// Everything behind `://`.
    pub(crate) fn below_scheme(&self) -> &str {
        &self.text[self.place.scheme.authority_start()..]
    }

    /// The same from the site's name on: without a `www.` that is folded.
    pub(crate) fn below_www(&self) -> &str {
        &self.text[self.place.site as usize..]
    }

    /// The whole URL: no fragment, no credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, whose memory the next URL may use.
    pub fn into_string(self) -> String {
        self.text
    }

    /// http or https.
    pub fn scheme(&self) -> Scheme {
        self.place.scheme
    }

    /// The host in its canonical spelling, `www.` included; an IPv6 address keeps its brackets.
    pub fn host(&self) -> &str {
        &self.text[self.place.scheme.authority_start()..self.place.host_end as usize]
    }

    /// The effective port, also where the text leaves it out.
    pub fn port(&self) -> u16 {
        self.place.port
    }

    /// `host[:port]`, the default port left out: what the `Host` header says.
    pub fn authority(&self) -> &str {
        &self.text[self.place.scheme.authority_start()..self.place.path as usize]
    }

    /// Scheme and authority: `https://www.example.org`.
    pub fn origin(&self) -> &str {
        &self.text[..self.place.path as usize]
    }

    /// Path and query: the request target. Begins with `/`.
    pub fn path(&self) -> &str {
        &self.text[self.place.path as usize..]
    }

    /// The path alone, up to the `?`.
    pub fn path_only(&self) -> &str {
        let path = self.path();
        memchr::memchr(b'?', path.as_bytes()).map_or(path, |mark| &path[..mark])
    }

    /// The query without its `?`; none when the URL has none.
    pub fn query(&self) -> Option<&str> {
        let path = self.path();
        memchr::memchr(b'?', path.as_bytes()).map(|mark| &path[mark + 1..])
    }

    /// The site this URL belongs to: the authority, with `www.` folded where U3 says so. http and https on their
    /// default ports are one site; a port that is written is part of the name (`example.org:8080`).
    pub fn site(&self) -> &str {
        &self.text[self.place.site as usize..self.place.path as usize]
    }

    /// First half of the key: of [`CanonUrl::site`].
    pub fn site_key(&self) -> SiteKey {
        SiteKey::of(self.site())
    }

    /// Second half of the key. Scheme and `www.` do not enter it: the twins are one page.
    pub fn path_key(&self) -> PathKey {
        PathKey::of(self.path())
    }

    /// The page's two-level key.
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
