//! Rule patterns and how they match paths, compared by octets (RFC 9309, 2.2.2 and 2.2.3).
//!
//! Pattern and path are normalised first: unreserved characters are decoded, characters that are not allowed in a URL
//! are percent-encoded, and the hexadecimal digits are upper case. A `*` or `$` in the path becomes `%2A` or `%24`. In
//! a pattern, plain `*` and `$` are wildcards, and `%2A` and `%24` stand for the characters themselves.
//!
//! The literals between the wildcards are searched from left to right, without backtracking. Only the leftmost match of
//! each literal is tried, because it leaves the most text for the literals after it. Matching is therefore linear for any number of wildcards.

use std::borrow::Cow;

/// A compiled pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    /// The normalised pattern without the `$` at its end: literals separated by `*`. The literals share one allocation,
    /// because a file may have a hundred thousand patterns.
    text: Box<[u8]>,
    /// Length of the literal before the first `*`.
    head: usize,
    /// Whether the pattern ended in `$`. If so, the path must end with the last literal.
    anchored: bool,
    /// Length of the normalised pattern including wildcards. The longest pattern that matches decides.
    pub(crate) octets: usize,
    /// This pattern with its query decoded by [`decoded_query`]; `None` if that changes nothing.
    loose: Option<Box<Pattern>>,
}

/// A normalised path and query, to be matched against many patterns.
pub(crate) struct Subject<'a> {
    strict: Cow<'a, [u8]>,
    /// `strict` with its query decoded by [`decoded_query`]; `None` if that changes nothing.
    loose: Option<Vec<u8>>,
}

impl Pattern {
    /// Compiles the value of a rule. The value must not be empty.
    pub(crate) fn new(value: &[u8]) -> Pattern {
        let normal = normal(value, Side::Rule);
        let loose = decoded_query(&normal).map(|loose| Box::new(Pattern::compile(&loose)));
        Pattern {
            loose,
            ..Pattern::compile(&normal)
        }
    }

    fn compile(normal: &[u8]) -> Pattern {
        let (body, anchored) = match normal.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (normal, false),
        };
        Pattern {
            text: body.into(),
            head: memchr::memchr(b'*', body).unwrap_or(body.len()),
            anchored,
            octets: normal.len(),
            loose: None,
        }
    }

    pub(crate) fn matches(&self, subject: &Subject<'_>) -> bool {
        if self.matches_octets(&subject.strict) {
            return true;
        }
        match (&self.loose, &subject.loose) {
            (None, None) => false,
            (pattern, path) => pattern
                .as_deref()
                .unwrap_or(self)
                .matches_octets(path.as_deref().unwrap_or(&subject.strict)),
        }
    }

    fn matches_octets(&self, path: &[u8]) -> bool {
        let (first, rest) = self.text.split_at(self.head);
        let Some(mut path) = path.strip_prefix(first) else {
            return false;
        };
        let Some((_star, rest)) = rest.split_first() else {
            return !self.anchored || path.is_empty();
        };
        let (middle, last) = match memchr::memrchr(b'*', rest) {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let pieces = middle.map(|middle| middle.split(|byte| *byte == b'*'));
        for piece in pieces.into_iter().flatten() {
            match memchr::memmem::find(path, piece) {
                Some(at) => path = &path[at + piece.len()..],
                None => return false,
            }
        }
        if self.anchored {
            path.ends_with(last)
        } else {
            memchr::memmem::find(path, last).is_some()
        }
    }
}

