//! Pages from the cache of a proxy (I5). The proxy has just served such a page to a user, so the page's own server need
//! not be asked. This proxy (`[proxy_cache]`) is not `fetch.proxy`, through which requests are sent to servers.

use std::net::SocketAddr;

use aranha_fetch::{Failure, FetchRequest, FetchSession, Fetched, Resolved};
use aranha_frontier::{Hop, Pending};
use aranha_url::{CanonUrl, Scheme};

use crate::node::Context;
use crate::signals::Source;
use crate::status::tally::add;

/// The address of the proxy whose cache is asked for this page. `None` unless the proxy has announced the page and the
/// URL of the page is http.
pub(super) fn address(context: &Context, page: &Pending, url: &CanonUrl) -> Option<SocketAddr> {
    let is_announced = match &page.past {
        Some(past) => past.claim == Source::Proxy as u8,
        None => page.hop == Hop::ProxyCache && page.tries == 0,
    };
    if !is_announced || url.scheme() != Scheme::Http {
        return None;
    }
    context.config().proxy_cache.address()
}

/// Requests the page from the proxy's cache. The proxy does not forward the request (`only-if-cached`).
pub(super) async fn request(
    context: &Context,
    session: &mut FetchSession,
    url: &CanonUrl,
    mut headers: Vec<(&'static str, String)>,
    cache: SocketAddr,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    headers.push(("Cache-Control", "only-if-cached".to_owned()));
    let mut request = FetchRequest::by_name(url);
    request.cache = Some(cache);
    request.headers = headers;
    let slot = context.network.load.enter().await;
    let fetched = context.network.web.fetch(session, request).await;
    drop(slot);
    add(
        &context.counters().bytes_received,
        fetched.received_length(),
    );
    (None, Ok(fetched))
}

/// Whether the proxy had the page. If not, the proxy responds with 504 (RFC 9111, 5.2.1.7).
pub(super) fn is_hit(result: &Result<Fetched, Failure>) -> bool {
    result.as_ref().is_ok_and(|fetched| {
        let response = fetched.result.as_ref();
        response.is_ok_and(|response| response.status != 504)
    })
}
