//! Finds the target of a `<meta http-equiv=refresh>`.

/// The URL in `<meta http-equiv=refresh content="5; url=…">` (WHATWG HTML, 4.2.5.3, "shared declarative refresh
/// steps"). `None` if the page only reloads itself.
pub(crate) fn target(content: &[u8]) -> Option<&[u8]> {
    let rest = content.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 && rest.first() != Some(&b'.') {
        return None;
    }
    let time = rest
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let rest = &rest[time..];
    if !rest
        .first()
        .is_some_and(|byte| matches!(byte, b';' | b',') || byte.is_ascii_whitespace())
    {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest
        .strip_prefix(b";")
        .or(rest.strip_prefix(b","))
        .unwrap_or(rest);
    let url = strip_url_prefix(rest.trim_ascii_start());
    let url = match url {
        [quote @ (b'"' | b'\''), quoted @ ..] => {
            &quoted[..memchr::memchr(*quote, quoted).unwrap_or(quoted.len())]
        }
        _ => url,
    };
    (!url.trim_ascii().is_empty()).then_some(url)
}

/// Removes `url =` from the start, if it is there.
fn strip_url_prefix(rest: &[u8]) -> &[u8] {
    rest.split_at_checked(3)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"url"))
        .and_then(|(_, after)| after.trim_ascii_start().strip_prefix(b"="))
        .map_or(rest, <[u8]>::trim_ascii_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_refreshes() {
        let check = |content: &str, expected: Option<&str>| {
            let found = target(content.as_bytes()).map(String::from_utf8_lossy);
            assert_eq!(found.as_deref(), expected, "{content}");
        };
        check("0; url=a.html", Some("a.html"));
        check("0;URL='a b.html' x", Some("a b.html"));
        check(" 5 , url = \"x\"", Some("x"));
        check("0; a.html", Some("a.html"));
        check("0 a.html", Some("a.html"));
        check("0.5;url=x", Some("x"));
        check(".5;url=x", Some("x"));
        check("0;url", Some("url"));
        check("0;'open", Some("open"));
        check("5", None);
        check("5;", None);
        check("url=x", None);
        check("0url=x", None);
        check("", None);
    }
}
