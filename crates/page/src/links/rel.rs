//! Interprets the `rel` attribute: the kind of a `<link>`, and whether a link is marked nofollow.

use crate::LinkKind;

/// Whether the link is marked `nofollow`, `ugc` (written by users) or `sponsored`.
pub(crate) fn is_nofollow(rel: &[u8]) -> bool {
    has_token(rel, &[b"nofollow", b"ugc", b"sponsored"])
}

/// The kind of a `<link>` with this `rel`. `None` if its target is neither a page nor an asset. A link with an unknown
/// relation is assumed to lead to a page, as in wget. The target of `prefetch` may be a page or a file. Browsers load
/// this target together with the page. So it is an asset if assets are collected, and otherwise a page.
pub(crate) fn link_kind(rel: &[u8], assets: bool) -> Option<LinkKind> {
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
    // Relations whose target is neither a page nor an asset: connection hints and interfaces for editing programs.
    const NO_DOCUMENT: &[&[u8]] = &[
        b"dns-prefetch",
        b"preconnect",
        b"pingback",
        b"edituri",
        b"wlwmanifest",
        b"https://api.w.org/",
    ];
    if has_token(rel, &[b"canonical"]) {
        Some(LinkKind::Canonical)
    } else if has_token(rel, ASSETS) || assets && has_token(rel, &[b"prefetch"]) {
        Some(LinkKind::Asset)
    } else if has_token(rel, &[b"alternate"]) {
        Some(LinkKind::Alternate)
    } else if has_token(rel, NO_DOCUMENT) {
        None
    } else {
        Some(LinkKind::Link)
    }
}

/// Whether the link leads to the icon of the page, which browsers load instead of `/favicon.ico`.
pub(crate) fn is_icon(rel: &[u8]) -> bool {
    has_token(rel, &[b"icon"])
}

/// Whether `rel`, a list separated by white space, contains one of the tokens.
fn has_token(rel: &[u8], tokens: &[&[u8]]) -> bool {
    rel.split(u8::is_ascii_whitespace)
        .any(|part| tokens.iter().any(|token| part.eq_ignore_ascii_case(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_links() {
        let check = |rel: &str, expected| {
            assert_eq!(link_kind(rel.as_bytes(), false), expected, "{rel}");
        };
        check("", Some(LinkKind::Link));
        check("Next", Some(LinkKind::Link));
        check("shortcut icon", Some(LinkKind::Asset));
        check("alternate stylesheet", Some(LinkKind::Asset));
        check("alternate", Some(LinkKind::Alternate));
        check("CANONICAL", Some(LinkKind::Canonical));
        check("preconnect", None);
        check("prefetch", Some(LinkKind::Link));
        assert_eq!(link_kind(b"prefetch", true), Some(LinkKind::Asset));
        assert!(is_icon(b"shortcut Icon") && !is_icon(b"mask-icon"));
        assert!(is_nofollow(b"external\tNoFollow"));
        assert!(!is_nofollow(b"nofollowing noopener"));
    }
}
