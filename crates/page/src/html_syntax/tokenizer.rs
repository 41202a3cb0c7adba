//! Splits HTML into tokens (WHATWG HTML, 13.2.5) by searching for delimiters instead of stepping through states.
//!
//! A [`TokenSink`] receives text, tags and attributes as borrowed slices of the document, *as written*. The sink
//! decodes character references (`character_reference`), so that text which is not used is never decoded. The ends of
//! text, quoted values, comments and raw text (`raw_text`) are found with memchr.
//!
//! **Invariants.** Token boundaries are those of the standard for any input, except inside `noscript`
//! ([`TokenSink::in_noscript`]). `conformance` tests this against the html5lib suite and html5gum. Each byte is
//! examined a bounded number of times; there is no allocation and no stack. Doctypes are not parsed and errors are not
//! reported.

use crate::html_syntax::character_reference::TextKind;
use crate::html_syntax::name::HtmlName;
use crate::html_syntax::raw_text::{self, ContentModel};
use crate::swar::{find, find2};

/// Receives the tokens in document order.
pub(crate) trait TokenSink<'a> {
    /// Receives characters as written. Text between two tags may come in several slices; a character reference is never
    /// split.
    fn text(&mut self, characters: &'a [u8], kind: TextKind);

    /// Called at the name of a tag; `start` is false for an end tag. Returns whether the attributes of the tag are to
    /// be reported.
    fn open(&mut self, start: bool, name: HtmlName<'a>) -> bool;

    /// Receives an attribute of the current tag, with its value as written (empty if it has none). If an attribute
    /// occurs twice, it is reported twice, and the sink must use the first value.
    fn attribute(&mut self, name: HtmlName<'a>, value: &'a [u8]);

    /// Called when the tag is complete. It is not called for a tag that the end of the document cuts off. Returns the
    /// content model if raw text follows.
    fn close(&mut self, self_closing: bool) -> Option<ContentModel>;

    /// Whether a CDATA section is allowed at this position.
    fn allows_cdata(&self) -> bool;

    /// Whether a `noscript` is open. A browser that runs scripts skips the content of a `noscript`, so authors do not
    /// notice elements that are left open inside it. Raw text and comments therefore end at the end tag of the
    /// `noscript` too.
    fn in_noscript(&self) -> bool {
        false
    }

    /// Receives a comment. The standard treats `<!x>` and `<?x>` as comments too (bogus comments).
    fn comment(&mut self, _data: &'a [u8]) {}

    /// Receives a processing instruction of XML, without `<` and `>`. In HTML it is a comment.
    fn instruction(&mut self, data: &'a [u8]) {
        self.comment(data);
    }

    /// Receives a doctype: the text between `<!doctype` and `>`.
    fn doctype(&mut self, _data: &'a [u8]) {}
}

/// Splits a document into tokens. Returns whether it ended inside a start tag.
pub(crate) fn run<'a>(document: &'a [u8], sink: &mut impl TokenSink<'a>) -> bool {
    let mut tokenizer = Tokenizer::new(document);
    tokenizer.data(sink)
}

/// Like [`run`], but begins inside the raw text of the element `name`.
#[cfg(test)]
pub(crate) fn run_in_raw_text<'a>(
    document: &'a [u8],
    model: ContentModel,
    name: &[u8],
    sink: &mut impl TokenSink<'a>,
) {
    let mut tokenizer = Tokenizer::new(document);
    tokenizer.raw_text(model, name, sink);
    tokenizer.data(sink);
}

/// Like [`run`], but begins inside a CDATA section.
#[cfg(test)]
pub(crate) fn run_in_cdata<'a>(document: &'a [u8], sink: &mut impl TokenSink<'a>) {
    let mut tokenizer = Tokenizer::new(document);
    tokenizer.cdata(sink);
    tokenizer.data(sink);
}

struct Tokenizer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Position of the next `noscript` end tag. It is determined on demand and cached.
    noscript_end: usize,
}

/// Whether the byte is white space inside a tag. Carriage returns are included, because line ends are not yet
/// normalised.
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0C')
}

