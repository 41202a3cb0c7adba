//! Decodes character references: `&eacute;`, `&#233;`, `&#xE9;` (WHATWG HTML, 13.2.5.72 to 13.2.5.80).
//!
//! The `tokenizer` returns characters as written, and its users decode them with this module. Two more replacements of
//! the standard are made: line ends become one line feed (13.2.3.5), and nulls become U+FFFD where the standard
//! requires it.
//!
//! **Invariants.** Time is linear, because at most the length of the longest name is examined per reference. Text
//! without anything to replace is not copied.

use std::borrow::Cow;

use crate::html_syntax::entities::NAMES;
use crate::swar::{self, below, equal};

/// Length of the longest name, including its semicolon.
const MAX_NAME: usize = 32;
/// Length of the longest name that needs no semicolon.
const MAX_BARE_NAME: usize = 6;
const REPLACEMENT: &str = "\u{FFFD}";

/// The place of a text in the source. The HTML standard treats character references and nulls differently in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// Text between tags. Nulls are kept.
    Data,
    /// Text between tags that contains no ampersand.
    Plain,
    /// The content of `title` or `textarea`. Nulls are replaced.
    Rcdata,
    /// An attribute value. Nulls are replaced. `&copy=` is part of a query, not a reference.
    AttributeValue,
    /// The content of a raw text element such as `script`. Nulls are replaced; references are not decoded.
    RawText,
    /// A CDATA section. Only line ends are replaced.
    Cdata,
}

/// Decodes characters. Borrows if there is nothing to replace.
#[inline]
pub(crate) fn decode(raw: &[u8], kind: TextKind) -> Cow<'_, [u8]> {
    if !swar::any(raw, |lanes| below(lanes, 0x20) | equal(lanes, b'&')) {
        return Cow::Borrowed(raw);
    }
    let mut decoded = Vec::with_capacity(raw.len());
    decode_pieces(raw, kind, |piece| decoded.extend_from_slice(piece));
    Cow::Owned(decoded)
}

/// Decodes characters and passes them to `out` in pieces, without allocation.
pub(crate) fn decode_pieces(mut raw: &[u8], kind: TextKind, mut out: impl FnMut(&[u8])) {
    while let Some(at) = memchr::memchr3(b'&', b'\0', b'\r', raw) {
        if at > 0 {
            out(&raw[..at]);
        }
        let rest = &raw[at + 1..];
        raw = match raw[at] {
            b'\r' => {
                out(b"\n");
                rest.strip_prefix(b"\n").unwrap_or(rest)
            }
            b'\0' => {
                let kept = matches!(kind, TextKind::Data | TextKind::Plain | TextKind::Cdata);
                out(if kept { b"\0" } else { REPLACEMENT.as_bytes() });
                rest
            }
            _ if matches!(kind, TextKind::RawText | TextKind::Cdata) => {
                out(b"&");
                rest
            }
            _ => {
                let taken = decode_reference(rest, kind == TextKind::AttributeValue, &mut out);
                if taken == 0 {
                    out(b"&");
                }
                &rest[taken..]
            }
        };
    }
    if !raw.is_empty() {
        out(raw);
    }
}

/// Decodes the reference at the start of `rest`, the text after the ampersand. Returns its length, or 0 if it is not a
/// reference.
fn decode_reference(rest: &[u8], attribute: bool, out: &mut impl FnMut(&[u8])) -> usize {
    match rest {
        [b'#', b'x' | b'X', digits @ ..] => decode_numeric(digits, 2, 16, out),
        [b'#', digits @ ..] => decode_numeric(digits, 1, 10, out),
        [first, ..] if first.is_ascii_alphanumeric() => decode_named(rest, attribute, out),
        _ => 0,
    }
}

/// Decodes a numeric reference with `prefix` bytes before its digits. Returns its length, or 0 if it has no digits.
fn decode_numeric(digits: &[u8], prefix: usize, radix: u32, out: &mut impl FnMut(&[u8])) -> usize {
    let (mut value, mut length) = (0_u32, 0);
    while let Some(digit) = digits
        .get(length)
        .and_then(|byte| char::from(*byte).to_digit(radix))
    {
        value = value.saturating_mul(radix).saturating_add(digit);
        length += 1;
    }
    if length == 0 {
        return 0;
    }
    let character = character_of(value);
    out(character.encode_utf8(&mut [0; 4]).as_bytes());
    prefix + length + usize::from(digits.get(length) == Some(&b';'))
}

