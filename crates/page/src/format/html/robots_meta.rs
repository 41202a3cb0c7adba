//! Recognises the `meta` names that carry robots directives.

/// Whether a `meta` name addresses all crawlers (`robots`) or one crawler (`googlebot`).
pub(crate) fn addresses_robots(name: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[
        b"robot", b"bot", b"spider", b"crawl", b"slurp", b"aranha", b"yandex",
    ];
    if name.len() > 40 {
        return false;
    }
    let name = name.to_ascii_lowercase();
    // `yandex-verification` and similar names do not carry directives; they prove who owns the site.
    memchr::memmem::find(&name, b"verif").is_none()
        && PARTS
            .iter()
            .any(|part| memchr::memmem::find(&name, part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_crawlers() {
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
