//! The base URL of a page's links: the page's own URL, or the one given by `<base href>` (HTML, 4.2.3).
//!
//! A base is made once per page, and [`crate::Canonicaliser::join`] is called for every link. For a plain link the
//! result is a prefix of the base's text followed by the link (`plain.rs`). The base is parsed only when the first link
//! that is not plain occurs.

use std::borrow::Cow;
use std::sync::OnceLock;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::Url;

use crate::canonical::{CanonUrl, PartOffsets};
use crate::canonicaliser::MAX_TEXT_LENGTH;
use crate::origin;
use crate::percent;
use crate::site;

/// A base URL; always http or https with a host.
#[derive(Clone, Debug)]
pub struct Base {
    /// The parsed base, for links that are not plain. It is parsed on first use, or immediately if `plain` is `None`.
    parsed: OnceLock<Url>,
    /// The text of the base, for plain links; `None` if the base itself is not canonical.
    pub(crate) plain: Option<PlainBase>,
    /// Character encoding of queries, if it is not UTF-8.
    encoding: Option<&'static Encoding>,
}

/// A canonical base with the offsets at which plain links are appended.
#[derive(Clone, Debug)]
pub(crate) struct PlainBase {
    /// The whole URL without fragment.
    pub(crate) text: String,
    /// Offsets into `text`, computed as if folding of `www.` were on. If folding is off, the canonicaliser moves the
    /// start of the site name back to the start of the host.
    pub(crate) offsets: PartOffsets,
    /// End of the path, before the query.
    pub(crate) path_end: usize,
    /// Offset after the last `/` of the path.
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

    /// The base with `<base href>` applied. The href is ignored if it is malformed, has a scheme other than http and
    /// https (browsers ignore it too), or gives a URL of more than 64 KiB.
    #[must_use]
    pub fn with_href(&self, base_href: &str) -> Base {
        match self.url().join(base_href) {
            Ok(url)
                if matches!(url.scheme(), "http" | "https")
                    && url.as_str().len() <= MAX_TEXT_LENGTH =>
            {
                Base {
                    encoding: self.encoding,
                    ..Base::new(url)
                }
            }
            _ => self.clone(),
        }
    }

    /// Sets the character set of the page. Characters outside ASCII in the query of a link are converted to this
    /// character set and then percent-encoded, as in browsers (WHATWG URL, 4.4, "query state").
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

    /// The part of the base that the target of a link depends on: the directory of the page, its origin, or the empty
    /// string. Bases that share this part give the same URL for the link. `None` if the part cannot be determined with
    /// certainty. `colon` says whether the link contains a colon.
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
            b'/' => base.offsets.path as usize,
            b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' if !colon => base.directory_end,
            _ => return None,
        };
        Some(&base.text[..end])
    }

    /// The absolute URL of a link as a browser resolves it. It includes the fragment and is not canonicalised. `None`
    /// if the link is malformed.
    pub fn absolute(&self, href: &str) -> Option<String> {
        self.parse(href).ok().map(String::from)
    }

    /// Resolves a link with the parser.
    pub(crate) fn parse(&self, href: &str) -> Result<Url, url::ParseError> {
        match self.query_encoding(href) {
            None => self.url().join(href),
            Some(encoding) => Url::options()
                .base_url(Some(self.url()))
                .encoding_override(Some(&|query| encode(encoding, query)))
                .parse(href),
        }
    }

    /// The encoding of a link's query, if it is not UTF-8 and the query is not ASCII.
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
            plain.expect("parsed immediately if there is no plain base")
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

/// Encodes a query. A character that the encoding lacks becomes a percent-encoded character reference (WHATWG URL, 1.3,
/// "percent-encode after encoding").
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
    Url::parse(text).expect("canonical text is parseable (property test)")
}

impl PlainBase {
    /// Builds the base from a canonical URL, without parsing it.
    fn of(url: &CanonUrl) -> Option<PlainBase> {
        let (text, mut offsets) = (url.as_str().to_owned(), url.offsets());
        let start = offsets.scheme.authority_start();
        offsets.site = start as u32 + site::folded(&text[start..offsets.host_end as usize]);
        let rest = &text[offsets.path as usize..];
        // A stored path may be older than the current rules. If it is not canonical, the parser is used.
        if !percent::is_normal(rest) || rest.contains("/.") {
            return None;
        }
        let path = memchr::memchr(b'?', rest.as_bytes()).unwrap_or(rest.len());
        PlainBase::cut(text, offsets, path)
    }

    fn new(url: &Url) -> Option<PlainBase> {
        let (mut text, offsets) = origin::write(url, true, url.as_str().len()).ok()?;
        let rest = &url[url::Position::BeforePath..];
        if !percent::is_normal(rest) {
            return None;
        }
        text.push_str(rest);
        PlainBase::cut(text, offsets, url.path().len())
    }

    /// Creates the base and finds the ends of its path and directory. `path` is the length of the path in bytes.
    fn cut(text: String, offsets: PartOffsets, path: usize) -> Option<PlainBase> {
        let path_end = offsets.path as usize + path;
        let directory_end = memchr::memrchr(b'/', &text.as_bytes()[..path_end])? + 1;
        Some(PlainBase {
            text,
            offsets,
            path_end,
            directory_end,
        })
    }
}
