//! Rich Text Format (Microsoft RTF specification 1.9.1).
//!
//! A document is a tree of groups. Control words set properties until their group ends, and some make their group a
//! "destination" that holds no text, such as the table of fonts. Characters are bytes in the code page of their font,
//! or Unicode numbers with a replacement that is skipped.

use std::collections::HashMap;

use encoding_rs::Encoding;

use super::is_web_link;
use crate::{Document, Limits};

/// Groups that are nested more deeply are read as if they were at this depth.
const MAX_DEPTH: usize = 500;
/// Maximum length of the instruction of a field.
const MAX_INSTRUCTION: usize = 16 << 10;

/// Reads a document. A document that is cut gives its beginning.
pub(super) fn read(body: &[u8], limits: &Limits) -> Document {
    let mut reader = Reader {
        rest: body,
        state: State::default(),
        stack: Vec::new(),
        too_deep: 0,
        code_page: encoding_rs::WINDOWS_1252,
        fonts: HashMap::new(),
        font: None,
        skip: 0,
        surrogate: None,
        pending: Vec::new(),
        instruction: String::new(),
        title: String::new(),
        document: Document::default(),
    };
    while reader.document.text.len() <= limits.max_text && reader.read_token() {}
    reader.flush();
    let is_cut = reader.rest.is_empty() && !reader.stack.is_empty();
    let mut document = reader.document;
    if is_cut {
        document.remarks.push("the document is cut".to_owned());
    }
    document.title = Some(reader.title);
    document
}

/// The properties that the end of a group restores.
#[derive(Clone, Copy)]
struct State {
    destination: Destination,
    encoding: Option<&'static Encoding>,
    /// Number of replacement characters after a Unicode character.
    replacements: usize,
    hidden: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            destination: Destination::Text,
            encoding: None,
            replacements: 1,
            hidden: false,
        }
    }
}

/// What the characters of a group are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Title,
    FontTable,
    /// The instruction of a field, for example `HYPERLINK "http://example.org/"`.
    Instruction,
    /// Not text: colours, pictures, metadata.
    Skipped,
}

struct Reader<'a> {
    rest: &'a [u8],
    state: State,
    stack: Vec<State>,
    /// Open groups beyond [`MAX_DEPTH`].
    too_deep: usize,
    code_page: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    /// The font that the font table defines.
    font: Option<i32>,
    /// Replacement characters to skip.
    skip: usize,
    /// The first half of a character outside the Basic Multilingual Plane.
    surrogate: Option<u16>,
    /// Characters that were not decoded yet.
    pending: Vec<u8>,
    instruction: String,
    title: String,
    document: Document,
}