impl<'a> Tokenizer<'a> {
    fn new(document: &'a [u8]) -> Tokenizer<'a> {
        Tokenizer {
            bytes: document,
            at: 0,
            noscript_end: 0,
        }
    }

    #[inline]
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Returns the bytes before the next `byte` (or all that remain) and moves past it.
    fn take_until(&mut self, byte: u8) -> &'a [u8] {
        let rest = self.rest();
        let length = memchr::memchr(byte, rest).unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.bytes.len());
        &rest[..length]
    }

    /// Reads text and everything that begins with `<` (the data state of the standard). Returns whether the document
    /// ended inside a start tag.
    fn data(&mut self, sink: &mut impl TokenSink<'a>) -> bool {
        loop {
            self.text(sink);
            if self.at == self.bytes.len() {
                return false;
            }
            match self.peek(1) {
                Some(b'/') => match self.peek(2) {
                    Some(byte) if byte.is_ascii_alphabetic() => {
                        self.at += 2;
                        if self.tag(false, sink).is_none() {
                            return false;
                        }
                    }
                    Some(b'>') => self.at += 3,
                    Some(_) => {
                        self.at += 2;
                        sink.comment(self.take_until(b'>'));
                    }
                    None => self.literal(2, sink),
                },
                Some(b'!') => self.declaration(sink),
                Some(b'?') => {
                    self.at += 1;
                    sink.instruction(self.take_until(b'>'));
                }
                Some(byte) if byte.is_ascii_alphabetic() => {
                    self.at += 1;
                    if self.tag(true, sink).is_none() {
                        return true;
                    }
                }
                _ => self.literal(1, sink),
            }
        }
    }

    /// Reads text up to the next `<`.
    #[inline]
    fn text(&mut self, sink: &mut impl TokenSink<'a>) {
        let rest = self.rest();
        let (length, kind) = match find2(rest, b'<', b'&') {
            Some(at) if rest[at] == b'<' => (at, TextKind::Plain),
            Some(at) => {
                let after = memchr::memchr(b'<', &rest[at..]);
                (after.map_or(rest.len(), |more| at + more), TextKind::Data)
            }
            None => (rest.len(), TextKind::Plain),
        };
        if length > 0 {
            sink.text(&rest[..length], kind);
            self.at += length;
        }
    }

    /// Passes on `length` characters that look like the start of a tag but are text.
    fn literal(&mut self, length: usize, sink: &mut impl TokenSink<'a>) {
        sink.text(&self.rest()[..length], TextKind::Plain);
        self.at += length;
    }

    /// Reads a tag, beginning at its name. `None` if the document ends inside the tag.
    #[inline]
    fn tag(&mut self, start: bool, sink: &mut impl TokenSink<'a>) -> Option<()> {
        let rest = self.rest();
        let name = HtmlName::read(rest, |byte| is_space(byte) || matches!(byte, b'/' | b'>'))?;
        self.at += name.written.len();
        let wanted = sink.open(start, name);
        let mut self_closing = false;
        if rest[name.written.len()] == b'>' {
            self.at += 1;
        } else {
            self_closing = self.attributes(wanted && start, sink)?;
        }
        if let Some(model) = sink.close(self_closing) {
            self.raw_text(model, name.written, sink);
        }
        Some(())
    }

    /// Reads the attributes and the end of the tag. Returns whether the tag ends with `/>`.
    fn attributes(&mut self, wanted: bool, sink: &mut impl TokenSink<'a>) -> Option<bool> {
        let bytes = self.bytes;
        let mut at = self.at;
        // Whether the previous byte is a solidus outside a value.
        let mut solidus = false;
        loop {
            let byte = *bytes.get(at)?;
            if byte == b'>' {
                self.at = at + 1;
                return Some(solidus);
            }
            if is_space(byte) || byte == b'/' {
                solidus = byte == b'/';
                at += 1;
                continue;
            }
            solidus = false;
            // An equals sign at the start of a name is part of the name.
            let name = HtmlName::read(&bytes[at..], |byte| {
                is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
            })?;
            at += name.written.len();
            let value;
            if let [b'=', b'"', quoted @ ..] = &bytes[at..] {
                let length = find(quoted, b'"')?;
                value = &quoted[..length];
                at += length + 3;
            } else {
                (value, at) = attribute_value(bytes, at)?;
            }
            if wanted {
                sink.attribute(name, value);
            }
        }
    }

    /// Reads a token that begins with `<!`: comment, CDATA section, doctype or bogus comment.
    fn declaration(&mut self, sink: &mut impl TokenSink<'a>) {
        self.at += 2;
        let rest = self.rest();
        let doctype = b"doctype";
        if rest.starts_with(b"--") {
            self.at += 2;
            self.comment(sink);
        } else if rest.starts_with(b"[CDATA[") && sink.allows_cdata() {
            self.at += 7;
            self.cdata(sink);
        } else if rest
            .get(..doctype.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(doctype))
        {
            self.at += doctype.len();
            sink.doctype(self.take_until(b'>'));
        } else {
            sink.comment(self.take_until(b'>'));
        }
    }

    /// The part of the document in which raw text and comments must end. Inside a `noscript` it extends to the end tag
    /// of the `noscript`, otherwise to the end of the document. The position of the end tag is cached, so that the time
    /// stays linear.
    fn limit(&mut self, sink: &impl TokenSink<'a>) -> &'a [u8] {
        if !sink.in_noscript() {
            return self.bytes;
        }
        if self.noscript_end < self.at {
            let end = raw_text::end(self.bytes, self.at, ContentModel::RawText, b"noscript");
            self.noscript_end = end.unwrap_or(self.bytes.len());
        }
        &self.bytes[..self.noscript_end]
    }

    /// Reads a comment whose `<!--` has been read. It ends with `-->` or `--!>`; an empty comment may also end with `>`
    /// or `->`.
    fn comment(&mut self, sink: &mut impl TokenSink<'a>) {
        let rest = &self.limit(sink)[self.at..];
        for end in memchr::memchr_iter(b'>', rest) {
            let data = &rest[..end];
            let data = match data {
                [] | [b'-'] => Some(&[][..]),
                _ => data
                    .strip_suffix(b"--")
                    .or_else(|| data.strip_suffix(b"--!")),
            };
            if let Some(data) = data {
                sink.comment(data);
                self.at += end + 1;
                return;
            }
        }
        // The end of the document ends a comment too; a partial `-->` is dropped.
        let ends: [&[u8]; 3] = [b"--!", b"--", b"-"];
        let data = ends.iter().find_map(|end| rest.strip_suffix(*end));
        sink.comment(data.unwrap_or(rest));
        self.at += rest.len();
    }

    /// Reads a CDATA section whose `<![CDATA[` has been read.
    fn cdata(&mut self, sink: &mut impl TokenSink<'a>) {
        let rest = self.rest();
        let end = memchr::memmem::find(rest, b"]]>");
        let length = end.unwrap_or(rest.len());
        if length > 0 {
            sink.text(&rest[..length], TextKind::Cdata);
        }
        self.at = (self.at + length + 3).min(self.bytes.len());
    }

    /// Reads raw text up to the end tag of `name`.
    fn raw_text(&mut self, model: ContentModel, name: &[u8], sink: &mut impl TokenSink<'a>) {
        let limited = self.limit(sink);
        let end = raw_text::end(limited, self.at, model, name).unwrap_or(limited.len());
        if end > self.at {
            let kind = if model == ContentModel::Rcdata {
                TextKind::Rcdata
            } else {
                TextKind::RawText
            };
            sink.text(&self.bytes[self.at..end], kind);
        }
        self.at = end;
    }
}

#[inline]
fn skip_spaces(bytes: &[u8], mut at: usize) -> Option<usize> {
    while is_space(*bytes.get(at)?) {
        at += 1;
    }
    Some(at)
}

/// Returns the value of the attribute whose name ends at `at`, and the position after the value. The value is empty if
/// the attribute has none.
fn attribute_value(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let at = skip_spaces(bytes, at)?;
    if bytes[at] != b'=' {
        return Some((&[], at));
    }
    let at = skip_spaces(bytes, at + 1)?;
    let rest = &bytes[at..];
    if let [quote @ (b'"' | b'\''), quoted @ ..] = rest {
        let length = find(quoted, *quote)?;
        return Some((&quoted[..length], at + length + 2));
    }
    let length = rest
        .iter()
        .position(|byte| is_space(*byte) || *byte == b'>')?;
    Some((&rest[..length], at + length))
}
