//! The language that a page declares, in an attribute, a `meta` element or a header.

/// A language tag that looks like one; of a list, nothing: it names no one language.
pub(crate) fn tag(value: &[u8]) -> Option<String> {
    let tag = value.trim_ascii();
    let good = (1..=35).contains(&tag.len())
        && tag
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    good.then(|| String::from_utf8_lossy(tag).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(tag(value.as_bytes()).as_deref(), expected, "{value}");
        };
        check(" pt-BR ", Some("pt-BR"));
        check("en, fr", None);
        check("", None);
        check("x\u{e9}", None);
    }
}
