//! Canonical percent-encoding (U1; RFC 3986, 6.2.2.1 and 6.2.2.2): hexadecimal digits in upper case, unreserved
//! characters decoded. Reserved characters stay encoded: `%2F` is not a slash.
//!
//! A triplet is a `%` with two hexadecimal digits. A `%` that does not start a triplet is kept, because browsers send
//! it unchanged. A triplet after such a stray `%` is not decoded if the result could form a new triplet (`%%34%31` must
//! not become `%41`). Therefore a second normalisation changes nothing.

/// Appends the canonical form of `text` to `out`.
pub(crate) fn normalise_into(out: &mut String, text: &str) {
    let mut stray = None;
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'%', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(byte) = triplet(rest.as_bytes()) else {
            stray = Some(out.len());
            out.push('%');
            rest = &rest[1..];
            continue;
        };
        if is_unreserved(byte) && !stray.is_some_and(|at| completes(&out.as_bytes()[at..], byte)) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(rest[1..3].chars().map(|digit| digit.to_ascii_uppercase()));
        }
        rest = &rest[3..];
    }
    out.push_str(rest);
}

/// Whether this byte could become part of a triplet when it is appended to `stray`, a stray `%` with the text after it.
/// The later removal of session identifiers cannot form a triplet, because session identifiers start and end at
/// characters that are not hexadecimal digits.
fn completes(stray: &[u8], byte: u8) -> bool {
    byte.is_ascii_hexdigit()
        && match stray {
            [_] => true,
            [_, first] => first.is_ascii_hexdigit(),
            _ => false,
        }
}

/// Whether the text is already canonical.
pub(crate) fn is_normal(text: &str) -> bool {
    if memchr::memchr(b'%', text.as_bytes()).is_none() {
        return true;
    }
    let mut normal = String::with_capacity(text.len());
    normalise_into(&mut normal, text);
    normal == text
}

fn triplet(bytes: &[u8]) -> Option<u8> {
    let digit = |index: usize| char::from(*bytes.get(index)?).to_digit(16);
    Some((digit(1)? * 16 + digit(2)?) as u8)
}

/// Whether the character is unreserved (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut normal = String::new();
        normalise_into(&mut normal, text);
        assert_eq!(normal, expected, "{text}");
        assert!(is_normal(expected), "{expected} is not a fixed point");
    }

    #[test]
    fn one_spelling() {
        check("/plain", "/plain");
        check("/%41%7e%5F%2d", "/A~_-");
        check("/a%2fb%3f%c3%a9", "/a%2Fb%3F%C3%A9");
        check("/%00%0a%20", "/%00%0A%20");
        check("/100%", "/100%");
        check("/100%/a%zz%4", "/100%/a%zz%4");
        check("?q=%61%26b", "?q=a%26b");
    }

    #[test]
    fn nothing_becomes_a_triplet_by_decoding() {
        check("%%34%31", "%%341");
        check("%4%31", "%4%31");
        check("%25%34%31", "%2541");
        check("%%%34%31%32", "%%%3412");
        check("%/%2e%2E", "%/..");
        check("%%2e%41", "%.A");
        check("%a%7e%4", "%a~%4");
    }
}
