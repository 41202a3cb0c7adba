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
//! Beside the flow, [`Rewrite`] puts other links into a page that is taken out of the archive (`spot` finds them).
//!
//! **What always holds.** [`read`] never fails and never panics, whatever the bytes: what is wrong with a page is
//! in [`Page::remarks`]. Time is linear in the length of the body; memory is bounded by the body and by
//! [`Options`]. There is no I/O, no clock, no global state: the same input gives the same page. URLs are handed
//! on as written, not joined with the base and not judged: that is the business of the URL crate.
//!
//! Read [`Page`] first, then `html`.

#[cfg(test)]
mod agreement;
mod charset;
mod date;
mod element;
mod entities;
mod foreign;
mod gather;
mod harvest;
mod html;
mod lanes;
mod link;
mod listing;
mod media;
mod meta;
mod name;
mod options;
mod packed;
mod page;
mod pattern;
mod prescan;
mod raw;
mod reference;
mod rel;
mod remark;
mod rewrite;
mod sketch;
mod sniff;
mod spot;
mod srcset;
mod style;
mod tag;
mod text;
mod tokenizer;
mod wall;
mod xml;

pub use link::{Link, LinkKind};
pub use media::MediaType;
pub use options::Options;
pub use page::Page;
pub use remark::Remark;
pub use rewrite::Rewrite;
pub use sketch::{NEAR, distance, near};

/// What a fetch hands over.
#[derive(Debug, Clone, Copy, Default)]
pub struct Input<'a> {
    /// Address of the page: its extension is a hint for the media type, its top-level domain for the character set.
    pub url: &'a str,
    /// The `Content-Type` header as sent.
    pub content_type: Option<&'a str>,
    /// The body without transfer and content coding, possibly cut off by a size limit.
    pub body: &'a [u8],
    /// The `Content-Language` header as sent; used when the page itself is silent.
    pub content_language: Option<&'a str>,
}

/// Reads a page. Never fails; the crate's own page says what that means.
pub fn read(input: &Input<'_>, options: &Options) -> Page {
    let mut page = Page::default();
    let (mut media_type, declared) =
        media::decide(input.content_type, input.url, input.body, &mut page.remarks);
    let unpacked = packed::unpack(input.url, input.body, options.max_unpacked);
    let mut body = input.body;
    if let Some(unpacked) = &unpacked {
        media_type = unpacked.media_type.clone();
        body = &unpacked.body;
        if unpacked.cut {
            page.remarks.push(Remark::UnpackedCut);
        }
    }
    if media_type.is_text() {
        content(input, body, &media_type, options, &mut page);
    }
    if page.language.is_none() {
        page.language = input
            .content_language
            .and_then(|value| meta::language(value.as_bytes()));
    }
    page.media_type = media_type;
    page.declared = declared;
    page
}

/// Reads what is made of characters.
fn content(
    input: &Input<'_>,
    body: &[u8],
    media_type: &MediaType,
    options: &Options,
    page: &mut Page,
) {
    let (html, xml) = (media_type.is_html(), media_type.is_xml());
    let decoded = charset::decode(
        body,
        input.content_type,
        input.url,
        media_type,
        &mut page.remarks,
    );
    page.charset = decoded.charset;
    if html {
        html::read(&decoded.text, xml, options, page);
    } else if xml {
        listing::read(&decoded.text, options, page);
    } else if *media_type == MediaType::TEXT && options.text {
        let mut words = text::Text::new(options.max_text, options.max_word, true);
        words.push(decoded.text.as_bytes());
        keep(&mut words, page);
    }
}

/// Keeps a complete text, and what is derived from it.
fn keep(words: &mut text::Text, page: &mut Page) {
    let (text, cut) = words.finish();
    page.text_digest = text::digest(&text);
    (page.words, page.sketch) = sketch::of(&text);
    page.text = text;
    if cut {
        page.remarks.push(Remark::TextCut);
    }
}
