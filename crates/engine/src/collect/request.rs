//! One request for a page or a robots.txt file: DNS lookup, address gate (`courtesy/address_gate.rs`), load limit,
//! HTTP.
//!
//! **Every request to a web server passes the gate of the server's address** (invariant 2).

use std::net::IpAddr;
use std::time::Duration;

use aranha_fetch::{
    Failure, FetchRequest, FetchSession, Fetched, Fetcher, Resolved, Route, Truncated,
};
use aranha_url::CanonUrl;
use tokio::time::Instant;

use crate::courtesy::address_gate::NoPermit;
use crate::courtesy::request_fence::RequestFence;
use crate::node::Context;
use crate::node::stop::Reason;
use crate::status::tally::add;
use crate::visit::activity::{Activity, Wait};

/// If aranha closes a connection before the end of the response, the courtesy pause begins when the server notices the
/// close. It is assumed that the server notices the close within this time.
const MAX_CLOSE_DELAY: Duration = Duration::from_millis(200);
/// Pause between a failure of the proxy and the repetition of the request. If the proxy is down, the request also waits
/// until the proxy can be reached.
const PROXY_RETRY_PAUSE: Duration = Duration::from_secs(1);
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

/// Why a request was not sent, or why its result says nothing about the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// The gate of at least one address of the host belongs to another node, and no other address could be reached. The
    /// first address in the list is one whose gate belongs to another node.
    GateTaken(Box<Resolved>),
    /// The lease of the visit is lost, because the node was declared dead.
    LeaseLost,
    /// The deadline of the node passed while the request was under way, and the request was broken off.
    BrokenOff,
}

/// Resolves the host and sends the request when the address gate opens. If an address cannot be reached, tries the next
/// address (RFC 1123, 2.3), until the attempts have taken `fetch.total_timeout`. If a proxy resolves the name, there is
/// one attempt. The inner result is `Err` if no request was sent to the server. While the request waits for DNS, the
/// gate, the load limit or the proxy, `activity` counts a wait.
///
/// A proxy that cannot be used is not a failure of the page: the request waits until the proxy can be reached again. If
/// the proxy rejects the login, the crawl is stopped. In this case, and if the crawl stops during the wait, the result
/// is a [failure of the proxy](Failure::is_of_proxy), and the caller must record nothing.
pub(crate) async fn request(
    context: &Context,
    activity: &Activity,
    session: &mut FetchSession,
    url: &CanonUrl,
    headers: &[(&'static str, String)],
    kind: RequestKind,
) -> Result<(Option<Resolved>, Result<Fetched, Failure>), Unsent> {
    let network = &context.network;
    let sender = Sender {
        context,
        activity,
        url,
        headers,
        kind,
    };
    let wait = activity.wait();
    let mut resolved = match network.web.route(url).await {
        Ok(Route::Addresses(resolved)) => resolved,
        Ok(Route::Name { known }) => {
            drop(wait);
            let result = Box::pin(sender.send_by_name(session, known.as_ref())).await?;
            return Ok((known, result));
        }
        Err(failure) => return Ok((None, Err(failure))),
    };
    drop(wait);
    let mut result = Err(Failure::DnsNotFound);
    let mut elapsed = Duration::ZERO;
    let mut taken = None;
    // The address of the open connection comes first, because the addresses before it may be unreachable.
    let connected = session
        .address()
        .filter(|address| resolved.addresses.contains(address));
    let others = resolved.addresses.iter().copied();
    let others = others.filter(|address| Some(*address) != connected);
    for address in connected.into_iter().chain(others) {
        if context.config().crawl.contact.is_empty() && Fetcher::is_public(address) {
            let rule = format!("a public address, {NO_CONTACT}");
            result = Err(Failure::AddressRefused { address, rule });
            continue;
        }
        let fetched = match sender.send(session, Some(address), Some(address)).await {
            Ok(Ok(fetched)) => fetched,
            Ok(Err(failure)) => return Ok((None, Err(failure))),
            Err(Unsent::GateTaken(_)) => {
                taken = taken.or(Some(address));
                continue;
            }
            Err(unsent) => return Err(unsent),
        };
        let unreachable = matches!(
            fetched.result,
            Err(Failure::ConnectFailed(_) | Failure::ConnectTimeout)
        );
        elapsed += fetched.timings.total;
        result = Ok(fetched);
        if !unreachable {
            taken = None;
            break;
        }
        if elapsed >= network.web.options().total_timeout {
            break;
        }
    }
    if let Some(taken) = taken {
        // The caller gives the site to the node to which the first address belongs.
        resolved.addresses.retain(|address| *address != taken);
        resolved.addresses.insert(0, taken);
        return Err(Unsent::GateTaken(Box::new(resolved)));
    }
    Ok((Some(resolved), result))
}

const NO_CONTACT: &str = "and no contact was given (--contact)";

/// Sends the requests for one page, one to each address that is tried.
struct Sender<'a> {
    context: &'a Context,
    activity: &'a Activity,
    url: &'a CanonUrl,
    headers: &'a [(&'static str, String)],
    kind: RequestKind,
}

