//! Switches and limits of the reader: the `[page]` section of the configuration.

use serde::{Deserialize, Serialize};

/// Switches and limits of [`read`](crate::read). The defaults suit a crawl for text. An archive that will be replayed
/// also needs `assets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Collect images, style sheets, scripts, media and other embedded files
    /// ([`LinkKind::Asset`](crate::LinkKind::Asset)).
    pub assets: bool,
    /// Collect the targets of forms that use GET.
    pub forms: bool,
    /// Collect URLs found by pattern in inline scripts and event handlers (T2). They are guesses.
    pub scripts: bool,
    /// Build the text. If false, [`Page::text`](crate::Page::text) is empty, and the digest of the text is 0.
    pub text: bool,
    /// Identify the language of the text. Needs `text`. Off by default, because it takes about a tenth of the processor
    /// time of a crawl (docs/decisions/0016-languages.md).
    pub identify_language: bool,
    /// Maximum number of links per page. Further links are dropped and counted in a remark. For the entries of a
    /// sitemap the limit is at least 50,000.
    pub max_links: usize,
    /// Maximum bytes of text per page. Text beyond this length is dropped.
    pub max_text: usize,
    /// Maximum bytes of one href. Longer hrefs are dropped and counted in a remark. Hrefs with 68 KB of NUL characters
    /// have been seen (T1).
    pub max_href: usize,
    /// Maximum characters of one word of text. Longer strings without white space are dropped (T5). 0 means no limit.
    /// Characters of scripts without spaces (Chinese, Japanese, Thai …) are not counted.
    pub max_word: usize,
    /// Maximum decompressed bytes of a sitemap in a gzip file. This is not a configuration key; the crawl sets it to
    /// the fetcher's limit for decoded bodies.
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
            identify_language: false,
            max_links: 20_000,
            max_text: 4 << 20,
            max_href: 8 << 10,
            max_word: 30,
            // Maximum size of one sitemap file in the sitemaps.org protocol.
            max_unpacked: 50 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_section_with_defaults_and_unknown_key() {
        let options: Options =
            toml::from_str("assets = true\nmax_word = 0").expect("valid configuration section");
        let expected = Options {
            assets: true,
            max_word: 0,
            ..Options::default()
        };
        assert_eq!(options, expected);
        let error = toml::from_str::<Options>("asets = true").expect_err("unknown key");
        assert!(error.to_string().contains("asets"), "{error}");
    }
}
