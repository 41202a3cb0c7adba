//! Switches and limits of the reader: the `[page]` section of the configuration.

use serde::{Deserialize, Serialize};

/// Switches and bounds of [`read`](crate::read). The defaults suit a crawl of pages for text; an archive that is
/// to be replayed wants `assets` as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Collect images, style sheets, scripts, media and other embedded files ([`LinkKind::Asset`](crate::LinkKind::Asset)).
    pub assets: bool,
    /// Collect the targets of forms that use GET.
    pub forms: bool,
    /// Collect URLs found by pattern in inline scripts and event handlers (T2). They are guesses.
    pub scripts: bool,
    /// Build the text. If false, [`Page::text`](crate::Page::text) is empty and its digest 0.
    pub text: bool,
    /// Maximum number of links per page. Further links are counted in a remark. A sitemap may have 50,000 entries.
    pub max_links: usize,
    /// Bytes of text kept per page.
    pub max_text: usize,
    /// Bytes of one href; longer ones are left out and remarked (68 KB of nulls have been seen in one, T1).
    pub max_href: usize,
    /// Characters of one word of text: longer strings without white space are left out (T5). 0 keeps all.
    /// Scripts written without spaces (Chinese, Japanese, Thai …) do not count.
    pub max_word: usize,
    /// Bytes unpacked of a sitemap in a gzip file. No line of the configuration: it follows the fetcher's limit on
    /// decoded bodies.
    #[serde(skip)]
    pub max_unpacked: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            assets: false,
            forms: false,
            scripts: false,
            text: true,
            max_links: 20_000,
            max_text: 4 << 20,
            max_href: 8 << 10,
            max_word: 30,
            // What the sitemap protocol allows one file to have.
            max_unpacked: 50 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_of_the_configuration() {
        let options: Options =
            toml::from_str("assets = true\nmax_word = 0").expect("a good section");
        let expected = Options {
            assets: true,
            max_word: 0,
            ..Options::default()
        };
        assert_eq!(options, expected);
        let error = toml::from_str::<Options>("asets = true").expect_err("an unknown key");
        assert!(error.to_string().contains("asets"), "{error}");
    }
}