impl Sender<'_> {
    /// Sends the request through a proxy that resolves the name. `known`: the addresses that aranha's own lookup found.
    /// The gate of the lowest address is used, so that names with the same addresses share a pause. If no address is
    /// known, only the pause of the site is kept.
    async fn send_by_name(
        &self,
        session: &mut FetchSession,
        known: Option<&Resolved>,
    ) -> Result<Result<Fetched, Failure>, Unsent> {
        let addresses = || {
            known
                .iter()
                .flat_map(|known| known.addresses.iter().copied())
        };
        if self.context.config().crawl.contact.is_empty() {
            let rule = match known {
                None => Some("its address is not known here, behind a proxy"),
                Some(_) if addresses().any(Fetcher::is_public) => Some("a public address"),
                Some(_) => None,
            };
            if let Some(rule) = rule {
                let rule = format!("{rule}, {NO_CONTACT}");
                return Ok(Err(Failure::NameRefused { rule }));
            }
        }
        let address = addresses().min();
        self.send(session, address, address).await
    }

    /// Sends the request when the gate of the address opens. The inner result is `Err` if no request was sent to the
    /// server.
    async fn send(
        &self,
        session: &mut FetchSession,
        address: Option<IpAddr>,
        gate: Option<IpAddr>,
    ) -> Result<Result<Fetched, Failure>, Unsent> {
        let (context, network) = (self.context, &self.context.network);
        loop {
            let wait = self.activity.wait();
            if network.web.is_proxy_down(self.url)
                && let Err(failure) = Box::pin(self.wait_for_proxy()).await
            {
                return Ok(Err(failure));
            }
            let permit = match gate {
                Some(address) => match network.gates.enter(address, self.activity.node()).await {
                    Ok(permit) => permit,
                    Err(NoPermit::LeaseLost) => return Err(Unsent::LeaseLost),
                    Err(NoPermit::Taken) => {
                        let resolved = Resolved {
                            addresses: vec![address],
                            expires_ms: 0,
                        };
                        return Err(Unsent::GateTaken(Box::new(resolved)));
                    }
                },
                None => None,
            };
            let mut request = FetchRequest::by_name(self.url);
            request.address = address;
            request.headers.extend_from_slice(self.headers);
            request.without_range = self.kind != RequestKind::Page;
            request.accept_any_type = self.kind == RequestKind::RobotsTxt;
            request.max_body = request.accept_any_type.then_some(MAX_ROBOTS_SIZE as u64);
            let slot = network.load.enter().await;
            if context.scope.blocks_site_of(self.url) {
                // The site was blocked while this request waited. When the visit gets the error that is returned here, it
                // checks the black list and blocks the site.
                if let Some(permit) = permit {
                    permit.give_back();
                }
                let rule = "the black list names the site".to_owned();
                return Ok(Err(Failure::NameRefused { rule }));
            }
            let mut fetched = if let Some(fence) = &network.fence {
                let fenced = self.fetch_fenced(fence, session, request, wait);
                Box::pin(fenced).await?
            } else {
                drop(wait);
                network.web.fetch(session, request).await
            };
            drop(slot);
            if let Err(failure) = &fetched.result
                && failure.is_of_proxy()
            {
                // The server has not received the request, so no pause begins.
                if let Some(permit) = permit {
                    permit.give_back();
                }
                let failure = failure.clone();
                if let Err(failure) = Box::pin(self.after_proxy_failure(failure)).await {
                    return Ok(Err(failure));
                }
                continue;
            }
            if was_broken_off(&fetched) {
                // The close takes about as long to reach the server as the request did. That time is not known, but it
                // is shorter than the time to the first byte.
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
            return Ok(Ok(fetched));
        }
    }

    /// Sends the request when the fence of the node is open.
    async fn fetch_fenced(
        &self,
        fence: &RequestFence,
        session: &mut FetchSession,
        request: FetchRequest<'_>,
        wait: Wait<'_>,
    ) -> Result<Fetched, Unsent> {
        let fetch = async {
            drop(wait);
            self.context.network.web.fetch(session, request).await
        };
        let fetched = fence.send(self.activity.node(), fetch).await;
        if fetched.is_err() {
            // The connection cannot be used again, because it may be in the middle of an exchange.
            *session = FetchSession::new();
        }
        fetched
    }

    /// Waits until the proxy can be reached. Returns an error if the crawl stops.
    async fn wait_for_proxy(&self) -> Result<(), Failure> {
        tokio::select! {
            biased;
            () = self.context.control.stop.wait() => {
                Err(Failure::ProxyDown("the crawl stops while it waits for the proxy".to_owned()))
            }
            () = self.context.network.web.wait_for_proxy(self.url) => Ok(()),
        }
    }

    /// Waits before the request is repeated. If the proxy would not accept the request later either, stops the crawl
    /// instead.
    async fn after_proxy_failure(&self, failure: Failure) -> Result<(), Failure> {
        let stop = &self.context.control.stop;
        if let Failure::ProxyUnusable(problem) = &failure {
            stop.ask(Reason::Proxy(problem.clone()));
        }
        let _wait = self.activity.wait();
        tokio::select! {
            biased;
            () = stop.wait() => Err(failure),
            () = tokio::time::sleep(PROXY_RETRY_PAUSE) => Ok(()),
        }
    }
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