impl<'a> Subject<'a> {
    pub(crate) fn new(path: &'a str) -> Subject<'a> {
        let strict = normal(path.as_bytes(), Side::Url);
        Subject {
            loose: decoded_query(&strict),
            strict,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Rule,
    Url,
}

/// Normalises a rule or a path. The result is borrowed if nothing changes, as for most canonical URLs.
fn normal(text: &[u8], side: Side) -> Cow<'_, [u8]> {
    let Some(first) = text.iter().position(|byte| !is_settled(*byte)) else {
        return Cow::Borrowed(text);
    };
    let mut out = Vec::with_capacity(text.len() + 8);
    out.extend_from_slice(&text[..first]);
    let mut index = first;
    while index < text.len() {
        let byte = text[index];
        match triplet(&text[index..]) {
            Some(decoded) => {
                if is_unreserved(decoded) {
                    out.push(decoded);
                } else {
                    push_triplet(&mut out, decoded);
                }
                index += 3;
                continue;
            }
            None if is_settled(byte) || byte == b'%' => out.push(byte),
            None if side == Side::Rule && is_wildcard(text, index) => out.push(byte),
            None => push_triplet(&mut out, byte),
        }
        index += 1;
    }
    Cow::Owned(out)
}

/// Whether the character is a wildcard: any `*`, or a `$` at the end of the pattern.
fn is_wildcard(pattern: &[u8], index: usize) -> bool {
    pattern[index] == b'*' || (pattern[index] == b'$' && index + 1 == pattern.len())
}

/// Decodes reserved characters such as `:` and `/` in the query. In the table of RFC 9309, 2.2.2,
/// `?baz=https://foo.bar` and `?baz=https%3A%2F%2Ffoo.bar` match each other although these characters are reserved. In
/// a query they have no special meaning, so both spellings are equivalent there. In a path they are not.
fn decoded_query(normal: &[u8]) -> Option<Vec<u8>> {
    let mark = memchr::memchr(b'?', normal)?;
    memchr::memchr(b'%', &normal[mark..])?;
    let mut out = normal[..mark].to_vec();
    let mut index = mark;
    let mut changed = false;
    while index < normal.len() {
        let decoded = triplet(&normal[index..]).filter(|byte| b":/?@!'(),;".contains(byte));
        out.push(decoded.unwrap_or(normal[index]));
        changed |= decoded.is_some();
        index += if decoded.is_some() { 3 } else { 1 };
    }
    changed.then_some(out)
}

fn triplet(bytes: &[u8]) -> Option<u8> {
    if bytes.first() != Some(&b'%') {
        return None;
    }
    let digit = |index: usize| char::from(*bytes.get(index)?).to_digit(16);
    Some((digit(1)? * 16 + digit(2)?) as u8)
}

fn push_triplet(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([
        b'%',
        DIGITS[usize::from(byte >> 4)],
        DIGITS[usize::from(byte & 15)],
    ]);
}

/// Whether the character is unreserved (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether normalisation keeps the character as it is: it is unreserved, or reserved (RFC 3986, 2.2) but not `*` or
/// `$`.
fn is_settled(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(
            byte,
            b'/' | b'?'
                | b'='
                | b'&'
                | b':'
                | b'@'
                | b'!'
                | b'\''
                | b'('
                | b')'
                | b'+'
                | b','
                | b';'
                | b'['
                | b']'
                | b'#'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(
            Pattern::new(pattern.as_bytes()).matches(&Subject::new(path)),
            expected,
            "{pattern} on {path}"
        );
    }

    #[test]
    fn wildcards() {
        check("/", "/anything", true);
        check("/fish", "/fish.html", true);
        check("/fish", "/Fish", false);
        check("/fish*", "/fishheads/yummy.html", true);
        check("/*.php", "/folder/any.php.file.html", true);
        check("/*.php", "/windows.PHP", false);
        check("/*.php$", "/filename.php", true);
        check("/*.php$", "/filename.php?parameters", false);
        check("/*.php$", "/a.php.php", true);
        check("/fish*.php", "/fishheads/catfish.php?x", true);
        check("*", "/x", true);
        check("*/x", "/a/b/x", true);
        check("/$", "/", true);
        check("/$", "/x", false);
        check("/a$b", "/a$b", true);
        check("/a$b", "/ab", false);
        check("/a*b*c$", "/aXbXcXbXc", true);
        check("/a**b", "/aXb", true);
        check("/a*$", "/abc", true);
        check("/a*a$", "/a", false);
    }

    #[test]
    fn equivalent_spellings() {
        check("/%7Ejoe/", "/~joe/", true);
        check("/~joe/", "/%7ejoe/x", true);
        check("/a%2fb", "/a%2Fb", true);
        check("/a%2fb", "/a/b", false);
        check("/ツ", "/%E3%83%84", true);
        check("/%e3%83%84", "/ツ", true);
        check("/a b", "/a%20b", true);
        check("/a{b}", "/a%7Bb%7D", true);
        check("/a|b", "/a%7Cb", true);
        check("/100%", "/100%", true);
        check("/%2A", "/*", true);
        check("/%2A", "/x", false);
        check("/x%24", "/x$", true);
        check("/x%24", "/x", false);
        check("/?u=http://x", "/?u=http%3A%2F%2Fx", true);
        check("/?u=http%3A%2F%2Fx", "/?u=http://x", true);
        check("/*%3A%2F%2Fx", "/?u=http%3A%2F%2Fx", true);
        check("/*://x", "/?u=http%3A%2F%2Fx", true);
        check("/a%3Fb", "/a?b", false);
    }

    #[test]
    fn no_pattern_takes_exponential_time() {
        let (done, ended) = std::sync::mpsc::channel();
        let work = move || {
            let path = format!("/{}", "a".repeat(5000));
            let pattern = format!("/{}b$", "*a".repeat(2000));
            for _ in 0..20 {
                check(&pattern, &path, false);
                check(&format!("/{}", "*aa".repeat(2000)), &path, true);
            }
            let _ = done.send(());
        };
        // The matching runs in a separate thread, because it would not end if it took exponential time.
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread.spawn(work).expect("a thread");
        let within = std::time::Duration::from_secs(5);
        assert_eq!(ended.recv_timeout(within), Ok(()), "matching is not linear");
    }
}
