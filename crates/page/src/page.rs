//! The result of [`read`](crate::read): everything about a page that the later steps of a crawl use.

use crate::{FoundLanguage, Link, MediaType, PageRemark};

/// The content of a page. Hrefs are as written; the `aranha-url` crate resolves them against the base.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The media type, after the declared type was checked against the content.
    pub media_type: MediaType,
    /// Name of the character set in the Encoding Standard ("UTF-8", "windows-1252"). Empty if the content is not text.
    pub charset: &'static str,
    /// The first `<title>`, with white space folded to single spaces.
    pub title: Option<String>,
    /// `<meta name=description>`; if absent, `og:description`.
    pub description: Option<String>,
    /// `<html lang>`; if absent, `<meta http-equiv=content-language>`; if absent, the `Content-Language` header. A list
    /// of languages is ignored.
    pub language: Option<String>,
    /// The language of the text. `None` if the text has fewer than 50 characters or is not in a language, and if
    /// [`Options::identify_language`](crate::Options::identify_language) is off.
    pub language_found: Option<FoundLanguage>,
    /// The first `<link rel=canonical>`, as written. It is also in `links`.
    pub canonical: Option<String>,
    /// The first `<base href>`, as written. Links are relative to this base, and the base is relative to the URL of the
    /// page.
    pub base: Option<String>,
    /// Whether the page has a `<link rel=icon>`. If not, browsers load `/favicon.ico` of the site.
    pub has_icon: bool,
    /// `(name, content)` of the robots meta tags, in document order. The name (`robots`, `googlebot` …) is in lower
    /// case.
    pub robots: Vec<(String, String)>,
    /// The links in document order. Each pair of href (without fragment) and kind occurs once.
    pub links: Vec<Link>,
    /// Dates that a sitemap or feed gives for its entries, as pairs (index in `links`, milliseconds since 1970) sorted
    /// by index. The dates are not checked against a clock.
    pub link_dates: Vec<(usize, i64)>,
    /// Readable text: words separated by one space, or by one line break between block elements. Scripts and style
    /// sheets are not part of it.
    pub text: String,
    /// xxh3-64 of the text with line breaks read as spaces, so that mark-up and formatting do not matter (D2). 0 if
    /// there is no text.
    pub text_digest: u64,
    /// `SimHash` of the text, for [`is_near_duplicate`](crate::is_near_duplicate). 0 if the text has fewer than ten
    /// words (D3).
    pub sketch: u64,
    /// Number of words in the text. In scripts without spaces (Chinese, Thai …), every character of a long word counts
    /// as a word.
    pub words: u32,
    /// Faults of the page, in the order they were found.
    pub remarks: Vec<PageRemark>,
}
