//! Escapes text from the web for header lines. A line break in a URL or title could forge a header field or a whole
//! record, so every character that some reader could interpret as a line end is percent-encoded as UTF-8. All values
//! that come from the web pass through these functions.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Whether a URL contains only characters that need no escapes. The loop has no early exit, so that the compiler
/// vectorises it.
pub(crate) fn is_plain_uri(text: &str) -> bool {
    let plain = |plain, byte: u8| plain & byte.is_ascii_graphic();
    text.bytes().fold(true, plain)
}

/// Appends a URL. Everything except printable ASCII is percent-encoded.
pub(crate) fn uri(text: &str, out: &mut Vec<u8>) {
    if is_plain_uri(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for &byte in text.as_bytes() {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            percent_encode(byte, out);
        }
    }
}

/// Whether a value contains only characters that need no escapes.
pub(crate) fn is_plain_value(text: &str) -> bool {
    let plain = |plain, byte: u8| plain & matches!(byte, b' '..=b'~');
    text.bytes().fold(true, plain) && !text.starts_with(' ') && !text.ends_with(' ')
}

/// Appends a value that is not a URL. Control characters and Unicode line separators are percent-encoded. White space
/// at either end is percent-encoded too, because readers would strip it.
pub(crate) fn value(text: &str, out: &mut Vec<u8>) {
    if is_plain_value(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let core = text.trim();
    let start = text.len() - text.trim_start().len();
    for (position, character) in text.char_indices() {
        let is_margin = position < start || position >= start + core.len();
        if is_margin || is_line_break(character) {
            let mut buffer = [0; 4];
            for &byte in character.encode_utf8(&mut buffer).as_bytes() {
                percent_encode(byte, out);
            }
        } else {
            let mut buffer = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

/// Appends a field name. Characters that are not allowed in a token (RFC 9110, 5.6.2) become `-`.
pub(crate) fn name(text: &str, out: &mut Vec<u8>) {
    if text.is_empty() {
        out.push(b'-');
    }
    out.extend(text.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte) {
            byte
        } else {
            b'-'
        }
    }));
}

fn is_line_break(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

fn percent_encode(byte: u8, out: &mut Vec<u8>) {
    out.extend([
        b'%',
        HEX[usize::from(byte >> 4)],
        HEX[usize::from(byte & 15)],
    ]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn escaped(escape: fn(&str, &mut Vec<u8>), text: &str) -> String {
        let mut out = Vec::new();
        escape(text, &mut out);
        String::from_utf8(out).expect("escaped text is UTF-8")
    }

    fn check(escape: fn(&str, &mut Vec<u8>), text: &str, expected: &str) {
        assert_eq!(escaped(escape, text), expected);
    }

    #[test]
    fn line_ends_are_escaped() {
        check(super::uri, "http://a/b?c", "http://a/b?c");
        check(
            super::uri,
            "http://a/b\r\nWARC-Type: x",
            "http://a/b%0D%0AWARC-Type:%20x",
        );
        check(super::uri, "http://a/ä", "http://a/%C3%A4");
        check(super::value, "Olá,\nmundo", "Olá,%0Amundo");
        check(
            super::value,
            " a b\u{85}c\u{2028}",
            "%20a b%C2%85c%E2%80%A8",
        );
        check(super::name, "outlink: x\n", "outlink--x-");
        check(super::name, "", "-");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn any_text_becomes_a_single_line(text in any::<String>()) {
            for escape in [super::uri, super::value, super::name] {
                let out = escaped(escape, &text);
                prop_assert!(out.chars().all(|c| !c.is_control()));
                prop_assert_eq!(out.trim(), out.as_str());
                prop_assert!(out.lines().count() <= 1);
            }
        }
    }
}
