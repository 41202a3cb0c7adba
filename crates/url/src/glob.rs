//! Patterns in which `*` matches any characters. After a mismatch, only the last `*` before the mismatch is tried with
//! more characters. So the time is at most proportional to the length of the pattern times the length of the text.

/// Whether the pattern matches the whole text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, from));
            at += 1;
        } else if pattern.get(at) == Some(&text[from]) {
            at += 1;
            from += 1;
        } else if let Some((after, taken)) = star {
            star = Some((after, taken + 1));
            (at, from) = (after, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars() {
        assert!(matches("", ""));
        assert!(matches("*", ""));
        assert!(matches("/a/*", "/a/b/c"));
        assert!(matches("*.pdf", "/x.pdf"));
        assert!(matches("/a*b*c", "/aXbYbZc"));
        assert!(!matches("/a", "/ab"));
        assert!(!matches("/a*b", "/axc"));
        assert!(!matches("", "x"));
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }
}
