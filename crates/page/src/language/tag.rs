//! Parses the language tag that a page declares in an attribute, a `meta` element or a header.

/// Returns the value if it has the form of one language tag. A list such as `en, fr` gives `None`.
pub(crate) fn parse_tag(value: &[u8]) -> Option<String> {
    let tag = value.trim_ascii();
    let is_tag = (1..=35).contains(&tag.len())
        && tag
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_tag.then(|| String::from_utf8_lossy(tag).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tag_but_no_list() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(parse_tag(value.as_bytes()).as_deref(), expected, "{value}");
        };
        check(" pt-BR ", Some("pt-BR"));
        check("en, fr", None);
        check("", None);
        check("x\u{e9}", None);
    }
}
