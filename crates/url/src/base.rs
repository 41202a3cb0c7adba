//! The base against which a page's links are read: its own URL, or what `<base href>` makes of it (HTML, 4.2.3).
//!
//! Parsed once per page; [`crate::Canonicaliser::join`] is then called for every link.

use url::Url;

use crate::canonical::CanonUrl;

/// A parsed base URL; always http or https with a host.
#[derive(Clone, Debug)]
pub struct Base {
    pub(crate) url: Url,
}

impl Base {
    /// The page's own URL as base.
    pub fn of(url: &CanonUrl) -> Base {
        Base {
            url: Url::parse(url.as_str()).expect("canonical text parses: it was made by a parser"),
        }
    }

    /// The base after `<base href>`; the same base where that is unusable (malformed, or not http and https),
    /// as browsers do.
    #[must_use]
    pub fn with_href(&self, base_href: &str) -> Base {
        match self.url.join(base_href) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Base { url },
            _ => self.clone(),
        }
    }
}
