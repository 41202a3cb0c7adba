//! Media types: what was declared, what the content is.

use std::borrow::Cow;
use std::fmt;

/// A media type without parameters, in lower case: `text/html`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MediaType(Cow<'static, str>);

impl MediaType {
    /// Unknown bytes.
    pub const BINARY: MediaType = MediaType(Cow::Borrowed("application/octet-stream"));
    /// HTML.
    pub const HTML: MediaType = MediaType(Cow::Borrowed("text/html"));

    /// Type and subtype, lower case, no parameters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// HTML or XHTML: what links are read from.
    pub fn is_html(&self) -> bool {
        matches!(self.as_str(), "text/html" | "application/xhtml+xml")
    }
}

impl Default for MediaType {
    fn default() -> Self {
        MediaType::BINARY
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for MediaType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MediaType({})", self.0)
    }
}
