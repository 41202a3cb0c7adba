//! What was wrong with a page: a closed list, for logs and statistics. A remark is never a failure.

use std::fmt;

/// One fault that reading met and worked around.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Remark {
    /// The header says one thing, the content another: the content was believed.
    TypeRepaired {
        /// As the header says.
        declared: String,
        /// As found.
        found: String,
    },
    /// No usable `Content-Type` header: the type is from the content or the extension.
    TypeMissing,
    /// A character set label that the Encoding Standard does not know; it was passed over.
    CharsetUnknown {
        /// The label, cut to a readable length.
        label: String,
    },
    /// Declared UTF-8, plainly something else: the detector was believed.
    CharsetRepaired {
        /// As declared.
        declared: &'static str,
        /// As detected.
        found: &'static str,
    },
    /// Bytes that the character set does not allow were replaced by U+FFFD.
    Malformed,
    /// Hrefs over [`Options::max_href`](crate::Options::max_href) were left out.
    LongHrefs {
        /// How many.
        count: usize,
        /// Bytes of the longest.
        longest: usize,
    },
    /// Only the first [`Options::max_links`](crate::Options::max_links) links were kept, or the first of a sitemap.
    LinksCut {
        /// How many more there were (repeats counted).
        left_out: usize,
    },
    /// Only the first [`Options::max_text`](crate::Options::max_text) bytes of text were kept.
    TextCut,
    /// The page ended inside a tag, or inside an element of raw text: a script, a style sheet, a title.
    Unterminated,
    /// A sitemap in a gzip file has more than 50 MiB inside: the rest was left out.
    UnpackedCut,
    /// The page is a wall: it only says that the browser is not supported, or that JavaScript or cookies must be
    /// switched on (T9).
    Browser,
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::TypeRepaired { declared, found } => {
                write!(formatter, "declared as {declared}, is {found}")
            }
            Remark::TypeMissing => formatter.write_str("no media type declared"),
            Remark::CharsetUnknown { label } => {
                write!(formatter, "unknown character set \"{label}\"")
            }
            Remark::CharsetRepaired { declared, found } => {
                write!(formatter, "declared as {declared}, read as {found}")
            }
            Remark::Malformed => formatter.write_str("malformed characters replaced"),
            Remark::LongHrefs { count, longest } => write!(
                formatter,
                "{count} hrefs too long, left out (longest {longest} bytes)"
            ),
            Remark::LinksCut { left_out } => {
                write!(formatter, "too many links, {left_out} left out")
            }
            Remark::TextCut => formatter.write_str("text cut"),
            Remark::Unterminated => formatter.write_str("ends inside a tag or a script"),
            Remark::UnpackedCut => formatter.write_str("unpacked sitemap cut"),
            Remark::Browser => formatter.write_str("says that the browser is not supported"),
        }
    }
}
