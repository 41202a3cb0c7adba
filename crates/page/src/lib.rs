//! Bytes to [`Page`]: media type, character set, links, metadata, text and its digest.
//!
//! In the flow this stands between Fetch and Verdict: it is given what a server sent (already without transfer
//! and content coding) and says what is in it. The steps, one module each:
//!
//! 1. `media`: the type that the header declares, checked against the first bytes (`sniff`), the file extension
//!    breaking ties; a type that lies is repaired and remarked (WHATWG MIME Sniffing, sections 4 to 7; T3);
//! 2. `charset`: byte-order mark, header, `meta` (`prescan`), then detection with the
//!    top-level domain as a hint (WHATWG HTML, section 13.2.3; Encoding Standard);
//! 3. `html`: one pass over the tokens (`tokenizer`, `raw`, `reference`); `element` says what each element means to a crawler, `gather` keeps the
//!    links, `text` keeps the words, `pattern` looks for URLs in scripts (T1, T2, T5); or `listing`: sitemaps and
//!    feeds, by the events of `xml`, unpacked before by `packed` where the file itself is a gzip file;
//! 4. `sketch`: what near duplicates are known by (D3); `wall`: whether the page only sends us away (T9).
//!
//! Beside the flow, [`LinkRewriter`] puts other links into a page that is taken out of the archive (`spot` finds them).
//!
//! **What always holds.** [`read`] never fails and never panics, whatever the bytes: what is wrong with a page is
//! in [`Page::remarks`]. Time is linear in the length of the body; memory is bounded by the body and by
//! [`Options`]. There is no I/O, no clock, no global state: the same input gives the same page. URLs are handed
//! on as written, not joined with the base and not judged: that is the business of the URL crate.
//!
//! Read [`Page`] first, then `html`.

mod charset;
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

pub use input::Input;
pub use links::{Link, LinkKind};
pub use media_type::MediaType;
pub use options::Options;
pub use page::Page;
pub use remark::PageRemark;
pub use rewrite::LinkRewriter;
pub use text::near_duplicate::{is_near_duplicate, sketch_distance};

/// Reads a page. Never fails; the crate's own page says what that means.
pub fn read(input: &Input<'_>, options: &Options) -> Page {
    let mut page = Page::default();
    let (media_type, declared) =
        media_type::decide(input.content_type, input.url, input.body, &mut page.remarks);
    page.media_type = media_type;
    page.declared_type = declared;
    format::read(input, options, &mut page);
    if page.language.is_none() {
        page.language = input
            .content_language
            .and_then(|value| language::tag(value.as_bytes()));
    }
    page
}
