//! The faults that the reader found in a page, for logs and statistics. A remark is never an error.

use std::fmt;

/// One fault in a page, and how the reader handled it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageRemark {
    /// The content contradicts the `Content-Type` header. The type of the content was used.
    TypeMismatch {
        /// As the header says.
        declared: String,
        /// As found.
        found: String,
    },
    /// There is no usable `Content-Type` header. The type comes from the content or the file extension.
    TypeMissing,
    /// The declared character set is not in the Encoding Standard and was ignored.
    CharsetUnknown {
        /// The label, cut to a readable length.
        label: String,
    },
    /// UTF-8 was declared, but the content is not UTF-8. The detected character set was used.
    CharsetMismatch {
        /// As declared.
        declared: &'static str,
        /// As detected.
        found: &'static str,
    },
    /// Bytes that are invalid in the character set were replaced by U+FFFD.
    MalformedCharacters,
    /// Hrefs over [`Options::max_href`](crate::Options::max_href) were left out.
    LongHrefs {
        /// How many.
        count: usize,
        /// Bytes of the longest.
        longest: usize,
    },
    /// Only the first [`Options::max_links`](crate::Options::max_links) links were kept, or the first of a sitemap.
    LinksTruncated {
        /// How many more there were (repeats counted).
        left_out: usize,
    },
    /// Only the first [`Options::max_text`](crate::Options::max_text) bytes of text were kept.
    TextTruncated,
    /// The page ended inside a tag, or inside an element of raw text: a script, a style sheet, a title.
    Unterminated,
    /// A gzip sitemap decompresses to more than the limit. The rest was dropped.
    SitemapTruncated,
    /// The page only says that the browser is not supported, or that JavaScript or cookies must be enabled (T9).
    UnsupportedBrowser,
}

impl fmt::Display for PageRemark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageRemark::TypeMismatch { declared, found } => {
                write!(formatter, "declared as {declared}, is {found}")
            }
            PageRemark::TypeMissing => formatter.write_str("no media type declared"),
            PageRemark::CharsetUnknown { label } => {
                write!(formatter, "unknown character set \"{label}\"")
            }
            PageRemark::CharsetMismatch { declared, found } => {
                write!(formatter, "declared as {declared}, read as {found}")
            }
            PageRemark::MalformedCharacters => formatter.write_str("malformed characters replaced"),
            PageRemark::LongHrefs { count, longest } => write!(
                formatter,
                "{count} hrefs too long, left out (longest {longest} bytes)"
            ),
            PageRemark::LinksTruncated { left_out } => {
                write!(formatter, "too many links, {left_out} left out")
            }
            PageRemark::TextTruncated => formatter.write_str("text cut"),
            PageRemark::Unterminated => formatter.write_str("ends inside a tag or a script"),
            PageRemark::SitemapTruncated => formatter.write_str("unpacked sitemap cut"),
            PageRemark::UnsupportedBrowser => {
                formatter.write_str("says that the browser is not supported")
            }
        }
    }
}
