//! Determines the media type of a body. First step of [`read`](crate::read).
//!
//! The declared type is used unless the first bytes clearly contradict it. If the type is generic
//! (`application/octet-stream`) or missing, the type that the bytes suggest is used, or else the type of the file
//! extension. If the declaration is missing or replaced, a remark is added, so that a crawl can count such pages (T3).
//!
//! The rules are those of WHATWG MIME Sniffing, sections 5, 7 and 7.3, with two exceptions. The exceptions are
//! acceptable for a crawler, because a wrong guess may lose a link but is not a security risk. First, HTML that is
//! declared as `text/plain` or as binary is read as HTML if it opens like a document. Second, a body that is declared
//! as an image or archive but opens like an HTML document is read as HTML, because it is probably an error page.
//!
//! `sniff` examines the bytes; this module decides between its result and the header.

pub(crate) mod sniff;

use std::borrow::Cow;
use std::fmt;

use self::sniff::SniffResult;
use crate::PageRemark;

/// A media type without parameters, in lower case: `text/html`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MediaType(Cow<'static, str>);

impl MediaType {
    /// Content of unknown type.
    pub(crate) const BINARY: MediaType = MediaType(Cow::Borrowed("application/octet-stream"));
    pub(crate) const HTML: MediaType = MediaType(Cow::Borrowed("text/html"));
    pub(crate) const TEXT: MediaType = MediaType(Cow::Borrowed("text/plain"));

    /// Type and subtype in lower case, without parameters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the type is HTML or XHTML.
    pub fn is_html(&self) -> bool {
        matches!(self.as_str(), "text/html" | "application/xhtml+xml")
    }

    /// Whether the type is XML. XHTML, feeds and sitemaps are XML too.
    pub(crate) fn is_xml(&self) -> bool {
        is_xml(self.as_str())
    }

    /// Whether the type is one of the types of scripts (see [`is_script`]).
    pub fn is_script(&self) -> bool {
        is_script(self.as_str())
    }

    /// Whether the content consists of characters and so has a character set.
    pub(crate) fn is_text(&self) -> bool {
        let name = self.as_str();
        name.starts_with("text/")
            || self.is_xml()
            || self.is_script()
            || name.ends_with("+json")
            || name == "application/json"
    }

    /// Parses a `Content-Type` header. `None` if it contains no media type. In a list separated by commas, the last
    /// valid type counts (WHATWG Fetch, "extract a MIME type").
    fn from_header(header: &str) -> Option<MediaType> {
        header
            .rsplit(',')
            .find_map(|value| essence(value.split(';').next().unwrap_or_default()))
            .map(|name| MediaType(Cow::Owned(name)))
    }
}

impl Default for MediaType {
    fn default() -> Self {
        MediaType::BINARY
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MediaType({})", self.0)
    }
}

impl From<&'static str> for MediaType {
    fn from(name: &'static str) -> Self {
        MediaType(Cow::Borrowed(name))
    }
}

/// Whether a media type is `JavaScript` under one of its usual names (WHATWG MIME Sniffing, 4.6).
pub fn is_script(name: &str) -> bool {
    matches!(
        name,
        "text/javascript"
            | "application/javascript"
            | "application/x-javascript"
            | "text/ecmascript"
            | "application/ecmascript"
    )
}

/// Returns `type/subtype` in lower case if both consist of token characters.
fn essence(value: &str) -> Option<String> {
    let value = value.trim_matches([' ', '\t', '\r', '\n']);
    let (kind, subtype) = value.split_once('/')?;
    let is_token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    (is_token(kind) && is_token(subtype)).then(|| value.to_ascii_lowercase())
}

fn is_xml(name: &str) -> bool {
    name.ends_with("+xml") || matches!(name, "text/xml" | "application/xml")
}

/// Whether the type is one of the generic types, which servers send if they do not know the type.
fn is_generic(name: &str) -> bool {
    matches!(
        name,
        "application/octet-stream"
            | "binary/octet-stream"
            | "application/binary"
            | "application/download"
            | "application/x-download"
            | "application/force-download"
            | "application/unknown"
            | "unknown/unknown"
            | "*/*"
    )
}

/// Decides the media type of `body`. A missing or contradicted declaration gives a remark.
pub(crate) fn decide(
    header: Option<&str>,
    url: &str,
    body: &[u8],
    remarks: &mut Vec<PageRemark>,
) -> MediaType {
    let declared = header.and_then(MediaType::from_header);
    let extension = sniff::by_url(url);
    let sniffed = sniff::first_bytes(body);
    let Some(declared) = declared else {
        remarks.push(PageRemark::TypeMissing);
        return undeclared(extension, sniffed, body);
    };
    let Some(found) = overrule(declared.as_str(), extension, sniffed, body) else {
        return declared;
    };
    // No remark is made if both types are XML. A generic XML type is correct; the root element only gives a more
    // precise one.
    let both_xml = is_xml(declared.as_str()) && is_xml(found.as_str());
    if !both_xml && found != declared {
        remarks.push(PageRemark::TypeMismatch {
            declared: declared.to_string(),
            found: found.to_string(),
        });
    }
    found
}

