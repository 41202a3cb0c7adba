//! Directives of a single page: the robots meta tag and the `X-Robots-Tag` header (R2; Viuva Negra 5.4, `CoBWeb` 2.4).
//!
//! `nofollow` is obeyed. The other directives are only recorded. Tag and header can be addressed to a single agent: the
//! meta tag by its name (`<meta name="googlebot" …>`), the header by a prefix (`googlebot: noindex`). Directives with
//! values (`unavailable_after: …`, `max-snippet:20`) are ignored. A date in such a value contains commas and colons,
//! and the text before a colon must not be read as an agent name.

use std::ops::{BitOr, BitOrAssign};

use crate::product_token;

/// Directives of a page. The default has no directives; `|` merges the directives of several tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Directives {
    /// Do not index the page. Recorded only.
    pub noindex: bool,
    /// Do not follow the links of the page. Obeyed.
    pub nofollow: bool,
    /// Do not show a stored copy. Recorded only.
    pub noarchive: bool,
}

/// Directives that take a value after a colon.
const WITH_VALUE: [&str; 5] = [
    "unavailable_after",
    "unavailable-after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
];

impl Directives {
    /// Reads `<meta name=… content=…>`. A tag is ignored unless its name is `robots`, `*` or the value of `product`.
    pub fn meta(name: &str, content: &str, product: &str) -> Directives {
        if concerns(name.trim(), product) {
            read(content)
        } else {
            Directives::default()
        }
    }

    /// Reads one `X-Robots-Tag` value. An agent name applies to all directives up to the next agent name.
    pub fn header(value: &str, product: &str) -> Directives {
        let mut found = Directives::default();
        let mut ours = true;
        for item in value.split(',') {
            let mut item = item.trim();
            while let Some((name, rest)) = item
                .split_once(':')
                .map(|(name, rest)| (name.trim(), rest.trim()))
            {
                if is_agent(name) {
                    ours = concerns(name, product);
                    item = rest;
                } else {
                    // The item is a directive with a value, or part of a date. Both are ignored.
                    item = "";
                }
            }
            if ours {
                found |= read(item);
            }
        }
        found
    }
}

/// Whether directives that are addressed to `name` apply to `product`.
fn concerns(name: &str, product: &str) -> bool {
    let product = product_token(product);
    name == "*"
        || name.eq_ignore_ascii_case("robots")
        || (!product.is_empty() && name.eq_ignore_ascii_case(product))
}

/// Whether the text before a colon is an agent name rather than a directive with a value.
fn is_agent(name: &str) -> bool {
    let word = name == "*"
        || (name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/')
            }));
    word && !WITH_VALUE
        .iter()
        .any(|directive| directive.eq_ignore_ascii_case(name))
}

/// Reads directives separated by commas, semicolons or white space. Unknown ones are ignored.
fn read(content: &str) -> Directives {
    let mut found = Directives::default();
    for word in content.split(|c: char| c == ',' || c == ';' || c.is_whitespace()) {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        found |= Directives {
            noindex: is("noindex") || is("none"),
            nofollow: is("nofollow") || is("none"),
            noarchive: is("noarchive") || is("nocache"),
        };
    }
    found
}

impl BitOr for Directives {
    type Output = Directives;

    fn bitor(self, other: Directives) -> Directives {
        Directives {
            noindex: self.noindex | other.noindex,
            nofollow: self.nofollow | other.nofollow,
            noarchive: self.noarchive | other.noarchive,
        }
    }
}

impl BitOrAssign for Directives {
    fn bitor_assign(&mut self, other: Directives) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the letters `i`, `f` and `a` for the directives noindex, nofollow and noarchive that are set.
    fn letters(directives: Directives) -> String {
        [
            (directives.noindex, 'i'),
            (directives.nofollow, 'f'),
            (directives.noarchive, 'a'),
        ]
        .into_iter()
        .filter_map(|(set, letter)| set.then_some(letter))
        .collect()
    }

    #[track_caller]
    fn check_meta(name: &str, content: &str, expected: &str) {
        assert_eq!(
            letters(Directives::meta(name, content, "aranha/0.1")),
            expected,
            "{name}: {content}"
        );
    }

    #[track_caller]
    fn check_header(value: &str, expected: &str) {
        assert_eq!(
            letters(Directives::header(value, "aranha")),
            expected,
            "{value}"
        );
    }

    #[test]
    fn meta_tag() {
        check_meta("robots", "noindex, nofollow", "if");
        check_meta("ROBOTS", "NOINDEX,NOARCHIVE", "ia");
        check_meta("robots", "none", "if");
        check_meta("robots", "noindex nofollow", "if");
        check_meta("robots", "index, follow, all", "");
        check_meta("robots", "", "");
        check_meta("aranha", "nofollow", "f");
        check_meta("googlebot", "noindex", "");
        check_meta("description", "noindex", "");
        check_meta(
            "robots",
            "unavailable_after: Sunday, 03-Apr-22 15:00:00 PST, nofollow",
            "f",
        );
        check_meta("robots", "max-snippet:-1, noindexed", "");
    }

    #[test]
    fn header() {
        check_header("noindex", "i");
        check_header("noindex, nofollow", "if");
        check_header("none", "if");
        check_header("googlebot: noindex", "");
        check_header("googlebot: noindex, nofollow", "");
        check_header("aranha: noindex, nofollow", "if");
        check_header("googlebot: nofollow, Aranha: noindex", "i");
        check_header("noarchive, googlebot: nofollow", "a");
        check_header("unavailable_after: 25 Jun 2010 15:00:00 PST", "");
        check_header("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", "i");
        check_header(
            "unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, nofollow",
            "f",
        );
        check_header(
            "googlebot: unavailable_after: 2010-06-25T15:00:00Z, noindex",
            "",
        );
        check_header(
            "aranha: unavailable_after: 2010-06-25T15:00:00Z, noindex",
            "i",
        );
        check_header("max-snippet:20, nofollow, max-image-preview: large", "f");
        check_header("*: nofollow", "f");
        check_header("", "");
        check_header(":,:noindex", "");
    }

    #[test]
    fn merge() {
        let mut both = Directives::meta("robots", "noindex", "aranha");
        both |= Directives::header("nofollow", "aranha");
        assert_eq!(letters(both), "if");
    }
}
