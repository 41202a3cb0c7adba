//! Pages from a proxy's cache, which its users were served just now (I5): their own servers hear nothing of it.

use std::net::SocketAddr;

use aranha_fetch::{Failure, FetchRequest, FetchSession, Fetched, Resolved};
use aranha_frontier::{Hop, Pending};
use aranha_url::{CanonUrl, Scheme};

use crate::node::Context;
use crate::signals::Source;
use crate::status::tally::add;

/// The proxy in whose cache the page should be, because its users were served it just now (I5).
pub(super) fn proxy(context: &Context, pending: &Pending, url: &CanonUrl) -> Option<SocketAddr> {
    let told = match &pending.past {
        Some(past) => past.claim == Source::Proxy as u8,
        None => pending.hop == Hop::ProxyCache && pending.tries == 0,
    };
    if !told || url.scheme() != Scheme::Http {
        return None;
    }
    context.config.proxy_cache.address()
}

/// Takes the page from the proxy's cache and only from there: its own server hears nothing of it.
pub(super) async fn ask(
    context: &Context,
    session: &mut FetchSession,
    url: &CanonUrl,
    mut headers: Vec<(&'static str, String)>,
    proxy: SocketAddr,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    headers.push(("Cache-Control", "only-if-cached".to_owned()));
    let mut request = FetchRequest::new(url, proxy.ip());
    request.proxy = Some(proxy);
    request.headers = headers;
    let slot = context.load.enter().await;
    let fetched = context.web.fetch(session, request).await;
    drop(slot);
    add(
        &context.counters.bytes_received,
        fetched.response.len() as u64,
    );
    (None, Ok(fetched))
}

/// Whether the proxy had the page: it answers 504 when it had not (RFC 9111, 5.2.1.7).
pub(super) fn has(asked: &Result<Fetched, Failure>) -> bool {
    asked.as_ref().is_ok_and(|fetched| {
        let answer = fetched.result.as_ref();
        answer.is_ok_and(|answer| answer.status != 504)
    })
}
