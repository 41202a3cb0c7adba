//! What comes from the web, made fit for a header line. A WARC header ends where a line ends, so a URL or a title
//! with a line break inside could forge a header, or a record. Every value passes through here on its way out;
//! what could end a line anywhere, in any reader, is written as %-triplets of its UTF-8 bytes.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Whether nothing in a URL has to be escaped. Without a way out before the end many bytes are looked at together.
pub(crate) fn is_plain_uri(text: &str) -> bool {
    let plain = |plain, byte: u8| plain & byte.is_ascii_graphic();
    text.bytes().fold(true, plain)
}

/// A URL: printable ASCII stays, everything else becomes %-triplets.
pub(crate) fn uri(text: &str, out: &mut Vec<u8>) {
    if is_plain_uri(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for &byte in text.as_bytes() {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            triplet(byte, out);
        }
    }
}

/// Whether nothing in a value has to be escaped.
pub(crate) fn is_plain_value(text: &str) -> bool {
    let plain = |plain, byte: u8| plain & matches!(byte, b' '..=b'~');
    text.bytes().fold(true, plain) && !text.starts_with(' ') && !text.ends_with(' ')
}

/// Any other value: control characters and Unicode's line separators become %-triplets, and so does white space at
/// either end, which readers strip.
pub(crate) fn value(text: &str, out: &mut Vec<u8>) {
    if is_plain_value(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let core = text.trim();
    let start = text.len() - text.trim_start().len();
    for (position, character) in text.char_indices() {
        let outside = position < start || position >= start + core.len();
        if outside || breaks_a_line(character) {
            let mut buffer = [0; 4];
            for &byte in character.encode_utf8(&mut buffer).as_bytes() {
                triplet(byte, out);
            }
        } else {
            let mut buffer = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

/// A field name: the characters of an RFC 9110 token stay, the others become `-`.
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

fn breaks_a_line(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

fn triplet(byte: u8, out: &mut Vec<u8>) {
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
        String::from_utf8(out).expect("escapes give UTF-8")
    }

    fn check(escape: fn(&str, &mut Vec<u8>), text: &str, expected: &str) {
        assert_eq!(escaped(escape, text), expected);
    }

    #[test]
    fn line_ends_cannot_pass() {
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
        fn one_line_stays_one_line(text in any::<String>()) {
            for escape in [super::uri, super::value, super::name] {
                let out = escaped(escape, &text);
                prop_assert!(out.chars().all(|c| !c.is_control()));
                prop_assert_eq!(out.trim(), out.as_str());
                prop_assert!(out.lines().count() <= 1);
            }
        }
    }
}