/// The media type of an XML document. `None` if the body is not XML.
pub(crate) fn of_xml(body: &[u8]) -> Option<MediaType> {
    match sniff::first_bytes(body) {
        SniffResult::Xml(name) => Some(name.into()),
        _ => None,
    }
}

/// The type of content without a useful declaration.
fn undeclared(extension: Option<&'static str>, sniffed: SniffResult, body: &[u8]) -> MediaType {
    match sniffed {
        SniffResult::Document | SniffResult::Markup => MediaType::HTML,
        SniffResult::Xml(name) | SniffResult::Signature(name) => name.into(),
        SniffResult::Container(name) => extension.unwrap_or(name).into(),
        SniffResult::None => match extension {
            Some(name) if MediaType::from(name).is_text() == sniff::is_text(body) => name.into(),
            _ if body.is_empty() => extension.map_or(MediaType::BINARY, MediaType::from),
            _ if sniff::is_text(body) => MediaType::TEXT,
            _ => MediaType::BINARY,
        },
    }
}

/// The type that replaces the declared one. `None` if the declared type is kept.
fn overrule(
    declared: &str,
    extension: Option<&'static str>,
    sniffed: SniffResult,
    body: &[u8],
) -> Option<MediaType> {
    if is_generic(declared) {
        // Without a signature or file extension, the declared type is kept.
        return match sniffed {
            SniffResult::None if extension.is_none() => None,
            _ => Some(undeclared(extension, sniffed, body)),
        };
    }
    let html = matches!(declared, "text/html" | "application/xhtml+xml");
    match sniffed {
        SniffResult::Signature(name) if html || declared == "text/plain" => Some(name.into()),
        SniffResult::Signature(name) => (!same_type(declared, name)).then(|| name.into()),
        SniffResult::Container(name) => (html || declared == "text/plain").then(|| name.into()),
        // HTML source may be served as plain text on purpose. An extension such as .txt shows this intention.
        SniffResult::Document if declared == "text/plain" => match extension {
            Some("text/html" | "application/xhtml+xml") | None => Some(MediaType::HTML),
            Some(_) => None,
        },
        SniffResult::Document if is_xml(declared) && !html => Some(MediaType::HTML),
        SniffResult::Document => (!html).then_some(MediaType::HTML),
        // XHTML or generic XML that is served as HTML is read as HTML. A feed is read as a feed.
        SniffResult::Xml("application/xhtml+xml" | "text/xml") if html => None,
        // A fragment of HTML may begin with an inline SVG image.
        SniffResult::Xml("image/svg+xml") if declared == "text/html" => None,
        SniffResult::Xml(name) if html => Some(name.into()),
        SniffResult::Xml(name) if matches!(declared, "text/xml" | "application/xml") => {
            (name != "text/xml").then(|| name.into())
        }
        _ => None,
    }
}

