//! Reasons why the canonicaliser rejects a URL. `aranha url canon` and `aranha why` print them unchanged.

/// Why a text is not a URL that can be crawled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// Text that is not a URL even for browsers, which tolerate many errors (U7).
    #[error("malformed URL: {0}")]
    Malformed(String),
    /// A URL with a scheme other than http and https.
    #[error("the scheme is `{0}`, not http or https")]
    Scheme(String),
    /// A URL without a host, such as `http:///`.
    #[error("no host in the URL")]
    NoHost,
    /// A growing URL (U6): it is longer than [`crate::UrlRules::max_length`].
    #[error("URL of {length} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Length in bytes of the canonical text, or of the input if the input is rejected before parsing.
        length: usize,
        /// The configured limit.
        limit: usize,
    },
    /// A growing URL (U6): a path component is repeated more often than [`crate::UrlRules::max_repeats`] allows.
    #[error("path component `{component}` is repeated too often")]
    Repeats {
        /// The repeated component.
        component: String,
    },
    /// A growing URL (U6): its path has more slashes than [`crate::UrlRules::max_slashes`].
    #[error("path with {slashes} slashes; the limit is {limit}")]
    TooManySlashes {
        /// Number of slashes in the path.
        slashes: usize,
        /// The configured limit.
        limit: usize,
    },
}
