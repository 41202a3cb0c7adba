//! Reasons why the canonicaliser rejects a URL. `aranha url canon` and `aranha why` print them unchanged.

/// Why a text is not a URL that can be crawled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// Not a URL even with the tolerance of browsers (U7).
    #[error("malformed URL: {0}")]
    Malformed(String),
    /// A URL with a scheme other than http and https.
    #[error("the scheme is `{0}`, not http or https")]
    Scheme(String),
    /// A URL without a host, such as `http:///`.
    #[error("no host in the URL")]
    NoHost,
    /// Growing URLs (U6): longer than [`crate::UrlRules::max_length`].
    #[error("URL of {length} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Length in bytes of the canonical text, or of the input if that is rejected before parsing.
        length: usize,
        /// The configured limit.
        limit: usize,
    },
    /// Growing URLs (U6): more repetitions of a path component than [`crate::UrlRules::max_repeats`] allows.
    #[error("path component `{component}` is repeated too often")]
    Repeats {
        /// The repeated component.
        component: String,
    },
}
