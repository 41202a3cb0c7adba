//! Finds URLs in style sheets: `url(…)` and `@import "…"`.

/// Calls `found` with every URL of a style sheet.
pub(crate) fn urls(sheet: &[u8], mut found: impl FnMut(&[u8])) {
    let mut at = 0;
    // If one argument without quotes has no end, no later one has. This keeps the time linear.
    let mut may_end = true;
    while let Some(next) = memchr::memchr2(b'(', b'@', &sheet[at..]) {
        at += next + 1;
        let before = &sheet[..at];
        let url = if ends_with_ignore_case(before, b"url(") {
            let argument = url_argument(&sheet[at..], may_end);
            may_end &= argument.is_some();
            argument
        } else if starts_with_ignore_case(&sheet[at..], b"import") {
            quoted_string(sheet[at + "import".len()..].trim_ascii_start())
        } else {
            None
        };
        if let Some(url) = url.filter(|url| !url.is_empty()) {
            found(url);
            at += url.len();
        }
    }
}

/// The argument of `url(…)` without its quotes. `None` if it has no end. An argument without quotes is searched for its
/// end only if `may_end`.
fn url_argument(rest: &[u8], may_end: bool) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start();
    if let Some(url) = quoted_string(rest) {
        return Some(url);
    }
    if !may_end {
        return None;
    }
    let end = memchr::memchr3(b')', b'"', b'\n', rest)?;
    Some(rest[..end].trim_ascii_end())
}

/// The content of the string that `rest` begins with. A line end ends it too.
fn quoted_string(rest: &[u8]) -> Option<&[u8]> {
    let (quote, rest) = rest.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let end = memchr::memchr2(*quote, b'\n', rest)?;
    Some(&rest[..end])
}

fn starts_with_ignore_case(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn ends_with_ignore_case(bytes: &[u8], suffix: &[u8]) -> bool {
    let start = bytes.len().checked_sub(suffix.len());
    start.is_some_and(|start| bytes[start..].eq_ignore_ascii_case(suffix))
}

#[cfg(test)]
mod tests {
    #[test]
    fn urls_and_imports() {
        let check = |sheet: &str, expected: &[&str]| {
            let mut list = Vec::new();
            super::urls(sheet.as_bytes(), |url| {
                list.push(String::from_utf8_lossy(url).into_owned());
            });
            assert_eq!(list, expected, "{sheet}");
        };
        check(
            "a{background:URL( 'x.png' ) no-repeat, url(y.png)}",
            &["x.png", "y.png"],
        );
        check(
            "@import \"a.css\"; @import url(b.css);",
            &["a.css", "b.css"],
        );
        check("url(", &[]);
        check("url('open", &[]);
        check("rgba(1,2)", &[]);
        check("@media (x)", &[]);
    }
}
