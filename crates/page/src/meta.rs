//! The values of `meta` elements that have a syntax of their own.

/// The target of `<meta http-equiv=refresh content="5; url=…">` (WHATWG HTML, section 4.2.5.3, "shared declarative
/// refresh steps"); `None` when the page only reloads itself.
pub(crate) fn refresh(content: &[u8]) -> Option<&[u8]> {
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
    let url = value(rest.trim_ascii_start());
    let url = match url {
        [quote @ (b'"' | b'\''), quoted @ ..] => {
            &quoted[..memchr::memchr(*quote, quoted).unwrap_or(quoted.len())]
        }
        _ => url,
    };
    (!url.trim_ascii().is_empty()).then_some(url)
}

/// What follows `url =`, or everything when that is not there.
fn value(rest: &[u8]) -> &[u8] {
    rest.split_at_checked(3)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"url"))
        .and_then(|(_, after)| after.trim_ascii_start().strip_prefix(b"="))
        .map_or(rest, <[u8]>::trim_ascii_start)
}

/// A language tag that looks like one; of a list, nothing: it names no one language.
pub(crate) fn language(value: &[u8]) -> Option<String> {
    let tag = value.trim_ascii();
    let good = (1..=35).contains(&tag.len())
        && tag
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    good.then(|| String::from_utf8_lossy(tag).into_owned())
}

/// Whether a meta name speaks to crawlers: to all (`robots`) or to one by name.
pub(crate) fn addresses_robots(name: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[
        b"robot", b"bot", b"spider", b"crawl", b"slurp", b"aranha", b"yandex",
    ];
    if name.len() > 40 {
        return false;
    }
    let name = name.to_ascii_lowercase();
    // `yandex-verification` and its kind prove ownership and address nobody.
    memchr::memmem::find(&name, b"verif").is_none()
        && PARTS
            .iter()
            .any(|part| memchr::memmem::find(&name, part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes() {
        let check = |content: &str, expected: Option<&str>| {
            let found = refresh(content.as_bytes()).map(String::from_utf8_lossy);
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

    #[test]
    fn languages() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(language(value.as_bytes()).as_deref(), expected, "{value}");
        };
        check(" pt-BR ", Some("pt-BR"));
        check("en, fr", None);
        check("", None);
        check("x\u{e9}", None);
    }

    #[test]
    fn robots() {
        for (name, expected) in [
            ("robots", true),
            ("Googlebot-News", true),
            ("msnbot", true),
            ("yandex-verification", false),
            ("viewport", false),
        ] {
            assert_eq!(addresses_robots(name.as_bytes()), expected, "{name}");
        }
    }
}
