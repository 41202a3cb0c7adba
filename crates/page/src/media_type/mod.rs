//! Determines the media type of a body. First step of [`read`](crate::read).
//!
//! The declared type is used unless the first bytes clearly contradict it. A generic type (`application/octet-stream`) or a
//! missing one is replaced by the type that the bytes suggest, then by that of the file extension. Replacements are
//! remarked, so that a crawl can count false declarations (T3).
//!
//! The rules are those of WHATWG MIME Sniffing, sections 5, 7 and 7.3, with two exceptions. For a crawler, a wrong guess
//! is a missed link and not a security risk. HTML that is declared as `text/plain` or as binary is read as HTML if it opens
//! like a document. An image or archive that opens like an HTML document is read as the error page it probably is.
//!
//! `sniff` examines the bytes; this module weighs its result against the header.

use std::borrow::Cow;
use std::fmt;

use self::sniff::SniffResult;
use crate::PageRemark;
pub(crate) mod sniff;

/// A media type without parameters, in lower case: `text/html`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MediaType(Cow<'static, str>);

impl MediaType {
    /// Bytes that nobody could put a name to.
    pub const BINARY: MediaType = MediaType(Cow::Borrowed("application/octet-stream"));
    /// HTML.
    pub const HTML: MediaType = MediaType(Cow::Borrowed("text/html"));
    /// XHTML: read as HTML, except that `/>` ends any element.
    pub const XHTML: MediaType = MediaType(Cow::Borrowed("application/xhtml+xml"));
    /// Plain text.
    pub const TEXT: MediaType = MediaType(Cow::Borrowed("text/plain"));
    /// A sitemap or an index of sitemaps. The name is aranha's own: servers say `application/xml`.
    pub const SITEMAP: MediaType = MediaType(Cow::Borrowed("application/sitemap+xml"));

    /// Type and subtype, lower case, no parameters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// HTML or XHTML: what links are read from.
    pub fn is_html(&self) -> bool {
        matches!(self.as_str(), "text/html" | "application/xhtml+xml")
    }

    /// Any XML, feeds and sitemaps and XHTML included.
    pub fn is_xml(&self) -> bool {
        is_xml(self.as_str())
    }

    /// Made of characters, so that a character set means something.
    pub fn is_text(&self) -> bool {
        let name = self.as_str();
        name.starts_with("text/")
            || self.is_xml()
            || name.ends_with("+json")
            || matches!(
                name,
                "application/json"
                    | "application/javascript"
                    | "application/x-javascript"
                    | "application/ecmascript"
            )
    }

    /// Reads a `Content-Type` header: the type without its parameters, `None` when it has no such form. Of several
    /// types joined by commas the last good one counts (WHATWG Fetch, "extract a MIME type").
    pub fn declared(header: &str) -> Option<MediaType> {
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

/// `type/subtype` made of token characters, lower case.
fn essence(value: &str) -> Option<String> {
    let value = value.trim_matches([' ', '\t', '\r', '\n']);
    let (kind, subtype) = value.split_once('/')?;
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    (token(kind) && token(subtype)).then(|| value.to_ascii_lowercase())
}

fn is_xml(name: &str) -> bool {
    name.ends_with("+xml") || matches!(name, "text/xml" | "application/xml")
}

/// Types that declare nothing: servers send them when they do not know.
fn is_empty_word(name: &str) -> bool {
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

/// Decides the media type of `body`, remarking what had to be repaired.
pub(crate) fn decide(
    header: Option<&str>,
    url: &str,
    body: &[u8],
    remarks: &mut Vec<PageRemark>,
) -> (MediaType, Option<String>) {
    let declared = header.and_then(MediaType::declared);
    let extension = sniff::extension(url);
    let evidence = sniff::evidence(body);
    let Some(declared) = declared else {
        remarks.push(PageRemark::TypeMissing);
        return (undeclared(extension, evidence, body), None);
    };
    let found = overrule(declared.as_str(), extension, evidence, body);
    let media_type = match found {
        None => declared.clone(),
        Some(found) => {
            // A generic XML type is not a lie: the root element only makes it precise.
            let precise = is_xml(declared.as_str()) && is_xml(found.as_str());
            if !precise && found != declared {
                remarks.push(PageRemark::TypeMismatch {
                    declared: declared.to_string(),
                    found: found.to_string(),
                });
            }
            found
        }
    };
    (media_type, Some(declared.0.into_owned()))
}

/// The type of what was inside a packed file: XML or nothing that is read.
pub(crate) fn inside(body: &[u8]) -> Option<MediaType> {
    match sniff::evidence(body) {
        SniffResult::Xml(name) => Some(name.into()),
        _ => None,
    }
}

/// The type of content that nobody declared.
fn undeclared(extension: Option<&'static str>, evidence: SniffResult, body: &[u8]) -> MediaType {
    match evidence {
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

/// What the content is when the declared type cannot stand.
fn overrule(
    declared: &str,
    extension: Option<&'static str>,
    evidence: SniffResult,
    body: &[u8],
) -> Option<MediaType> {
    if is_empty_word(declared) {
        // Text without a name or a sign stays what it was declared to be: a download.
        return match evidence {
            SniffResult::None if extension.is_none() => None,
            _ => Some(undeclared(extension, evidence, body)),
        };
    }
    let html = matches!(declared, "text/html" | "application/xhtml+xml");
    match evidence {
        SniffResult::Signature(name) if html || declared == "text/plain" => Some(name.into()),
        SniffResult::Signature(name) => (!same_family(declared, name)).then(|| name.into()),
        SniffResult::Container(name) => (html || declared == "text/plain").then(|| name.into()),
        // Source code is shown as plain text on purpose: a name like page.txt is believed.
        SniffResult::Document if declared == "text/plain" => match extension {
            Some("text/html" | "application/xhtml+xml") | None => Some(MediaType::HTML),
            Some(_) => None,
        },
        SniffResult::Document if is_xml(declared) && !html => Some(MediaType::HTML),
        SniffResult::Document => (!html).then_some(MediaType::HTML),
        // XHTML served as HTML is HTML; a feed served as HTML is a feed.
        SniffResult::Xml("application/xhtml+xml" | "text/xml") if html => None,
        // A page may begin with its icons.
        SniffResult::Xml("image/svg+xml") if declared == "text/html" => None,
        SniffResult::Xml(name) if html => Some(name.into()),
        SniffResult::Xml(name) if matches!(declared, "text/xml" | "application/xml") => {
            (name != "text/xml").then(|| name.into())
        }
        _ => None,
    }
}

/// Whether a declared type and a signature are two names of one thing (`image/jpg`, `image/jpeg`).
fn same_family(declared: &str, signature: &str) -> bool {
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

    fn check(header: Option<&str>, url: &str, body: &[u8], expected: &str, repaired: bool) {
        let mut remarks = Vec::new();
        let (found, _) = decide(header, url, body, &mut remarks);
        assert_eq!(
            found.as_str(),
            expected,
            "{header:?} {url} {:?}",
            body.escape_ascii().to_string()
        );
        let lied = remarks
            .iter()
            .any(|remark| matches!(remark, PageRemark::TypeMismatch { .. }));
        assert_eq!(lied, repaired, "{header:?} {url}");
    }

    const PAGE: &[u8] = b"\n<!-- hello -->\n<!DOCTYPE html><html><head>";
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn a_true_type_stands() {
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
    fn a_lying_type_is_repaired() {
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
    fn source_shown_on_purpose_stays_text() {
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
    fn nothing_declared() {
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
