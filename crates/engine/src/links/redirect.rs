//! The target of a redirect.

use aranha_fetch::FetchResponse;
use aranha_frontier::Hop;
use aranha_url::{Base, CanonUrl};

use crate::node::CrawlPolicy;

/// The target of a redirect. It may be out of scope.
#[derive(Clone, Debug)]
pub(crate) struct RedirectTarget {
    pub(crate) target: CanonUrl,
    /// The path as the server wrote it. It is requested if the canonical target is the redirected page itself, because
    /// the canonical path would only lead to the same redirect again.
    pub(crate) literal_path: String,
}

/// Reads `Location`. `hop` led to the page that redirects. The error says why there is no usable target. It is empty if
/// the header is missing.
pub(crate) fn redirect_target(
    policy: &CrawlPolicy,
    url: &CanonUrl,
    hop: Hop,
    response: &FetchResponse,
) -> Result<RedirectTarget, String> {
    let href = response.headers.get("location").ok_or_else(String::new)?;
    let href = String::from_utf8_lossy(href);
    let base = Base::of(url);
    let target = policy
        .redirect_canon(hop)
        .join(&base, &href)
        .map_err(|rejected| rejected.to_string())?;
    let literal_path = match policy.literal.join(&base, &href) {
        Ok(literal) => literal.path().to_owned(),
        Err(_) => target.path().to_owned(),
    };
    Ok(RedirectTarget {
        target,
        literal_path,
    })
}
