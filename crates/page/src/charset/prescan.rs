//! Finds the character set that a document itself declares. The document is not decoded yet.
//!
//! Implements WHATWG HTML, 13.2.3.2, "prescan a byte stream to determine its encoding": searches the first 1024 bytes
//! for `<meta charset>`, `<meta http-equiv=content-type>` or an XML declaration. `charset` calls this module when
//! neither a byte-order mark nor the header names a character set.
//!
//! A later declaration in the head counts too, because browsers change the encoding while they parse (13.2.3.4).
//! Scripts may precede it and contain text that looks like tags, so the `tokenizer` is used to find it.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

use crate::html_syntax::character_reference::TextKind;
use crate::html_syntax::element::Element;
use crate::html_syntax::name::{HtmlName, key, key_of};
use crate::html_syntax::raw_text::ContentModel;
use crate::html_syntax::tokenizer::{self, TokenSink};

/// Number of bytes that the standard examines.
const PRESCAN_BYTES: usize = 1024;

/// Number of bytes that are searched for a later declaration in the head of a page.
const HEAD_BYTES: usize = 64 << 10;

/// The label that the document declares. The label may be no known name of a character set. With `search_head` (for
/// HTML), a later declaration in the head counts too.
pub(crate) fn label(body: &[u8], search_head: bool) -> Option<Vec<u8>> {
    label_in_first_bytes(body).or_else(|| search_head.then(|| label_in_head(body)).flatten())
}

/// The label that the head declares within the first 64 KiB of the body.
fn label_in_head(body: &[u8]) -> Option<Vec<u8>> {
    let head = &body[..body.len().min(HEAD_BYTES)];
    // Nearly every page without a declaration in the first 1024 bytes has none at all. This check avoids running the
    // tokenizer on such pages.
    if memmem::find(head, b"harset").is_none() && memmem::find(head, b"HARSET").is_none() {
        return None;
    }
    let mut scanner = MetaScanner::default();
    tokenizer::run(head, &mut scanner);
    scanner.label
}

/// Finds the first declaration before `<body>`.
#[derive(Default)]
struct MetaScanner<'a> {
    /// The element of the current tag, if it is a start tag.
    element: Option<Element>,
    meta: MetaCharset<'a>,
    label: Option<Vec<u8>>,
    in_body: bool,
}

impl<'a> TokenSink<'a> for MetaScanner<'a> {
    fn text(&mut self, _: &'a [u8], _: TextKind) {}

    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool {
        self.element = start.then(|| Element::from_key(name.key));
        self.meta = MetaCharset::default();
        self.element == Some(Element::Meta)
    }

    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]) {
        self.meta.attribute(name.key, value);
    }

    fn close(&mut self, _: bool) -> Option<ContentModel> {
        let element = self.element?;
        self.in_body |= element == Element::Body;
        if self.label.is_none() && !self.in_body {
            self.label = self.meta.label();
        }
        element.content_model()
    }

    fn allows_cdata(&self) -> bool {
        false
    }
}

/// The label declared in the first 1024 bytes.
fn label_in_first_bytes(body: &[u8]) -> Option<Vec<u8>> {
    let head = &body[..body.len().min(PRESCAN_BYTES)];
    if let Some(label) = xml_declaration(head) {
        return Some(label);
    }
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', &head[at..]) {
        at += open + 1;
        let rest = &head[at..];
        if rest.starts_with(b"!--") {
            // `<!-->` is a complete comment: the dashes of its start and of its end overlap.
            at += memchr::memmem::find(&rest[1..], b"-->")? + 4;
        } else if starts_with_ignore_case(rest, b"meta")
            && rest
                .get(4)
                .is_some_and(|byte| is_space(*byte) || *byte == b'/')
        {
            let mut attributes = PrescanAttributes { bytes: rest, at: 4 };
            let mut meta = MetaCharset::default();
            while let Some((name, value)) = attributes.next() {
                meta.attribute(key_of(name), value);
            }
            if let Some(label) = meta.label() {
                return Some(label);
            }
            at += attributes.at;
        } else if rest.first().is_some_and(u8::is_ascii_alphabetic)
            || matches!(rest, [b'/', letter, ..] if letter.is_ascii_alphabetic())
        {
            let name = rest
                .iter()
                .position(|byte| is_space(*byte) || *byte == b'>')?;
            let mut attributes = PrescanAttributes {
                bytes: rest,
                at: name,
            };
            while attributes.next().is_some() {}
            at += attributes.at;
        } else if matches!(rest.first(), Some(b'!' | b'/' | b'?')) {
            at += memchr::memchr(b'>', rest)?;
        }
    }
    None
}

