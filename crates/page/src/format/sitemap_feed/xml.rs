//! A pull parser for the part of XML that sitemaps and feeds need.
//!
//! Events borrow from the document. Nothing is validated: malformed markup is read as far as possible, and the end of
//! the input closes all open elements.
//!
//! **Invariants.** Each byte is examined a bounded number of times. A document type is skipped and its entities are
//! never expanded or fetched, so entity bombs have no effect. There is no stack of open elements, so deep nesting takes
//! no memory.

use memchr::memmem;

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XmlEvent<'a> {
    Start(XmlTag<'a>),
    /// The name of an end tag, without its prefix.
    End(&'a [u8]),
    /// Text that may contain references: see [`unescape`].
    Text(&'a [u8]),
    /// A CDATA section: text without references.
    Cdata(&'a [u8]),
}

/// A start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct XmlTag<'a> {
    /// The part of the name before the colon. Empty if there is no colon.
    pub(crate) prefix: &'a [u8],
    pub(crate) name: &'a [u8],
    attributes: &'a [u8],
    /// Whether the tag has the form `<a/>`, without an end tag.
    pub(crate) empty: bool,
}

/// An iterator over the events of a document.
pub(crate) struct XmlReader<'a> {
    rest: &'a [u8],
}

impl<'a> XmlReader<'a> {
    pub(crate) fn new(document: &'a [u8]) -> XmlReader<'a> {
        XmlReader { rest: document }
    }

    /// Returns the bytes before the next `end`, or all that remain, and moves past `end`.
    fn take_until(&mut self, end: &[u8]) -> &'a [u8] {
        let found = memmem::find(self.rest, end);
        let (before, after) = self.rest.split_at(found.unwrap_or(self.rest.len()));
        self.rest = after.get(end.len()..).unwrap_or_default();
        before
    }

    fn strip(&mut self, prefix: &[u8]) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips a document type: moves past the first `>` outside quotes, comments and brackets.
    fn skip_doctype(&mut self) {
        let mut brackets = 0_u32;
        while let Some(at) = self.rest.iter().position(|byte| b"[]<>\"'".contains(byte)) {
            let byte = self.rest[at];
            let comment = self.rest[at..].starts_with(b"<!--");
            self.rest = &self.rest[at + 1..];
            match byte {
                b'<' if comment => {
                    self.take_until(b"-->");
                }
                b'"' | b'\'' => {
                    self.take_until(&[byte]);
                }
                b'[' => brackets += 1,
                b']' => brackets = brackets.saturating_sub(1),
                b'>' if brackets == 0 => return,
                _ => {}
            }
        }
        self.rest = &[];
    }

    /// Reads the rest of a start tag, whose `<` has been read, up to the first `>` outside quotes.
    fn start_tag(&mut self) -> XmlTag<'a> {
        let mut end = 0;
        loop {
            match memchr::memchr3(b'>', b'"', b'\'', &self.rest[end..]) {
                None => end = self.rest.len(),
                Some(next) if self.rest[end + next] == b'>' => end += next,
                Some(next) => {
                    let quote = self.rest[end + next];
                    end += next + 1;
                    let inside = memchr::memchr(quote, &self.rest[end..]);
                    end = inside.map_or(self.rest.len(), |length| end + length + 1);
                    continue;
                }
            }
            break;
        }
        let (tag, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        let (tag, empty) = match tag {
            [tag @ .., b'/'] => (tag, true),
            _ => (tag, false),
        };
        let length = tag
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(length);
        let (prefix, name) = split_prefix(name);
        XmlTag {
            prefix,
            name,
            attributes,
            empty,
        }
    }
}

impl<'a> Iterator for XmlReader<'a> {
    type Item = XmlEvent<'a>;

    fn next(&mut self) -> Option<XmlEvent<'a>> {
        loop {
            let end = memchr::memchr(b'<', self.rest).unwrap_or(self.rest.len());
            if end > 0 {
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(XmlEvent::Text(text));
            }
            if self.rest.is_empty() {
                return None;
            }
            if self.strip(b"<!--") {
                self.take_until(b"-->");
            } else if self.strip(b"<![CDATA[") {
                return Some(XmlEvent::Cdata(self.take_until(b"]]>")));
            } else if self.strip(b"<?") {
                self.take_until(b"?>");
            } else if self.strip(b"<!") {
                self.skip_doctype();
            } else if self.strip(b"</") {
                let name = self.take_until(b">").trim_ascii();
                return Some(XmlEvent::End(split_prefix(name).1));
            } else {
                self.strip(b"<");
                return Some(XmlEvent::Start(self.start_tag()));
            }
        }
    }
}