/// The character of a numeric reference (13.2.5.80). Numbers from 0x80 to 0x9F (C1 controls) are read as bytes of
/// windows-1252.
fn character_of(value: u32) -> char {
    const WINDOWS_1252: [char; 32] = [
        '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}',
        '\u{2021}', '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}',
        '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}',
        '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}',
        '\u{178}',
    ];
    match value {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9F => WINDOWS_1252[value as usize - 0x80],
        _ => char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// Decodes a named reference, which is the longest name that matches. Returns its length, or 0 if no name matches.
fn decode_named(rest: &[u8], attribute: bool, out: &mut impl FnMut(&[u8])) -> usize {
    // Fast path for the most common names.
    let common: Option<(&[u8], usize)> = match rest {
        [b'l', b't', b';', ..] => Some((b"<", 3)),
        [b'g', b't', b';', ..] => Some((b">", 3)),
        [b'a', b'm', b'p', b';', ..] => Some((b"&", 4)),
        [b'q', b'u', b'o', b't', b';', ..] => Some((b"\"", 5)),
        [b'n', b'b', b's', b'p', b';', ..] => Some(("\u{A0}".as_bytes(), 5)),
        _ => None,
    };
    if let Some((characters, length)) = common {
        out(characters);
        return length;
    }
    let head = &rest[..rest.len().min(MAX_NAME)];
    let run = head
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(head.len());
    if head.get(run) == Some(&b';')
        && let Some(characters) = find(&head[..=run])
    {
        out(characters.as_bytes());
        return run + 1;
    }
    for length in (2..=run.min(MAX_BARE_NAME)).rev() {
        let Some(characters) = find(&head[..length]) else {
            continue;
        };
        let next = rest.get(length);
        if attribute && next.is_some_and(|byte| *byte == b'=' || byte.is_ascii_alphanumeric()) {
            return 0;
        }
        out(characters.as_bytes());
        return length;
    }
    0
}

/// For each letter, the index in [`NAMES`] of the first name that begins with it. The names of one letter end where the
/// names of the next letter begin.
static FIRST_OF_LETTER: [u16; 129] = {
    let mut letters = [0; 129];
    let mut letter = 0;
    let mut index = 0;
    while letter < letters.len() {
        while index < NAMES.len() && (NAMES[index].0.as_bytes()[0] as usize) < letter {
            index += 1;
        }
        letters[letter] = index as u16;
        letter += 1;
    }
    letters
};

fn find(name: &[u8]) -> Option<&'static str> {
    let letter = usize::from(*name.first()?);
    let begin = usize::from(*FIRST_OF_LETTER.get(letter)?);
    let end = usize::from(*FIRST_OF_LETTER.get(letter + 1)?);
    let names = &NAMES[begin..end];
    let found = names.binary_search_by(|(known, _)| known.as_bytes().cmp(name));
    found.ok().map(|index| names[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: TextKind, raw: &str, expected: &str) {
        let found = decode(raw.as_bytes(), kind);
        assert_eq!(String::from_utf8_lossy(&found), expected, "{raw}");
    }

    #[test]
    fn table_is_sorted_and_lengths_are_right() {
        assert!(NAMES.is_sorted());
        assert_eq!(
            NAMES.iter().map(|(name, _)| name.len()).max(),
            Some(MAX_NAME)
        );
        let bare = NAMES.iter().filter(|(name, _)| !name.ends_with(';'));
        assert_eq!(bare.map(|(name, _)| name.len()).max(), Some(MAX_BARE_NAME));
    }

    #[test]
    fn references_in_text_and_attributes() {
        let check = |raw, text, attribute| {
            check(TextKind::Data, raw, text);
            check(TextKind::AttributeValue, raw, attribute);
        };
        check("a&amp;b&ampc&amp=", "a&b&c&=", "a&b&ampc&amp=");
        check("&notit; &notin; &not", "¬it; ∉ ¬", "&notit; ∉ ¬");
        check(
            "&#65;&#x41&#X41 &#0;&#x80;",
            "AAA \u{FFFD}€",
            "AAA \u{FFFD}€",
        );
        check(
            "&#xD800;&#1114112;&#99999999999;",
            "\u{FFFD}\u{FFFD}\u{FFFD}",
            "\u{FFFD}\u{FFFD}\u{FFFD}",
        );
        check(
            "& &; &# &#; &#x &#x; &é &",
            "& &; &# &#; &#x &#x; &é &",
            "& &; &# &#; &#x &#x; &é &",
        );
        check("&CounterClockwiseContourIntegral;", "∳", "∳");
        check("&unknown; &NotEqualTilde;", "&unknown; ≂̸", "&unknown; ≂̸");
    }

    #[test]
    fn nulls_and_line_ends_by_text_kind() {
        check(TextKind::Data, "a\0\r\n\rb\r", "a\0\n\nb\n");
        check(TextKind::Rcdata, "a\0&lt;", "a\u{FFFD}<");
        check(TextKind::AttributeValue, "\0\r\n", "\u{FFFD}\n");
        check(TextKind::RawText, "&lt;\0", "&lt;\u{FFFD}");
        check(TextKind::Cdata, "&lt;\0\r", "&lt;\0\n");
    }
}