/// Replaces UTF-16 by UTF-8, because a document whose declaration can be read as ASCII is not in UTF-16. Replaces
/// x-user-defined by windows-1252. The standard requires both replacements.
pub(crate) fn as_ascii_superset(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// The label in `@charset "label";` at the start of a style sheet (CSS Syntax, 3.2).
pub(crate) fn charset_rule(body: &[u8]) -> Option<&[u8]> {
    let head = &body[..body.len().min(PRESCAN_BYTES)];
    let label = head.strip_prefix(b"@charset \"")?;
    let end = memchr::memchr(b'"', label)?;
    (label.get(end + 1) == Some(&b';')).then_some(&label[..end])
}

/// The label in `<?xml … encoding="label" …?>` at the start of the document.
fn xml_declaration(head: &[u8]) -> Option<Vec<u8>> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")? + "encoding".len();
    let value = declaration[at..]
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let end = memchr::memchr(*quote, value).filter(|_| matches!(quote, b'"' | b'\''))?;
    Some(value[..end].to_vec())
}

/// Integer keys of attribute names (`html_syntax/name`).
mod keys {
    use super::key;

    pub(super) const CHARSET: u128 = key(b"charset");
    pub(super) const CONTENT: u128 = key(b"content");
    pub(super) const HTTP_EQUIV: u128 = key(b"http-equiv");
}

/// The character set that one `meta` element declares.
#[derive(Default)]
struct MetaCharset<'a> {
    /// Whether the element has `http-equiv=content-type`.
    is_content_type: bool,
    charset: Option<&'a [u8]>,
    content: Option<Vec<u8>>,
}

impl<'a> MetaCharset<'a> {
    fn attribute(&mut self, name: u128, value: &'a [u8]) {
        match name {
            keys::HTTP_EQUIV => self.is_content_type |= value.eq_ignore_ascii_case(b"content-type"),
            keys::CHARSET if self.charset.is_none() => self.charset = Some(value),
            keys::CONTENT if self.content.is_none() => self.content = label_in_content(value),
            _ => {}
        }
    }

    fn label(&mut self) -> Option<Vec<u8>> {
        let content = self.content.take().filter(|_| self.is_content_type);
        let label = self.charset.map(<[u8]>::to_vec).or(content);
        label.filter(|label| !label.is_empty())
    }
}

/// The label in `text/html; charset=label` (WHATWG HTML, "extracting a character encoding from a meta element").
fn label_in_content(value: &[u8]) -> Option<Vec<u8>> {
    let lower = value.to_ascii_lowercase();
    let mut at = 0;
    loop {
        at += memchr::memmem::find(&lower[at..], b"charset")? + "charset".len();
        let rest = lower[at..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b"=") else {
            continue;
        };
        let rest = rest.trim_ascii_start();
        if let quote @ (b'"' | b'\'') = rest.first()? {
            let end = memchr::memchr(*quote, &rest[1..])?;
            return Some(rest[1..=end].to_vec());
        }
        let end = rest
            .iter()
            .position(|byte| is_space(*byte) || *byte == b';');
        return Some(rest[..end.unwrap_or(rest.len())].to_vec());
    }
}

