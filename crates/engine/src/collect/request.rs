//! One request for a page or a robots.txt file: DNS lookup, address gate (`courtesy/address_gate.rs`), load limit,
//! HTTP.
//!
//! **Every request to a web server passes the gate of the server's address** (invariant 2).

use std::time::Duration;

use aranha_fetch::{Failure, FetchRequest, FetchSession, Fetched, Fetcher, Resolved, Truncated};
use aranha_url::CanonUrl;
use tokio::time::Instant;

use crate::node::Context;
use crate::status::tally::add;
use crate::visit::activity::Activity;

/// If aranha closes a connection before the end of the response, the courtesy pause begins when the server notices the
/// close. The server is assumed to notice within this time.
const MAX_CLOSE_DELAY: Duration = Duration::from_millis(200);
/// Maximum number of bytes of a robots.txt file that are read: 500 KiB (RFC 9309, 2.5).
pub(crate) const MAX_ROBOTS_SIZE: usize = 500 << 10;

/// The kind of document that is requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Page,
    /// A page that is requested without a range, because its server refused a range request.
    WholePage,
    /// A robots.txt file. Every media type is accepted.
    RobotsTxt,
}

/// Resolves the host and sends the request when the address gate opens. If an address cannot be reached, tries the next
/// address (RFC 1123, 2.3), until the attempts have taken `fetch.total_timeout`. `Err`: no request was sent. While the
/// request waits for DNS, the gate or the load limit, `activity` counts a wait.
pub(crate) async fn request(
    context: &Context,
    activity: &Activity,
    session: &mut FetchSession,
    url: &CanonUrl,
    headers: &[(&'static str, String)],
    kind: RequestKind,
) -> (Option<Resolved>, Result<Fetched, Failure>) {
    let network = &context.network;
    let wait = activity.wait();
    let resolved = match network.web.resolve(url.host()).await {
        Ok(resolved) => resolved,
        Err(failure) => return (None, Err(failure)),
    };
    drop(wait);
    let mut result = Err(Failure::DnsNotFound);
    let mut elapsed = Duration::ZERO;
    // The address of the open connection comes first, because the addresses before it may be unreachable.
    let connected = session
        .address()
        .filter(|address| resolved.addresses.contains(address));
    let others = resolved.addresses.iter().copied();
    let others = others.filter(|address| Some(*address) != connected);
    for address in connected.into_iter().chain(others) {
        if context.config().crawl.contact.is_empty() && Fetcher::is_public(address) {
            let rule = "a public address, and no contact was given (--contact)".to_owned();
            result = Err(Failure::AddressRefused { address, rule });
            continue;
        }
        let wait = activity.wait();
        let permit = network.gates.enter(address).await;
        let mut request = FetchRequest::new(url, address);
        request.headers.extend_from_slice(headers);
        request.without_range = kind != RequestKind::Page;
        request.accept_any_type = kind == RequestKind::RobotsTxt;
        request.max_body = request.accept_any_type.then_some(MAX_ROBOTS_SIZE as u64);
        let slot = network.load.enter().await;
        drop(wait);
        if context.scope.blocks_site_of(url) {
            // The site was blocked while this request waited. When the visit gets the error that is returned here, it
            // checks the black list and blocks the site.
            if let Some(permit) = permit {
                permit.give_back();
            }
            let rule = "the black list names the site".to_owned();
            return (None, Err(Failure::AddressRefused { address, rule }));
        }
        let mut fetched = network.web.fetch(session, request).await;
        drop(slot);
        if was_broken_off(&fetched) {
            // The server notices the close after about the time that the request took to reach it. That time is not
            // known, but it is shorter than the time to the first byte.
            let delay = fetched.timings.first_byte.min(MAX_CLOSE_DELAY);
            tokio::time::sleep(delay).await;
            fetched.finished = Instant::now();
        }
        drop(permit);
        let answered = fetched.result.is_ok();
        network
            .load
            .record(answered.then_some(fetched.timings.first_byte));
        let received = fetched.received_length();
        add(&context.counters().bytes_received, received);
        let unreachable = matches!(
            fetched.result,
            Err(Failure::ConnectFailed(_) | Failure::ConnectTimeout)
        );
        elapsed += fetched.timings.total;
        result = Ok(fetched);
        if !unreachable || elapsed >= network.web.options().total_timeout {
            break;
        }
    }
    (Some(resolved), result)
}

/// Whether aranha closed the connection before the end of the response.
fn was_broken_off(fetched: &Fetched) -> bool {
    match &fetched.result {
        Ok(response) => response
            .truncated
            .is_some_and(|reason| reason != Truncated::Disconnect),
        Err(failure) => matches!(failure, Failure::Protocol(_) | Failure::Stalled),
    }
}
