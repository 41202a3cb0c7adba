//! The base against which a page's links are read: its own URL, or what `<base href>` makes of it (HTML, 4.2.3).
//!
//! Made once per page; [`crate::Canonicaliser::join`] is then called for every link. Most links are plain, and
//! then the answer is a piece of this base's text with the link behind it (see `plain.rs`): the parser is asked for the
//! first one that is not.

use std::borrow::Cow;
use std::sync::OnceLock;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::Url;

use crate::canonical::{CanonUrl, PartOffsets};
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
    /// In which queries are written, where that is not UTF-8.
    encoding: Option<&'static Encoding>,
}

/// A base in canonical spelling, cut into the pieces that plain links go on from.
#[derive(Clone, Debug)]
pub(crate) struct PlainBase {
    /// The whole URL without fragment.
    pub(crate) text: String,
    /// With `site` as the public suffix list has it; the canonicaliser takes it back where folding is off.
    pub(crate) place: PartOffsets,
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
                encoding: None,
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
                Base {
                    encoding: self.encoding,
                    ..Base::new(url)
                }
            }
            _ => self.clone(),
        }
    }

    /// The base in a page of this character set, by its name: what a query has outside ASCII is percent-encoded in it, as
    /// browsers do (WHATWG URL, 4.4, "query state").
    #[must_use]
    pub fn with_charset(self, charset: &str) -> Base {
        if charset == UTF_8.name() {
            return Base {
                encoding: None,
                ..self
            };
        }
        let encoding = Encoding::for_label(charset.as_bytes()).map(Encoding::output_encoding);
        Base {
            encoding: encoding.filter(|encoding| *encoding != UTF_8),
            ..self
        }
    }

    /// What a link's target depends on besides the link itself: the page's directory, its origin, or nothing. With two bases
    /// that agree in this a link makes the same URL. `None` where it is not as simple as that. `colon`: there is one in the link.
    pub fn part(&self, href: &str, colon: bool) -> Option<&str> {
        debug_assert_eq!(colon, href.contains(':'));
        if self.query_encoding(href).is_some() {
            return None;
        }
        if colon && (href.starts_with("http://") || href.starts_with("https://")) {
            return Some("");
        }
        let base = self.plain.as_ref()?;
        let end = match href.bytes().next()? {
            b'/' => base.place.path as usize,
            b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' if !colon => base.directory_end,
            _ => return None,
        };
        Some(&base.text[..end])
    }

    /// A link as an absolute URL, with its fragment and not made canonical: what a browser would go to. `None` when it is
    /// no URL.
    pub fn absolute(&self, href: &str) -> Option<String> {
        self.parse(href).ok().map(String::from)
    }

    /// A link by the parser.
    pub(crate) fn parse(&self, href: &str) -> Result<Url, url::ParseError> {
        match self.query_encoding(href) {
            None => self.url().join(href),
            Some(encoding) => Url::options()
                .base_url(Some(self.url()))
                .encoding_override(Some(&|query| encode(encoding, query)))
                .parse(href),
        }
    }

    /// The encoding of a link's query, where that makes a difference.
    fn query_encoding(&self, href: &str) -> Option<&'static Encoding> {
        let encoding = self.encoding?;
        let page = href.split_once('#').map_or(href, |(page, _)| page);
        let (_, query) = page.split_once('?')?;
        (!query.is_ascii()).then_some(encoding)
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
            encoding: None,
        }
    }
}

/// A query in an encoding; what that cannot say becomes a reference, percent-encoded (WHATWG URL, 1.3, "percent-encode after
/// encoding").
fn encode<'a>(encoding: &'static Encoding, query: &'a str) -> Cow<'a, [u8]> {
    let (bytes, _, unmappable) = encoding.encode(query);
    if !unmappable {
        return bytes;
    }
    let (mut encoder, mut out, mut rest) = (encoding.new_encoder(), Vec::new(), query);
    loop {
        out.reserve(rest.len() + 16);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return out.into(),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                out.extend(format!("%26%23{}%3B", u32::from(character)).bytes());
            }
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
    fn cut(text: String, place: PartOffsets, path: usize) -> Option<PlainBase> {
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
