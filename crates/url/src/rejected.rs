//! Why a text is no URL for a crawl: data, not a failure of aranha. Every variant reads as one sentence, because
//! `aranha url canon` and `aranha why` print it as it is.

/// The closed list of reasons for which the canonicaliser gives no URL.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// Not even a browser would take it (U7).
    #[error("malformed URL: {0}")]
    Malformed(String),
    /// A URL, but not one that is fetched by HTTP.
    #[error("scheme `{0}` is not crawled: only http and https are")]
    Scheme(String),
    /// `http:///` and its kin.
    #[error("no host in the URL")]
    NoHost,
    /// Growing URLs (U6): longer than [`crate::UrlRules::max_length`].
    #[error("URL of {length} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Bytes of the canonical text, or of the text as found where that alone decides.
        length: usize,
        /// The limit in force.
        limit: usize,
    },
    /// Growing URLs (U6): one path component too often, see [`crate::UrlRules::max_repeats`].
    #[error("path component `{component}` is repeated too often")]
    Repeats {
        /// The component, as it stands in the path.
        component: String,
    },
}
