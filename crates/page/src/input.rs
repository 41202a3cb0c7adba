//! The parameter of [`read`](crate::read): the parts of an HTTP response that are needed to read its body.

/// The URL, headers and body of a fetched page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Input<'a> {
    /// URL of the page. Its file extension is a hint for the media type, its top-level domain for the character set.
    pub url: &'a str,
    /// The `Content-Type` header as sent.
    pub content_type: Option<&'a str>,
    /// The body without transfer and content coding. A size limit may have cut it off.
    pub body: &'a [u8],
    /// The `Content-Language` header as sent. Used when the page itself declares no language.
    pub content_language: Option<&'a str>,
}
