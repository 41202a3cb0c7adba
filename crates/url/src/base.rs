//! The base against which a page's links are read: its own URL, or what `<base href>` makes of it (HTML, 4.2.3).
//!
//! Made once per page; [`crate::Canonicaliser::join`] is then called for every link. Most links are plain, and
//! then the answer is a piece of this base's text with the link behind it (see `plain.rs`): the parser is asked for the
//! first one that is not.

use std::sync::OnceLock;

use url::Url;

use crate::canonical::{CanonUrl, Place};
use crate::canonicaliser::LONGEST_TEXT;
use crate::origin;
use crate::percent;
use crate::site;

/// A base URL; always http or https with a host.
#[derive(Clone, Debug)]
pub struct Base {
    /// For the slow path, which leaves every oddity to the parser. Parsed when it is needed, or at once where there is no
    /// `plain`.
    parsed: OnceLock<Url>,
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
    pub fn of(url: &CanonUrl) -> Base {
        match PlainBase::of(url) {
            Some(plain) => Base {
                parsed: OnceLock::new(),
                plain: Some(plain),
            },
            None => Base::new(parse(url.as_str())),
        }
    }

    /// The base after `<base href>`; the same base where that is unusable (malformed, or not http and https),
    /// as browsers do, or so long that no link could be made with it.
    #[must_use]
    pub fn with_href(&self, base_href: &str) -> Base {
        match self.url().join(base_href) {
            Ok(url)
                if matches!(url.scheme(), "http" | "https")
                    && url.as_str().len() <= LONGEST_TEXT =>
            {
                Base::new(url)
            }
            _ => self.clone(),
        }
    }

    /// What a link's target depends on besides the link itself: the page's directory, its origin, or nothing. With two bases
    /// that agree in this a link makes the same URL. `None` where it is not as simple as that.
    pub fn part(&self, href: &str) -> Option<&str> {
        if href.starts_with("http://") || href.starts_with("https://") {
            return Some("");
        }
        let base = self.plain.as_ref()?;
        let end = match href.bytes().next()? {
            b'/' => base.place.path as usize,
            b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' if !href.contains(':') => {
                base.directory_end
            }
            _ => return None,
        };
        Some(&base.text[..end])
    }

    /// A link as an absolute URL, with its fragment and not made canonical: what a browser would go to. `None` when it is
    /// no URL.
    pub fn absolute(&self, href: &str) -> Option<String> {
        self.url().join(href).ok().map(String::from)
    }

    pub(crate) fn url(&self) -> &Url {
        let text = |plain: &PlainBase| parse(&plain.text);
        self.parsed.get_or_init(|| {
            let plain = self.plain.as_ref().map(text);
            plain.expect("parsed at once where there is no plain base")
        })
    }

    fn new(mut url: Url) -> Base {
        url.set_fragment(None);
        let plain = PlainBase::new(&url);
        Base {
            parsed: url.into(),
            plain,
        }
    }
}

fn parse(text: &str) -> Url {
    Url::parse(text).expect("canonical text parses: a property test holds it")
}

impl PlainBase {
    /// What is canonical needs no parser to be cut.
    fn of(url: &CanonUrl) -> Option<PlainBase> {
        let (text, mut place) = (url.as_str().to_owned(), url.place());
        let start = place.scheme.authority_start();
        place.site = start as u32 + site::folded(&text[start..place.host_end as usize]);
        let rest = &text[place.path as usize..];
        // A stored path is believed to be canonical; one that is not is for the parser.
        if !percent::is_normal(rest) || rest.contains("/.") {
            return None;
        }
        let path = memchr::memchr(b'?', rest.as_bytes()).unwrap_or(rest.len());
        PlainBase::cut(text, place, path)
    }

    fn new(url: &Url) -> Option<PlainBase> {
        let (mut text, place) = origin::write(url, true, url.as_str().len()).ok()?;
        let rest = &url[url::Position::BeforePath..];
        if !percent::is_normal(rest) {
            return None;
        }
        text.push_str(rest);
        PlainBase::cut(text, place, url.path().len())
    }

    /// `path`: its length.
    fn cut(text: String, place: Place, path: usize) -> Option<PlainBase> {
        let path_end = place.path as usize + path;
        let directory_end = memchr::memrchr(b'/', &text.as_bytes()[..path_end])? + 1;
        Some(PlainBase {
            text,
            place,
            path_end,
            directory_end,
        })
    }
}
