//! Chooses the reader for a body by its media type. Second step of [`read`](crate::read).
//!
//! Each format is one module with a function `read` that fills the [`Page`]:
//!
//! | format | module | fills |
//! |---|---|---|
//! | HTML, XHTML | `html` | links, metadata, text |
//! | sitemaps, RSS, Atom | `sitemap_feed` | links with their dates, title, language |
//! | plain text | `plain_text` | text |
//!
//! All other media types give a page without links or text.
//!
//! To add a format, for example PDF: add the module `pdf` with `read(body: &[u8], options: &Options, page: &mut Page)`,
//! a variant to [`Format`], its media type to `Format::of`, and an arm to the `match` in [`read`]. Like every reader,
//! it must not fail: what it cannot read becomes a [`PageRemark`].

mod html;
mod plain_text;
mod sitemap_feed;

use std::borrow::Cow;

use crate::{Input, MediaType, Options, Page, PageRemark, charset};

/// The formats that are read differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    /// HTML with XML syntax: `/>` ends any element, CDATA sections are text.
    Xhtml,
    /// Any XML except XHTML. Only sitemaps and feeds have content that is read.
    Xml,
    PlainText,
    /// Style sheets, scripts, JSON: only the character set is determined.
    OtherText,
    /// Images, archives, PDF and office documents: not read.
    Binary,
}

impl Format {
    fn of(media_type: &MediaType) -> Format {
        match (media_type.is_html(), media_type.is_xml()) {
            (true, false) => Format::Html,
            (true, true) => Format::Xhtml,
            (false, true) => Format::Xml,
            (false, false) if *media_type == MediaType::TEXT => Format::PlainText,
            (false, false) if media_type.is_text() => Format::OtherText,
            (false, false) => Format::Binary,
        }
    }
}

/// Reads the body into `page`, whose media type is already known.
pub(crate) fn read(input: &Input<'_>, options: &Options, page: &mut Page) {
    let body = decompress_sitemap(input, options, page);
    match Format::of(&page.media_type) {
        Format::Html => html::read(&decode(&body, input, page), false, options, page),
        Format::Xhtml => html::read(&decode(&body, input, page), true, options, page),
        Format::Xml => sitemap_feed::read(&decode(&body, input, page), options, page),
        Format::PlainText => plain_text::read(&decode(&body, input, page), options, page),
        Format::OtherText => {
            decode(&body, input, page);
        }
        // The reader of a binary format gets `&body`: nothing is decoded.
        Format::Binary => {}
    }
}

/// Decodes the body of a text format to UTF-8 and stores the name of its character set.
fn decode<'a>(body: &'a [u8], input: &Input<'_>, page: &mut Page) -> Cow<'a, str> {
    let decoded = charset::decode(
        body,
        input.content_type,
        input.url,
        &page.media_type,
        &mut page.remarks,
    );
    page.charset = decoded.charset;
    decoded.text
}

/// Returns the body to read. If it is a sitemap in a gzip file, that is the XML inside, whose media type replaces that
/// of the page.
fn decompress_sitemap<'a>(input: &Input<'a>, options: &Options, page: &mut Page) -> Cow<'a, [u8]> {
    let Some(sitemap) = sitemap_feed::gzip::decompress(input.url, input.body, options.max_unpacked)
    else {
        return Cow::Borrowed(input.body);
    };
    page.media_type = sitemap.media_type;
    if sitemap.truncated {
        page.remarks.push(PageRemark::SitemapTruncated);
    }
    Cow::Owned(sitemap.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_by_media_type() {
        for (media_type, expected) in [
            ("text/html", Format::Html),
            ("application/xhtml+xml", Format::Xhtml),
            ("application/sitemap+xml", Format::Xml),
            ("application/rss+xml", Format::Xml),
            ("text/xml", Format::Xml),
            ("image/svg+xml", Format::Xml),
            ("text/plain", Format::PlainText),
            ("text/css", Format::OtherText),
            ("application/json", Format::OtherText),
            ("application/pdf", Format::Binary),
            ("image/png", Format::Binary),
        ] {
            assert_eq!(Format::of(&media_type.into()), expected, "{media_type}");
        }
    }
}
