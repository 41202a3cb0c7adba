//! Interprets the `rel` attribute: the kind of a `<link>`, and whether a link is marked nofollow.

use crate::LinkKind;

/// Whether the author asks that a link not be followed, or says it is not theirs or is paid for.
pub(crate) fn nofollow(rel: &[u8]) -> bool {
    has(rel, &[b"nofollow", b"ugc", b"sponsored"])
}

/// What a `<link>` with this `rel` leads to; `None` when to nothing a crawler fetches. An unknown relation is a
/// page, as it is to wget.
pub(crate) fn kind(rel: &[u8]) -> Option<LinkKind> {
    const ASSETS: &[&[u8]] = &[
        b"stylesheet",
        b"icon",
        b"shortcut",
        b"apple-touch-icon",
        b"apple-touch-icon-precomposed",
        b"apple-touch-startup-image",
        b"mask-icon",
        b"fluid-icon",
        b"image_src",
        b"manifest",
        b"preload",
        b"modulepreload",
    ];
    // Hosts to connect to, and interfaces for editors: no documents.
    const NOWHERE: &[&[u8]] = &[
        b"dns-prefetch",
        b"preconnect",
        b"pingback",
        b"edituri",
        b"wlwmanifest",
        b"https://api.w.org/",
    ];
    if has(rel, &[b"canonical"]) {
        Some(LinkKind::Canonical)
    } else if has(rel, ASSETS) {
        Some(LinkKind::Asset)
    } else if has(rel, &[b"alternate"]) {
        Some(LinkKind::Alternate)
    } else if has(rel, NOWHERE) {
        None
    } else {
        Some(LinkKind::Link)
    }
}

fn has(rel: &[u8], tokens: &[&[u8]]) -> bool {
    rel.split(u8::is_ascii_whitespace)
        .any(|word| tokens.iter().any(|token| word.eq_ignore_ascii_case(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations() {
        let check = |rel: &str, expected| assert_eq!(kind(rel.as_bytes()), expected, "{rel}");
        check("", Some(LinkKind::Link));
        check("Next", Some(LinkKind::Link));
        check("shortcut icon", Some(LinkKind::Asset));
        check("alternate stylesheet", Some(LinkKind::Asset));
        check("alternate", Some(LinkKind::Alternate));
        check("CANONICAL", Some(LinkKind::Canonical));
        check("preconnect", None);
        assert!(nofollow(b"external\tNoFollow"));
        assert!(!nofollow(b"nofollowing noopener"));
    }
}