impl Reader<'_> {
    /// Reads a token. Returns false at the end of the document.
    fn read_token(&mut self) -> bool {
        let Some((first, rest)) = self.rest.split_first() else {
            return false;
        };
        self.rest = rest;
        match first {
            b'{' => self.open_group(),
            b'}' => return self.close_group(),
            b'\\' => self.read_control(),
            b'\r' | b'\n' | 0 => {}
            byte => self.push_byte(*byte),
        }
        true
    }

    fn open_group(&mut self) {
        self.flush();
        self.skip = 0;
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(self.state);
        } else {
            self.too_deep += 1;
        }
    }

    /// Returns false after the last group.
    fn close_group(&mut self) -> bool {
        self.flush();
        self.skip = 0;
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return true;
        }
        let ended = self.state.destination;
        let Some(state) = self.stack.pop() else {
            return false;
        };
        self.state = state;
        if ended == Destination::Instruction && state.destination != Destination::Instruction {
            self.end_instruction();
        }
        !self.stack.is_empty()
    }

    fn end_instruction(&mut self) {
        let instruction = std::mem::take(&mut self.instruction);
        if let Some((_, target)) = instruction.split_once("HYPERLINK") {
            let target = match target.split('"').nth(1) {
                Some(quoted) => quoted,
                None => target.split_whitespace().next().unwrap_or_default(),
            };
            if is_web_link(target) {
                self.document.links.push(target.to_owned());
            }
        }
    }

    /// Reads what follows a backslash.
    fn read_control(&mut self) {
        let Some((first, rest)) = self.rest.split_first() else {
            return;
        };
        if first.is_ascii_alphabetic() {
            let length = self
                .rest
                .iter()
                .take_while(|byte| byte.is_ascii_alphabetic())
                .count();
            let (word, rest) = self.rest.split_at(length);
            self.rest = rest;
            let number = self.read_number();
            if let [b' ', rest @ ..] = self.rest {
                self.rest = rest;
            }
            self.control_word(word, number);
            return;
        }
        self.rest = rest;
        match first {
            b'\'' => {
                let digits = self
                    .rest
                    .get(..2)
                    .and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(Ok(byte)) = digits.map(|digits| u8::from_str_radix(digits, 16)) {
                    self.rest = &self.rest[2..];
                    self.push_byte(byte);
                }
            }
            b'\\' | b'{' | b'}' => self.push_byte(*first),
            b'~' => self.push_char(' '),
            b'_' => self.push_char('-'),
            b'\r' | b'\n' => self.push_char('\n'),
            // The destination that follows may be ignored by readers that do not know it.
            b'*' => {
                self.flush();
                if !self.rest.starts_with(b"\\fldinst") {
                    self.state.destination = Destination::Skipped;
                }
            }
            _ => {}
        }
    }

    fn read_number(&mut self) -> Option<i32> {
        let sign = usize::from(self.rest.starts_with(b"-"));
        let digits = self.rest[sign..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return None;
        }
        let (number, rest) = self.rest.split_at(sign + digits);
        self.rest = rest;
        std::str::from_utf8(number).ok()?.parse().ok()
    }

    fn control_word(&mut self, word: &[u8], number: Option<i32>) {
        match word {
            b"par" | b"line" | b"sect" | b"page" | b"row" | b"nestrow" | b"softline" => {
                self.push_char('\n');
            }
            b"cell" | b"nestcell" | b"tab" | b"emspace" | b"enspace" | b"qmspace" => {
                self.push_char('\t');
            }
            b"lquote" => self.push_char('\u{2018}'),
            b"rquote" => self.push_char('\u{2019}'),
            b"ldblquote" => self.push_char('\u{201C}'),
            b"rdblquote" => self.push_char('\u{201D}'),
            b"emdash" => self.push_char('\u{2014}'),
            b"endash" => self.push_char('\u{2013}'),
            b"bullet" => self.push_char('\u{2022}'),
            b"u" => self.push_unicode(number.unwrap_or_default()),
            b"uc" => {
                self.state.replacements = number.map_or(1, |count| count.clamp(0, 100) as usize);
            }
            b"bin" => {
                let length = usize::try_from(number.unwrap_or_default()).unwrap_or_default();
                self.rest = self.rest.get(length..).unwrap_or_default();
            }
            b"ansicpg" => {
                if let Some(encoding) = number.and_then(code_page) {
                    self.code_page = encoding;
                }
            }
            b"mac" => self.code_page = encoding_rs::MACINTOSH,
            b"f" => self.select_font(number.unwrap_or_default()),
            b"fcharset" => {
                if let (Some(font), Some(encoding)) = (self.font, number.and_then(charset)) {
                    self.fonts.insert(font, encoding);
                }
            }
            b"plain" => self.state.hidden = false,
            b"v" => {
                self.flush();
                self.state.hidden = number != Some(0);
            }
            b"fonttbl" => self.state.destination = Destination::FontTable,
            b"title" => self.state.destination = Destination::Title,
            b"fldinst" => {
                self.flush();
                self.instruction.clear();
                self.state.destination = Destination::Instruction;
            }
            b"colortbl" | b"stylesheet" | b"info" | b"pict" | b"object" | b"objdata"
            | b"themedata" | b"datastore" | b"listtable" | b"listoverridetable" | b"rsidtbl"
            | b"generator" | b"filetbl" | b"revtbl" | b"latentstyles" | b"xe" | b"tc"
            | b"nonshppict" | b"bkmkstart" | b"bkmkend" | b"sp" | b"pntext" | b"atrfstart"
            | b"atrfend" | b"annotation" | b"falt" | b"panose" => {
                self.state.destination = Destination::Skipped;
            }
            _ => {}
        }
    }

    fn select_font(&mut self, font: i32) {
        if self.state.destination == Destination::FontTable {
            self.font = Some(font);
            return;
        }
        self.flush();
        self.state.encoding = self.fonts.get(&font).copied();
    }

    fn push_byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.pending.push(byte);
        }
    }

    fn push_char(&mut self, character: char) {
        self.flush();
        self.skip = 0;
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Appends a UTF-16 code unit. Negative numbers stand for those above 32767.
    fn push_unicode(&mut self, number: i32) {
        self.flush();
        let unit = (number & 0xFFFF) as u16;
        let first = self.surrogate.take();
        let units = first.into_iter().chain([unit]);
        let mut buffer = [0; 4];
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => self.push_str(character.encode_utf8(&mut buffer)),
                Err(error) if (0xD800..0xDC00).contains(&error.unpaired_surrogate()) => {
                    self.surrogate = Some(error.unpaired_surrogate());
                }
                Err(_) => {}
            }
        }
        self.skip = self.state.replacements;
    }

    /// Decodes the pending bytes. Must be called before the destination or the encoding changes.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        let encoding = self.state.encoding.unwrap_or(self.code_page);
        let text = encoding.decode_without_bom_handling(&bytes).0;
        self.push_str(&text);
        self.pending = bytes;
        self.pending.clear();
    }

    fn push_str(&mut self, text: &str) {
        match self.state.destination {
            Destination::Text if !self.state.hidden => self.document.text.push_str(text),
            Destination::Title => self.title.push_str(text),
            Destination::Instruction if self.instruction.len() < MAX_INSTRUCTION => {
                self.instruction.push_str(text);
            }
            _ => {}
        }
    }
}

