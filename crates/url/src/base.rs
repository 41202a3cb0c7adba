//! The base against which a page's links are read: its own URL, or what `<base href>` makes of it (HTML, 4.2.3).
//!
//! Parsed once per page; [`crate::Canonicaliser::join`] is then called for every link. Most links are plain, and
//! then the answer is a piece of this base's text with the link behind it (see `plain.rs`).

use url::Url;

use crate::canonical::{CanonUrl, Place};
use crate::origin;
use crate::percent;

/// A parsed base URL; always http or https with a host.
#[derive(Clone, Debug)]
pub struct Base {
    /// For the slow path, which leaves every oddity to the parser.
    pub(crate) url: Url,
    /// For plain links; none where the base itself is not in canonical spelling.
    pub(crate) plain: Option<PlainBase>,
}

/// A base in canonical spelling, cut into the pieces that plain links go on from.
#[derive(Clone, Debug)]
pub(crate) struct PlainBase {
    /// The whole URL without fragment.
    pub(crate) text: String,
    /// With `site` as the public suffix list has it; the canonicaliser takes it back where folding is off.
    pub(crate) place: Place,
    /// End of the path, where the query begins.
    pub(crate) path_end: usize,
    /// Behind the path's last `/`.
    pub(crate) directory_end: usize,
}

impl Base {
    /// The page's own URL as base.
    #[expect(
        clippy::missing_panics_doc,
        reason = "canonical text always parses: a property test holds it"
    )]
    pub fn of(url: &CanonUrl) -> Base {
        let url =
            Url::parse(url.as_str()).expect("canonical text parses: it was made from a parsed URL");
        Base::new(url)
    }

    /// The base after `<base href>`; the same base where that is unusable (malformed, or not http and https),
    /// as browsers do.
    #[must_use]
    pub fn with_href(&self, base_href: &str) -> Base {
        match self.url.join(base_href) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Base::new(url),
            _ => self.clone(),
        }
    }

    /// A link as an absolute URL, with its fragment and not made canonical: what a browser would go to. `None` when it is
    /// no URL.
    pub fn absolute(&self, href: &str) -> Option<String> {
        self.url.join(href).ok().map(String::from)
    }

    fn new(mut url: Url) -> Base {
        url.set_fragment(None);
        let plain = PlainBase::new(&url);
        Base { url, plain }
    }
}

impl PlainBase {
    fn new(url: &Url) -> Option<PlainBase> {
        let (mut text, place) = origin::write(url, true, url.as_str().len()).ok()?;
        let rest = &url[url::Position::BeforePath..];
        if !percent::is_normal(rest) {
            return None;
        }
        text.push_str(rest);
        let path_end = place.path as usize + url.path().len();
        let directory_end = memchr::memrchr(b'/', &text.as_bytes()[..path_end])? + 1;
        Some(PlainBase {
            text,
            place,
            path_end,
            directory_end,
        })
    }
}