/// Splits a name into its prefix, possibly empty, and the local name.
fn split_prefix(name: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', name) {
        Some(colon) => (&name[..colon], &name[colon + 1..]),
        None => (&[], name),
    }
}

impl<'a> XmlTag<'a> {
    /// Returns the value of an attribute as written: see [`unescape`].
    pub(crate) fn attribute(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_ascii_start();
            let equals = memchr::memchr(b'=', rest)?;
            let name = rest[..equals].trim_ascii_end();
            rest = rest[equals + 1..].trim_ascii_start();
            let value;
            if let [quote @ (b'"' | b'\''), quoted @ ..] = rest {
                let end = memchr::memchr(*quote, quoted).unwrap_or(quoted.len());
                rest = quoted.get(end + 1..).unwrap_or_default();
                value = &quoted[..end];
            } else {
                let end = rest.iter().position(u8::is_ascii_whitespace);
                (value, rest) = rest.split_at(end.unwrap_or(rest.len()));
            }
            if name.eq_ignore_ascii_case(wanted) {
                return Some(value);
            }
        }
    }
}

/// Appends `text` to `out` with the five named references of XML and numeric references replaced. Other references are
/// copied as written.
pub(crate) fn unescape(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(b'&', text) {
        out.extend_from_slice(&text[..at]);
        text = &text[at..];
        let head = &text[..text.len().min(12)];
        let length = memchr::memchr(b';', head).unwrap_or(0);
        let character = text.get(1..length).and_then(character_of);
        if let Some(character) = character {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            text = &text[length + 1..];
        } else {
            out.push(b'&');
            text = &text[1..];
        }
    }
    out.extend_from_slice(text);
}

/// The character that a reference stands for. `name` is the reference without its `&` and `;`.
fn character_of(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        let digits = str::from_utf8(digits).ok()?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    };
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expected: &str) {
        let mut found = Vec::new();
        for event in XmlReader::new(document.as_bytes()) {
            match event {
                XmlEvent::Start(tag) => {
                    found.push(b'(');
                    found.extend_from_slice(tag.name);
                    if let Some(value) = tag.attribute(b"href") {
                        found.push(b'=');
                        unescape(value, &mut found);
                    }
                    if tag.empty {
                        found.push(b')');
                    }
                }
                XmlEvent::End(_) => found.push(b')'),
                XmlEvent::Text(text) => unescape(text, &mut found),
                XmlEvent::Cdata(text) => found.extend_from_slice(text),
            }
        }
        assert_eq!(String::from_utf8_lossy(&found), expected, "{document}");
    }

    #[test]
    fn well_formed_and_malformed_documents() {
        check("<?xml version='1.0'?><a>x<!-- <b> -->y</a>", "(axy)");
        check(
            "<p:a href=\"1>2\"/><b rel = 'x' href = 'y&amp;z' >t</b>",
            "(a=1>2)(b=y&zt)",
        );
        check("<a><![CDATA[<&amp;>]]></a>", "(a<&amp;>)");
        check(
            "&lt;&#65;&#x42;&quot;&apos;&gt;&unknown;&&#xD800;&#;&",
            "<AB\"'>&unknown;&&#xD800;&#;&",
        );
        check(
            "<!DOCTYPE a [<!ENTITY x \"]>\"><!-- '>] -->]><a>&x;</a>",
            "(a&x;)",
        );
        check("<a href=x y><b", "(a=x(b");
        check("<a href='open", "(a=open");
        check("<!-- open", "");
        check("<![CDATA[open", "open");
        check("<?open", "");
        check("<!open [", "");
        check("</", ")");
        check("<", "(");
        check("<a/", "(a)");
        check("<a x='1'href='2'/>", "(a=2)");
        check("", "");
    }
}
