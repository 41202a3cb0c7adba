//! The faults that the reader found in a page, for logs and statistics. A remark never stops the reading.

use std::fmt;

/// One fault in a page, and how the reader handled it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageRemark {
    /// The content contradicts the `Content-Type` header. The type of the content was used.
    TypeMismatch {
        /// The type in the header.
        declared: String,
        /// The type of the content.
        found: String,
    },
    /// There is no usable `Content-Type` header. The type comes from the content or the file extension.
    TypeMissing,
    /// The declared character set is not in the Encoding Standard and was ignored.
    CharsetUnknown {
        /// The label, truncated to 40 bytes.
        label: String,
    },
    /// UTF-8 was declared, but the content is not UTF-8. The detected character set was used.
    CharsetMismatch {
        /// Name of the declared character set.
        declared: &'static str,
        /// Name of the detected character set.
        found: &'static str,
    },
    /// Bytes that are invalid in the character set were replaced by U+FFFD.
    MalformedCharacters,
    /// Hrefs longer than [`Options::max_href`](crate::Options::max_href) were dropped.
    LongHrefs {
        /// Number of dropped hrefs.
        count: usize,
        /// Length of the longest dropped href in bytes.
        longest: usize,
    },
    /// Only the first [`Options::max_links`](crate::Options::max_links) links were kept. For the entries of a sitemap
    /// the limit is at least 50,000.
    LinksTruncated {
        /// Number of dropped links, duplicates included.
        dropped: usize,
    },
    /// Only the first [`Options::max_text`](crate::Options::max_text) bytes of text were kept.
    TextTruncated,
    /// The page ended inside a tag or inside a raw text element such as a script, style sheet or title.
    Unterminated,
    /// A gzip sitemap decompresses to more than [`Options::max_unpacked`](crate::Options::max_unpacked) bytes. The
    /// bytes beyond this limit were dropped.
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
                "{count} hrefs too long, dropped (longest {longest} bytes)"
            ),
            PageRemark::LinksTruncated { dropped } => {
                write!(formatter, "too many links, {dropped} dropped")
            }
            PageRemark::TextTruncated => formatter.write_str("text truncated"),
            PageRemark::Unterminated => formatter.write_str("ends inside a tag or a script"),
            PageRemark::SitemapTruncated => formatter.write_str("decompressed sitemap truncated"),
            PageRemark::UnsupportedBrowser => {
                formatter.write_str("says that the browser is not supported")
            }
        }
    }
}
