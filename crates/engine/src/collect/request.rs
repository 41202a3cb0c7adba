//! One request and its end: the name resolved, the address's gate passed, the caps of the crawl kept.
//!
//! Whoever asks the web for anything, a page or robots.txt, asks here: **no request is made beside the gates**
//! (invariant 2).

use std::time::Duration;

use aranha_fetch::{Failure, FetchRequest, FetchSession, Fetched, Fetcher, Resolved, Truncated};
use aranha_url::CanonUrl;
use tokio::time::Instant;

use crate::node::Context;
use crate::status::tally::add;

/// After an answer that was broken off the pause begins when the server knows: this much later at most.
const FAREWELL: Duration = Duration::from_millis(200);
/// Addresses of a name tried before its server counts as unreachable.
const ADDRESSES: usize = 2;
/// robots.txt is read up to 500 KiB (RFC 9309, 2.5).
pub(crate) const ROBOTS_SIZE: usize = 500 << 10;

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Page,
    /// A page of a server that has refused to send a part of it.
    WholePage,
    /// robots.txt, whatever its media type.
    Robots,
}

/// One request and its end, with the name resolved and the address's courtesy kept.
pub(crate) async fn ask(
    context: &Context,
    session: &mut FetchSession,
    url: &CanonUrl,
    headers: &[(&'static str, String)],
    wanted: Wanted,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    let resolved = match context.web.resolve(url.host()).await {
        Ok(resolved) => resolved,
        Err(failure) => return (None, Err(failure)),
    };
    let mut end = Err(Failure::DnsNotFound);
    for &address in resolved.addresses.iter().take(ADDRESSES) {
        if context.config.crawl.contact.is_empty() && Fetcher::is_public(address) {
            let rule = "a public address, and no contact was given (--contact)".to_owned();
            end = Err(Failure::AddressRefused { address, rule });
            continue;
        }
        context.rate.wait().await;
        let permit = context.gates.enter(address).await;
        let mut request = FetchRequest::new(url, address);
        request.headers.extend_from_slice(headers);
        request.without_range = wanted != Wanted::Page;
        request.accept_any_type = wanted == Wanted::Robots;
        request.max_body = request.accept_any_type.then_some(ROBOTS_SIZE as u64);
        let slot = context.load.enter().await;
        if context.blocks_site_of(url) {
            // While this waited. The visit sets the site aside when it hears of it, with this page.
            if let Some(permit) = permit {
                permit.give_back();
            }
            let rule = "the black list names the site".to_owned();
            return (None, Err(Failure::AddressRefused { address, rule }));
        }
        let mut fetched = context.web.fetch(session, request).await;
        drop(slot);
        if was_broken_off(&fetched) {
            // The server hears of it as much later as it took to hear of the request.
            tokio::time::sleep(fetched.timings.first_byte.min(FAREWELL)).await;
            fetched.finished = Instant::now();
        }
        drop(permit);
        let answered = fetched.result.is_ok();
        context
            .load
            .record(answered.then_some(fetched.timings.first_byte));
        let received = fetched.response.len() as u64;
        context.rate.charge(received);
        add(&context.counters.bytes_received, received);
        let unreachable = matches!(
            fetched.result,
            Err(Failure::ConnectFailed(_) | Failure::ConnectTimeout)
        );
        end = Ok(fetched);
        if !unreachable {
            break;
        }
    }
    (Some(resolved), end)
}

/// Whether the end of the answer was ours. What is no answer is not read to its end.
fn was_broken_off(fetched: &Fetched) -> bool {
    match &fetched.result {
        Ok(answer) => answer
            .truncated
            .is_some_and(|reason| reason != Truncated::Disconnect),
        Err(failure) => matches!(failure, Failure::Protocol(_) | Failure::Stalled),
    }
}
