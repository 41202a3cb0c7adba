//! Chooses the reader for a body by its media type. Third step of [`read`](crate::read).
//!
//! Each format has one module with a `read` function that fills the [`Page`]:
//!
//! | format | module | fills |
//! |---|---|---|
//! | HTML, XHTML | `html` | links, metadata, text |
//! | sitemaps, RSS, Atom | `sitemap_feed` | links with their dates, title, language |
//! | plain text | `plain_text` | text |
//!
//! All other media types give a page without links or text. To add a format (PDF, for example), add a module here, a
//! variant to [`Format`] and an arm in [`read`]. Formats that are not made of characters read `body` directly.

mod html;
mod plain_text;
mod sitemap_feed;

use std::borrow::Cow;

use crate::{Input, MediaType, Options, Page, PageRemark, charset};

/// The formats that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    /// HTML with XML syntax: `/>` ends any element, CDATA sections are text.
    Xhtml,
    /// Any XML but XHTML. Only sitemaps and feeds have content that is read.
    Xml,
    PlainText,
    /// Style sheets, scripts, JSON: only the character set is determined.
    OtherText,
    /// Images, archives, documents such as PDF: not read.
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
    let body = unpack(input, options, page);
    let format = Format::of(&page.media_type);
    if format == Format::Binary {
        return;
    }
    let decoded = charset::decode(
        &body,
        input.content_type,
        input.url,
        &page.media_type,
        &mut page.remarks,
    );
    page.charset = decoded.charset;
    match format {
        Format::Html => html::read(&decoded.text, false, options, page),
        Format::Xhtml => html::read(&decoded.text, true, options, page),
        Format::Xml => sitemap_feed::read(&decoded.text, options, page),
        Format::PlainText => plain_text::read(&decoded.text, options, page),
        Format::OtherText | Format::Binary => {}
    }
}

/// The body to read. For a sitemap in a gzip file that is the XML inside, whose media type replaces the page's.
fn unpack<'a>(input: &Input<'a>, options: &Options, page: &mut Page) -> Cow<'a, [u8]> {
    let Some(unpacked) = sitemap_feed::gzip::unpack(input.url, input.body, options.max_unpacked)
    else {
        return Cow::Borrowed(input.body);
    };
    page.media_type = unpacked.media_type;
    if unpacked.cut {
        page.remarks.push(PageRemark::SitemapTruncated);
    }
    Cow::Owned(unpacked.body)
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
