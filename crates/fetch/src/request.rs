//! What is asked: one GET.

use std::net::IpAddr;

use aranha_url::CanonUrl;

/// One GET of one URL at one address.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The page.
    pub url: &'a CanonUrl,
    /// One of the addresses that [`Web::resolve`](crate::Web::resolve) gave; the guard looks at it again.
    pub address: IpAddr,
    /// Further headers as written on the wire: `Cookie`, `If-None-Match`, `If-Modified-Since`, `Range` …
    pub headers: Vec<(&'static str, String)>,
    /// Instead of `max_body` and `max_body_by_type`.
    pub max_body: Option<u64>,
    /// Take the body whatever its media type: robots.txt.
    pub any_type: bool,
}

impl<'a> Request<'a> {
    /// A plain GET.
    pub fn new(url: &'a CanonUrl, address: IpAddr) -> Self {
        Request {
            url,
            address,
            headers: Vec::new(),
            max_body: None,
            any_type: false,
        }
    }
}