/// The encoding of a Windows code page.
fn code_page(number: i32) -> Option<&'static Encoding> {
    let label = match number {
        437 | 850 | 819 => "windows-1252",
        866 => "ibm866",
        874 => "windows-874",
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        10000 => "macintosh",
        10007 => "x-mac-cyrillic",
        65001 => "utf-8",
        1250..=1258 => return Encoding::for_label(format!("windows-{number}").as_bytes()),
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The encoding of a font's character set.
fn charset(number: i32) -> Option<&'static Encoding> {
    code_page(match number {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rtf: &[u8], text: &str) -> Document {
        let document = read(rtf, &Limits::default());
        assert_eq!(document.text, text, "{}", rtf.escape_ascii());
        document
    }

    #[test]
    fn text_and_breaks() {
        check(
            br"{\rtf1 a {\b bold}\par b\line c\tab d\'e9\~e\{\}\\}",
            "a bold\nb\nc\td\u{e9} e{}\\",
        );
        check(b"{\\rtf1 one\r\ntwo\\\nthree}", "onetwo\nthree");
        check(
            br"{\rtf1 a\emdash b\ldblquote c\rdblquote}after",
            "a\u{2014}b\u{201C}c\u{201D}",
        );
    }

    #[test]
    fn code_pages_fonts_and_unicode() {
        check(br"{\rtf1\ansicpg1251 \'cf\'f0}", "\u{41f}\u{440}");
        check(
            br"{\rtf1\ansi{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1 \'cf\f0 \'e9}",
            "\u{41f}\u{e9}",
        );
        check(br"{\rtf1\fonttbl{\f0\fcharset128 A;}}", "");
        check(
            br"{\rtf1{\fonttbl{\f0\fcharset128 A;}}\f0 \'93\'fa}",
            "\u{65e5}",
        );
        check(
            br"{\rtf1\uc1 \u233?\u8364\'80 x\uc0\u233 y}",
            "\u{e9}\u{20ac} x\u{e9}y",
        );
        check(br"{\rtf1\uc1\u-10179?\u-8704?}", "\u{1F600}");
    }

    #[test]
    fn destinations_are_skipped() {
        check(br"{\rtf1{\colortbl;\red0;}{\*\unknown x{y}}{\info{\author z}}{\pict 89504e}a{\v hidden}b}", "ab");
        check(br"{\rtf1{\pict\bin4 }}{\}a}", "a");
    }

    #[test]
    fn titles_and_links() {
        let document = check(
            br#"{\rtf1{\info{\title My title}}{\field{\*\fldinst HYPERLINK "http://example.org/a"}{\fldrslt here}}}"#,
            "here",
        );
        assert_eq!(document.title.as_deref(), Some("My title"));
        assert_eq!(document.links, ["http://example.org/a"]);
    }

    #[test]
    fn damaged_documents_give_their_beginning() {
        let document = check(br"{\rtf1 a {\b b", "a b");
        assert_eq!(document.remarks, ["the document is cut"]);
        check(b"{\\rtf1 a\\'", "a");
        check(b"{\\rtf1 a\\bin99999999999999999999 b}", "ab");
        let deep = [
            b"{\\rtf1 ".as_slice(),
            &b"{".repeat(100_000),
            b"a",
            &b"}".repeat(100_000),
            b" b}",
        ]
        .concat();
        check(&deep, "a b");
    }
}
