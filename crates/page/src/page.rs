//! The result of reading: one record with everything that later steps need to know about a page.

use crate::{Link, MediaType, PageRemark};

/// The content of a page. Hrefs are as written; the `aranha-url` crate resolves them against the base.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The media type, after the declared type was checked against the content.
    pub media_type: MediaType,
    /// The type as declared (without parameters, lower case), when a header was sent.
    pub declared_type: Option<String>,
    /// Name of the character set by the Encoding Standard ("UTF-8", "windows-1252"); empty when the content is
    /// not text.
    pub charset: &'static str,
    /// `<title>`, white space folded.
    pub title: Option<String>,
    /// `<meta name=description>`, else `og:description`.
    pub description: Option<String>,
    /// `<html lang>`, else `<meta http-equiv=content-language>`, else the `Content-Language` header when it names
    /// one language.
    pub language: Option<String>,
    /// `<link rel=canonical>`, as written; it is among the links too.
    pub canonical: Option<String>,
    /// The first `<base href>`, as written: what the links are relative to, itself relative to the page's URL.
    pub base: Option<String>,
    /// `(name, content)` of robots meta tags, in document order: `robots`, `googlebot` and the like, lower case.
    pub robots: Vec<(String, String)>,
    /// In document order, each distinct (href without its fragment, kind) once.
    pub links: Vec<Link>,
    /// When a sitemap or feed says that a link of its list last changed: (place in `links`, milliseconds since 1970),
    /// in order of place. A claim, not checked against any clock.
    pub link_dates: Vec<(usize, i64)>,
    /// Readable text: words separated by one space, block elements break lines; no scripts, no styles.
    pub text: String,
    /// xxh3-64 of the text with line breaks taken as spaces, so that mark-up and formatting do not matter (D2).
    /// 0 when there is no text.
    pub text_digest: u64,
    /// What near duplicates are known by: [`is_near_duplicate`](crate::is_near_duplicate) and [`sketch_distance`](crate::sketch_distance) compare two. 0 when
    /// there is no text or too little (under ten words).
    pub sketch: u64,
    /// Number of words of the text. Scripts without spaces are counted in characters.
    pub words: u32,
    /// Faults of the page, in the order they were found.
    pub remarks: Vec<PageRemark>,
}