/// The attributes of a tag, split as in the prescan algorithm (WHATWG HTML, 13.2.3.2, "get an attribute").
struct PrescanAttributes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PrescanAttributes<'a> {
    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.skip(|byte| is_space(byte) || byte == b'/');
        if self.bytes.get(self.at).is_none_or(|byte| *byte == b'>') {
            return None;
        }
        let start = self.at;
        // An equals sign at the start of a name is part of the name.
        self.at += 1;
        self.skip(|byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'='));
        let name = &self.bytes[start..self.at];
        self.skip(is_space);
        if self.bytes.get(self.at) != Some(&b'=') {
            return Some((name, b""));
        }
        self.at += 1;
        self.skip(is_space);
        let start = self.at;
        if let Some(quote @ (b'"' | b'\'')) = self.bytes.get(start) {
            let value = &self.bytes[start + 1..];
            let Some(length) = memchr::memchr(*quote, value) else {
                self.at = self.bytes.len();
                return None;
            };
            self.at += length + 2;
            return Some((name, &value[..length]));
        }
        self.skip(|byte| !is_space(byte) && byte != b'>');
        let value = &self.bytes[start..self.at];
        // The value extends to the end of the examined bytes, so it may be incomplete.
        if self.at == self.bytes.len() {
            return None;
        }
        Some((name, value))
    }

    /// Moves to the first byte that `skipped` does not accept.
    fn skip(&mut self, skipped: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        self.at += rest
            .iter()
            .position(|byte| !skipped(*byte))
            .unwrap_or(rest.len());
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ')
}

fn starts_with_ignore_case(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_in_the_first_1024_bytes() {
        let check = |html: &str, expected: Option<&str>| {
            let found = label_in_first_bytes(html.as_bytes())
                .map(|label| String::from_utf8_lossy(&label).into_owned());
            assert_eq!(found.as_deref(), expected, "{html}");
        };
        check("<meta charset=utf-8>", Some("utf-8"));
        check("<META CHARSET = 'latin1' >", Some("latin1"));
        check("<html><head><meta/charset=\"a\"/>", Some("a"));
        check(
            "<meta http-equiv=Content-Type content=\"text/html; charset=koi8-r\">",
            Some("koi8-r"),
        );
        check(
            "<meta content='text/html; charset= \"x\" ' http-equiv=content-type>",
            Some("x"),
        );
        check("<meta content='charset=x'>", None);
        check(
            "<meta http-equiv=content-type content='charset charset=y;z'>",
            Some("y"),
        );
        check("<!-- <meta charset=no> --><meta charset=yes>", Some("yes"));
        check("<!--><meta charset=yes>", Some("yes"));
        check("<!--", None);
        check("<!-", None);
        check(
            "<a title='<meta charset=no>'><meta charset=yes>",
            Some("yes"),
        );
        check(
            "<metadata charset=no><?php <meta charset=no> ?><meta charset=yes>",
            Some("yes"),
        );
        check("<?xml version='1.0' encoding=\"euc-jp\"?>", Some("euc-jp"));
        check("<meta charset", None);
        check("<meta charset=\"open", None);
        check("<meta =x charset=y>", Some("y"));
        check(&format!("{}<meta charset=far>", " ".repeat(1024)), None);
        check("<", None);
    }

    #[test]
    fn declarations_later_in_the_head() {
        let check = |before: &str, after: &str, expected: Option<&str>| {
            let html = format!("<head>{before}{}{after}", " ".repeat(PRESCAN_BYTES));
            let found = label(html.as_bytes(), true);
            let found = found.map(|label| String::from_utf8_lossy(&label).into_owned());
            assert_eq!(found.as_deref(), expected, "{before} {after}");
            assert_eq!(label(html.as_bytes(), false), None, "{before} {after}");
        };
        check("", "<meta charset=far>", Some("far"));
        check("", "<META CHARSET='FAR'>", Some("FAR"));
        let pragma = "<meta http-equiv=content-type content='text/html; charset=far'>";
        check("", pragma, Some("far"));
        let script = "<script>if (a<b && c=='\"') x('<meta charset=no>')</script>";
        check(script, "<meta charset=far>", Some("far"));
        check("<title><b \"</title>", "<meta charset=far>", Some("far"));
        check("", "<!-- <meta charset=no> --><p title='charset'>", None);
        check("<body>", "<meta charset=no>", None);
        check("", "<meta charset=cut", None);
        check(&" ".repeat(HEAD_BYTES), "<meta charset=no>", None);
    }
}
