//! Reads the body of an HTTP response into a [`Page`]: media type, character set, links, metadata, text and digests.
//!
//! ```
//! use aranha_page::{Input, Options, read};
//!
//! let page = read(
//!     &Input {
//!         url: "http://example.org/",
//!         content_type: Some("text/html; charset=utf-8"),
//!         body: b"<title>Hello</title><p>Some <b>text</b> and a <a href='/next'>link</a>.",
//!         content_language: None,
//!     },
//!     &Options::default(),
//! );
//! assert_eq!(page.title.as_deref(), Some("Hello"));
//! assert_eq!(page.text, "Some text and a link.");
//! assert_eq!(page.links[0].href, "/next");
//! ```
//!
//! In the flow of a crawl, this crate comes after the fetch and before the verdict. A page passes through these steps:
//!
//! 1. `media_type` compares the declared type with the first bytes and the file extension (WHATWG MIME Sniffing; T3).
//! 2. `format` chooses the reader for that type. A reader for a new format, such as PDF, is added there.
//! 3. `charset` decodes the body to UTF-8: byte-order mark, header, `meta`, then detection (WHATWG HTML, 13.2.3).
//! 4. `format/html` makes one pass over the tokens of `html_syntax`; `format/sitemap_feed` reads sitemaps and feeds;
//!    `format/style_sheet` and `format/plain_text` read style sheets and text. `links` collects the links, and `text`
//!    builds the readable text (T1, T2, T5).
//! 5. `text` computes the digest of the text and the sketch that finds near duplicates (D2, D3).
//! 6. `language` identifies the language of the text (T6).
//!
//! Documents such as PDF are read by another crate, in another process. `document` adds their content to a page.
//!
//! [`LinkRewriter`] is not part of that flow. It replaces the links of an archived page for an offline copy.
//!
//! **Invariants.** [`read`] never fails and never panics. Faults of a page are listed in [`Page::remarks`]. Time is
//! linear in the length of the body; memory is bounded by the body and by [`Options`]. There is no I/O, no clock, and
//! no global state except constant tables. So the same input gives the same page. URLs are returned as written; the
//! `aranha-url` crate resolves them.
//!
//! Read [`Page`] first, then `format/mod.rs`.

mod charset;
mod document;
mod format;
mod html_syntax;
mod input;
mod language;
mod links;
mod media_type;
mod options;
mod page;
mod remark;
mod rewrite;
mod swar;
mod text;

pub use document::DocumentContent;
pub use input::Input;
pub use language::{FoundLanguage, identify_language, iso_639_3};
pub use links::{Link, LinkKind};
pub use media_type::{MediaType, is_script};
pub use options::Options;
pub use page::Page;
pub use remark::PageRemark;
pub use rewrite::LinkRewriter;
pub use text::near_duplicate::is_near_duplicate;

/// Decides the media type of a body from its declared type, its first bytes and the file extension of its URL (T3).
pub fn media_type(content_type: Option<&str>, url: &str, body: &[u8]) -> MediaType {
    media_type::decide(content_type, url, body, &mut Vec::new())
}

/// Reads a page. Never fails: faults are listed in [`Page::remarks`].
pub fn read(input: &Input<'_>, options: &Options) -> Page {
    let mut page = Page::default();
    page.media_type =
        media_type::decide(input.content_type, input.url, input.body, &mut page.remarks);
    format::read(input, options, &mut page);
    if page.language.is_none() {
        page.language = input
            .content_language
            .and_then(|value| language::parse_tag(value.as_bytes()));
    }
    page.identify_language(input.url, options);
    page
}