/// Whether two names mean the same type (`image/jpg`, `image/jpeg`).
fn same_type(declared: &str, signature: &str) -> bool {
    let subtype = |name: &str| {
        let name = name.split_once('/').map_or(name, |(_, subtype)| subtype);
        name.trim_start_matches("x-")
            .trim_start_matches("vnd.")
            .to_owned()
    };
    declared == signature
        || subtype(declared) == subtype(signature)
        || matches!(
            (declared, signature),
            ("image/jpg" | "image/pjpeg", "image/jpeg")
                | ("image/vnd.microsoft.icon" | "image/ico", "image/x-icon")
                | ("image/x-ms-bmp" | "image/x-bmp", "image/bmp")
                | ("text/rtf" | "application/msword", "application/rtf")
                | ("audio/mp3" | "audio/x-mp3" | "audio/mpeg3", "audio/mpeg")
                | ("audio/wave" | "audio/x-wav", "audio/wav")
                | ("application/x-pdf", "application/pdf")
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: Option<&str>, url: &str, body: &[u8], expected: &str, remarked: bool) {
        let mut remarks = Vec::new();
        let found = decide(header, url, body, &mut remarks);
        assert_eq!(
            found.as_str(),
            expected,
            "{header:?} {url} {:?}",
            body.escape_ascii().to_string()
        );
        let mismatch = remarks
            .iter()
            .any(|remark| matches!(remark, PageRemark::TypeMismatch { .. }));
        assert_eq!(mismatch, remarked, "{header:?} {url}");
    }

    const PAGE: &[u8] = b"\n<!-- hello -->\n<!DOCTYPE html><html><head>";
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn correct_declarations_are_kept() {
        check(
            Some("text/html; charset=utf-8"),
            "http://a/",
            PAGE,
            "text/html",
            false,
        );
        check(
            Some("TEXT/HTML"),
            "http://a/x.pdf",
            b"just words",
            "text/html",
            false,
        );
        check(Some("image/png"), "http://a/x", PNG, "image/png", false);
        check(Some("image/x-png"), "http://a/x", PNG, "image/x-png", false);
        check(
            Some("text/css"),
            "http://a/x.css",
            b"a{b:c}",
            "text/css",
            false,
        );
        check(
            Some("application/vnd.oasis.opendocument.text"),
            "http://a/x",
            b"PK\x03\x04zip",
            "application/vnd.oasis.opendocument.text",
            false,
        );
        check(
            Some("text/plain"),
            "http://a/x",
            b"BM is a brand, GIF is not",
            "text/plain",
            false,
        );
    }

    #[test]
    fn wrong_declarations_are_corrected() {
        check(Some("text/plain"), "http://a/x", PAGE, "text/html", true);
        check(
            Some("application/octet-stream"),
            "http://a/x",
            PAGE,
            "text/html",
            true,
        );
        check(
            Some("image/jpeg"),
            "http://a/x.jpg",
            PAGE,
            "text/html",
            true,
        );
        check(Some("text/css"), "http://a/x.css", PAGE, "text/html", true);
        check(Some("text/html"), "http://a/x", PNG, "image/png", true);
        check(Some("image/jpeg"), "http://a/x.jpg", PNG, "image/png", true);
        check(
            Some("text/html"),
            "http://a/x",
            b"%PDF-1.4\n",
            "application/pdf",
            true,
        );
        check(
            Some("text/html"),
            "http://a/x",
            b"<?xml version='1.0'?>\n<rss version='2.0'>",
            "application/rss+xml",
            true,
        );
        check(
            Some("text/html"),
            "http://a/x",
            b"<svg hidden><symbol id=a></symbol></svg><!doctype html><p>",
            "text/html",
            false,
        );
        check(
            Some("application/octet-stream"),
            "http://a/x.docx",
            b"PK\x03\x04",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            true,
        );
        check(
            Some("application/xml"),
            "http://a/x",
            b"<!doctype html><p>",
            "text/html",
            true,
        );
    }

    #[test]
    fn html_source_with_another_extension_stays_plain_text() {
        check(
            Some("text/plain"),
            "http://a/index.txt",
            PAGE,
            "text/plain",
            false,
        );
        check(
            Some("text/plain"),
            "http://a/index.html?raw",
            PAGE,
            "text/html",
            true,
        );
        check(
            Some("text/plain"),
            "http://a/x",
            b"<p>a fragment",
            "text/plain",
            false,
        );
    }

    #[test]
    fn xml_is_made_precise_without_a_remark() {
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- c -->\n";
        let xml = |root: &str| format!("{head}{root}");
        check(
            Some("text/xml"),
            "http://a/",
            xml("<feed xmlns='x'>").as_bytes(),
            "application/atom+xml",
            false,
        );
        check(
            Some("application/xml"),
            "http://a/",
            xml("<urlset>").as_bytes(),
            "application/sitemap+xml",
            false,
        );
        check(
            Some("application/xml"),
            "http://a/",
            xml("<sitemapindex >").as_bytes(),
            "application/sitemap+xml",
            false,
        );
        check(
            Some("application/xml"),
            "http://a/",
            xml("<html xmlns='x'>").as_bytes(),
            "application/xhtml+xml",
            false,
        );
        check(
            Some("text/html"),
            "http://a/",
            xml("<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML'><html>").as_bytes(),
            "text/html",
            false,
        );
        check(
            Some("application/xhtml+xml"),
            "http://a/",
            xml("<html>").as_bytes(),
            "application/xhtml+xml",
            false,
        );
        check(
            Some("text/xml"),
            "http://a/",
            xml("<note>").as_bytes(),
            "text/xml",
            false,
        );
    }

    #[test]
    fn missing_declarations_are_guessed() {
        check(None, "http://a/", PAGE, "text/html", false);
        check(None, "http://a/", b"<p>fragment</p>", "text/html", false);
        check(Some("nonsense"), "http://a/", b"words", "text/plain", false);
        check(None, "http://a/s.css", b"a{}", "text/css", false);
        check(
            None,
            "http://a/s.css",
            b"\0\x01\x02",
            "application/octet-stream",
            false,
        );
        check(None, "http://a/x.pdf", b"", "application/pdf", false);
        check(None, "http://a/", b"", "application/octet-stream", false);
        check(
            Some("text/html, application/json"),
            "http://a/",
            b"{}",
            "application/json",
            false,
        );
    }
}
