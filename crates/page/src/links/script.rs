//! Finds URLs in scripts by pattern (T2). Scripts are not executed.
//!
//! Two patterns count as URLs: an absolute `http://` or `https://` URL, and a quoted path with a file extension that
//! pages have. Both are guesses ([`LinkKind::Script`](crate::LinkKind::Script)), so the rules are narrow. URLs that a
//! script assembles from several strings are ignored. They are recognised by an equals sign at the end of the string
//! (`"/item.php?id=" + n`) or by the `${` of a template.

use std::ops::ControlFlow;

/// Maximum bytes of a URL in a script.
const MAX_URL: usize = 2048;

/// File extensions of pages. A quoted path must have one of them.
const PAGE_EXTENSIONS: &[&[u8]] = &[
    b"html", b"htm", b"xhtml", b"shtml", b"php", b"asp", b"aspx", b"jsp", b"cfm", b"cgi", b"pdf",
    b"txt", b"xml",
];

/// Calls `found` with every string that looks like a URL. Escaped slashes (`\/`) are unescaped.
pub(crate) fn urls(script: &[u8], mut found: impl FnMut(&[u8])) {
    let mut scratch = Vec::new();
    absolute_urls(script, &mut scratch, &mut found);
    quoted_paths(script, &mut scratch, &mut found);
}

/// Finds `http://` and `https://` URLs, in quotes or not.
fn absolute_urls(script: &[u8], scratch: &mut Vec<u8>, found: &mut impl FnMut(&[u8])) {
    let mut at = 0;
    while let Some(next) = memchr::memmem::find(&script[at..], b"http") {
        let start = at + next;
        at = start + 4;
        let scheme = script[at..].strip_prefix(b"s").unwrap_or(&script[at..]);
        if !scheme.starts_with(b":") {
            continue;
        }
        let rest = script[start..].iter().take(MAX_URL);
        let end = start + rest.take_while(|byte| is_url_byte(**byte)).count();
        let url = unescape(&script[start..end], scratch);
        let host = url
            .strip_prefix(b"http://")
            .or(url.strip_prefix(b"https://"));
        let Some(host) = host else {
            continue;
        };
        at = end;
        // Punctuation at the end belongs to the sentence or bracket around the URL.
        let punctuation = url
            .iter()
            .rev()
            .take_while(|byte| b".,;:!?)]}*".contains(byte))
            .count();
        let url = &url[..url.len() - punctuation];
        let has_host = host
            .first()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
        if has_host && url.last() != Some(&b'=') && !has_template(url) {
            found(url);
        }
    }
}

/// Finds quoted paths to pages.
fn quoted_paths(script: &[u8], scratch: &mut Vec<u8>, found: &mut impl FnMut(&[u8])) {
    let mut at = 0;
    while let Some(next) = memchr::memchr3(b'"', b'\'', b'`', &script[at..]) {
        let start = at + next + 1;
        let quote = script[start - 1];
        let body = &script[start..script.len().min(start + MAX_URL)];
        let step = body.iter().enumerate().try_for_each(|(index, byte)| {
            if *byte == quote {
                ControlFlow::Break(Some(index))
            } else if is_url_byte(*byte) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(None)
            }
        });
        match step {
            ControlFlow::Break(Some(length)) => {
                let path = unescape(&body[..length], scratch);
                if is_page_path(path) {
                    found(path);
                }
                at = start + length + 1;
            }
            // The string is too long or contains a byte that is not allowed in a URL. The quote may be the end of an
            // earlier string, so the search continues directly after it.
            _ => at = start,
        }
    }
}

/// Whether a string is a relative or absolute path whose last segment has the extension of a page.
fn is_page_path(path: &[u8]) -> bool {
    let name_end = path
        .iter()
        .position(|byte| matches!(byte, b'?' | b'#'))
        .unwrap_or(path.len());
    let (name, query) = path.split_at(name_end);
    let segment = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let Some(dot) = memchr::memrchr(b'.', segment) else {
        return false;
    };
    let extension = &segment[dot + 1..];
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%/+".contains(byte);
    dot > 0
        && PAGE_EXTENSIONS
            .iter()
            .any(|page| extension.eq_ignore_ascii_case(page))
        && name.iter().all(plain)
        && !name.starts_with(b"//")
        && query.last() != Some(&b'=')
        && !has_template(query)
}

/// Whether the URL contains a placeholder such as `${x}`.
fn has_template(url: &[u8]) -> bool {
    memchr::memchr2(b'{', b'}', url).is_some()
}

/// Whether a URL in a script may contain this byte. A backslash is allowed, because scripts write `\/`.
fn is_url_byte(byte: u8) -> bool {
    byte > b' ' && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b'^' | 0x7F)
}

/// Replaces `\/` by `/`. Truncates the URL at any other escape.
fn unescape<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(b'\\', bytes).is_none() {
        return bytes;
    }
    scratch.clear();
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' if rest.as_slice().first() == Some(&b'/') => {}
            b'\\' => break,
            _ => scratch.push(*byte),
        }
    }
    scratch
}

#[cfg(test)]
mod tests {
    #[test]
    fn urls_and_paths_in_scripts() {
        let check = |script: &str, expected: &[&str]| {
            let mut list = Vec::new();
            super::urls(script.as_bytes(), |url| {
                list.push(String::from_utf8_lossy(url).into_owned());
            });
            assert_eq!(list, expected, "{script}");
        };
        check(
            "location = 'http://a.example/b?c=d';",
            &["http://a.example/b?c=d"],
        );
        check(
            r#"{"url":"https:\/\/a.example\/b"}"#,
            &["https://a.example/b"],
        );
        check(
            "window.open(\"/dir/page.html?x=1\")",
            &["/dir/page.html?x=1"],
        );
        check(
            "go('page.php'); go('../x.htm#y')",
            &["page.php", "../x.htm#y"],
        );
        check("// see http://a.example/b.", &["http://a.example/b"]);
        check("'/api/' + x + '.html'", &[]);
        check("'/item.php?id=' + n; `https://a/${x}`", &[]);
        check("'http://' + host; 'https://'", &[]);
        check(
            "var http = 'httpOnly', s = \"a/b\", r = '1.0', t = 'text/html'",
            &[],
        );
        check("don't \"/a.html\"", &["/a.html"]);
        check("", &[]);
        check("'", &[]);
        check("http://ahttp://b", &["http://ahttp://b"]);
    }

    #[test]
    fn time_is_linear() {
        super::urls(&b"'".repeat(1 << 20), |_| {});
        super::urls(&b"http".repeat(1 << 18), |_| {});
        super::urls(&b"http://".repeat(1 << 17), |_| {});
    }
}
