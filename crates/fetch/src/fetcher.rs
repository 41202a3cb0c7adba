//! [`Fetcher`]: the state that all fetches share, and the order of steps in one fetch.
//!
//! `Fetcher::fetch` is the entry point. It creates a private `Fetch`, which sends the request over a kept-alive or a
//! new connection. Then `decode_response` removes the content coding.
//!
//! The file is long because it has all steps of one fetch, in their order.

use std::{fmt, net::IpAddr, sync::Arc};

use aranha_url::{Blacklist, BlacklistError, CanonUrl};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, time::Instant};
use tracing::{Instrument as _, debug, debug_span};

use crate::{
    Failure, FetchRequest, FetchResponse, FetchSession, FetchSetupError, Fetched, Options,
    ResponseRemark, Route, Secrets, Simulation, Timings,
    clock::{CalendarClock, deadline_after, unix_ms},
    connection::{
        address_guard::AddressGuard,
        connect::{self, Connection},
        tls::Tls,
    },
    dns::{NameSource, Resolver, circuit_breaker, ip_literal, is_valid_name},
    http::{
        LargeParts,
        content_coding::{self as decode, ContentCoding},
        exchange::{self, ExchangeLimits, ExchangeResult, ReceivedResponse},
        range,
        request::CommonHeaders,
    },
    limits::{
        memory_budget::{MAX_UNBUDGETED, MemoryBudget},
        open_sockets::SocketLimit,
        rate_limit::RateLimit,
    },
    proxy::{self, NameLookup, Proxy, Routes, Via},
    transport::{SimulatedTransport, Transport},
};

/// A compressed body of at least this many bytes is decoded on a blocking thread, so that it does not delay other
/// fetches.
const MIN_BACKGROUND_DECODE: usize = 512 << 10;

/// Fetches pages. Holds the options, the DNS cache, TLS sessions and the address guard, which all clones share.
#[derive(Clone)]
pub struct Fetcher {
    state: Arc<FetcherState>,
}

struct FetcherState {
    options: Options,
    guard: Arc<AddressGuard>,
    resolver: Arc<Resolver>,
    transport: Transport,
    clock: CalendarClock,
    /// Milliseconds by which the time of this fetcher is ahead of the wall clock; 0 except in tests.
    shift_ms: i64,
    common_headers: CommonHeaders,
    secrets: Secrets,
    memory: MemoryBudget,
    rate: Option<RateLimit>,
    sockets: SocketLimit,
    /// `None` if no proxy is configured.
    routes: Option<Box<Routes>>,
}

impl FetcherState {
    /// The proxy for a URL, if there is one.
    fn proxy_for(&self, url: &CanonUrl) -> Option<&Arc<Proxy>> {
        self.routes.as_ref()?.proxy_for(url)
    }

    /// Who resolves the name of the host of a URL.
    fn name_lookup(&self, url: &CanonUrl) -> NameLookup {
        let routes = self.routes.as_ref();
        routes.map_or(NameLookup::Required, |routes| routes.name_lookup(url))
    }

    /// The time that is recorded with a fetch, from the wall clock or from the simulation.
    fn now_ms(&self) -> i64 {
        match self.transport {
            Transport::Real(_) => unix_ms() + self.shift_ms,
            Transport::Simulated(_) => self.clock.now_ms(),
        }
    }
}

/// The addresses of a host, IPv4 first. The address guard has allowed all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Never empty.
    pub addresses: Vec<IpAddr>,
    /// When the DNS answer expires, Unix milliseconds.
    pub expires_ms: i64,
}

/// Whether a host is `localhost` or an IP literal in a special range (private, loopback, link-local …). Names are not
/// looked up.
pub fn is_private_host(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || ip_literal(host).is_some_and(|address| !AddressGuard::is_public(address))
}

impl Fetcher {
    /// A fetcher for the real network. The guard also refuses the address ranges in `refused`, even if `allow_private`
    /// is set.
    pub fn new(options: Options, refused: Blacklist) -> Result<Fetcher, FetchSetupError> {
        let transport = Transport::Real(Box::new(Tls::new(options.verify_tls)?));
        let clock = CalendarClock::new();
        Fetcher::with_transport(transport, clock, 0, options, refused)
    }

    /// Like [`Fetcher::new`], but the fetcher's time starts at `now` (Unix milliseconds), so that tests can run on any
    /// date.
    pub fn starting_at(
        options: Options,
        refused: Blacklist,
        now: i64,
    ) -> Result<Fetcher, FetchSetupError> {
        let transport = Transport::Real(Box::new(Tls::new(options.verify_tls)?));
        let clock = CalendarClock::starting_at(now);
        Fetcher::with_transport(transport, clock, now - unix_ms(), options, refused)
    }

    /// A fetcher for a simulated web, without proxies. Its time starts at `now` (Unix milliseconds) and advances with
    /// tokio's clock. No socket is opened and no name server is queried. The guard checks simulated addresses as it
    /// does real ones. `https` URLs are fetched without TLS.
    pub fn simulated(
        options: Options,
        refused: Blacklist,
        now: i64,
        web: Arc<dyn Simulation>,
    ) -> Result<Fetcher, FetchSetupError> {
        let clock = CalendarClock::starting_at(now);
        let transport = Transport::Simulated(SimulatedTransport::new(web, clock));
        Fetcher::with_transport(transport, clock, 0, options, refused)
    }

    fn with_transport(
        transport: Transport,
        clock: CalendarClock,
        shift_ms: i64,
        options: Options,
        refused: Blacklist,
    ) -> Result<Fetcher, FetchSetupError> {
        let guard = Arc::new(AddressGuard::new(options.allow_private, refused));
        let routes = match &transport {
            Transport::Real(_) => Routes::load(&options).map_err(FetchSetupError::Proxy)?,
            Transport::Simulated(_) => None,
        };
        let lookup = routes
            .as_ref()
            .map_or(NameLookup::Required, |routes| routes.strictest_lookup());
        let (sockets, names) = match &transport {
            Transport::Real(_) => (
                SocketLimit::of_process(),
                NameSource::servers(&options, lookup.is_optional())?,
            ),
            Transport::Simulated(simulated) => (
                SocketLimit::unlimited(),
                NameSource::Simulated(simulated.clone()),
            ),
        };
        let min_queries = if lookup.is_optional() {
            circuit_breaker::MIN_QUERIES_BEHIND_PROXY
        } else {
            circuit_breaker::MIN_QUERIES
        };
        let resolver = Resolver::new(names, &options, guard.clone(), clock, min_queries);
        let state = FetcherState {
            resolver: Arc::new(resolver),
            routes,
            transport,
            clock,
            shift_ms,
            common_headers: CommonHeaders::new(&options)?,
            secrets: Secrets::load(&options).map_err(FetchSetupError::Secrets)?,
            memory: MemoryBudget::new(options.body_memory),
            rate: options.limit_rate.map(RateLimit::new),
            sockets,
            guard,
            options,
        };
        Ok(Fetcher {
            state: Arc::new(state),
        })
    }

    /// Whether an address is outside all special ranges (private, loopback, link-local …) that the guard refuses.
    pub fn is_public(address: IpAddr) -> bool {
        AddressGuard::is_public(address)
    }

    /// Adds black-list lines to the guard. Requests to their address ranges are refused from now on, even over open
    /// connections. If one line is invalid, none is added.
    pub fn extend_blacklist(&self, lines: &str) -> Result<(), BlacklistError> {
        self.state.guard.extend_blacklist(lines)
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.state.options
    }

    /// Determines how a request for a URL reaches its server. Unless a proxy resolves the name, looks up its addresses
    /// ([`resolve`](Self::resolve)).
    ///
    /// If a proxy resolves the name, the option `proxy_lookups` decides whether aranha looks up its addresses too. The
    /// result is a failure if the guard refuses the name or any of these addresses. Cancel-safe.
    pub async fn route(&self, url: &CanonUrl) -> Result<Route, Failure> {
        let (resolver, host) = (&self.state.resolver, url.host());
        let lookup = self.state.name_lookup(url);
        if lookup == NameLookup::Required {
            return resolver.resolve(host).await.map(Route::Addresses);
        }
        if ip_literal(host).is_none() && !is_valid_name(host.trim_end_matches('.')) {
            return Err(Failure::DnsNotFound);
        }
        // Boxed, so that this future takes no space in crawls without a proxy.
        let known = match lookup {
            NameLookup::Checked => Some(Box::pin(resolver.resolve_all(host)).await?),
            NameLookup::Optional => Box::pin(resolver.resolve_if_possible(host)).await?,
            NameLookup::Required | NameLookup::ByProxy => match ip_literal(host) {
                Some(_) => Some(Box::pin(resolver.resolve_all(host)).await?),
                None => None,
            },
        };
        if known.is_none() {
            self.state.guard.check_name(host)?;
        }
        Ok(Route::Name { known })
    }

    /// The addresses of another host, looked up like the host of `url`. If a proxy resolves the names, `None` means
    /// that aranha does not look them up, or that it finds no address. Cancel-safe.
    pub async fn resolve_like(
        &self,
        url: &CanonUrl,
        host: &str,
    ) -> Option<Result<Resolved, Failure>> {
        let resolver = &self.state.resolver;
        match self.state.name_lookup(url) {
            NameLookup::Required | NameLookup::Checked => Some(resolver.resolve(host).await),
            NameLookup::Optional => resolver.resolve_if_possible(host).await.transpose(),
            NameLookup::ByProxy => None,
        }
    }

    /// The addresses of a host, from the cache or the name servers, without those that the guard refuses. An IP literal
    /// (IPv6 with or without brackets) is not looked up, but the guard checks it. Concurrent look-ups of one name share
    /// one query. An expired answer may be returned while it is refreshed in the background; its `expires_ms` is then
    /// in the past. If the name is not cached, the call waits during a [DNS outage](Self::watch_dns_outage).
    /// Cancel-safe.
    pub async fn resolve(&self, host: &str) -> Result<Resolved, Failure> {
        self.state.resolver.resolve(host).await
    }

    /// Whether the proxy for a URL cannot be reached at present.
    pub fn is_proxy_down(&self, url: &CanonUrl) -> bool {
        let proxy = self.state.proxy_for(url);
        proxy.is_some_and(|proxy| proxy.health().is_down())
    }

    /// Waits while the proxy for a URL cannot be reached. Cancel-safe.
    pub async fn wait_for_proxy(&self, url: &CanonUrl) {
        if let Some(proxy) = self.state.proxy_for(url) {
            proxy.health().wait().await;
        }
    }

    /// The configured proxies: URLs without the login.
    pub fn proxies(&self) -> impl Iterator<Item = String> {
        let proxies = self.state.routes.iter().flat_map(|routes| routes.proxies());
        proxies.map(|proxy| proxy.url().to_string())
    }

    /// Whether requests wait during a DNS outage. False if proxies resolve all names and `proxy_lookups` does not
    /// require look-ups.
    pub fn waits_for_dns(&self) -> bool {
        let routes = self.state.routes.as_ref();
        routes.is_none_or(|routes| !routes.strictest_lookup().is_optional())
    }

    /// The configured proxies. Each has its URL without the login, and a channel. While the proxy cannot be reached,
    /// the value of the channel is the reason.
    pub fn watch_proxies(&self) -> Vec<(String, watch::Receiver<Option<Arc<str>>>)> {
        let proxies = self.state.routes.iter().flat_map(|routes| routes.proxies());
        let watch = |proxy: &Arc<Proxy>| (proxy.url().to_string(), proxy.health().watch());
        proxies.map(watch).collect()
    }

    /// Puts a DNS answer of an earlier crawl into the cache. The guard checks the answer each time it is returned. The
    /// call is ignored if the answer expired more than `dns_stale` ago, or if the cache has a newer one.
    pub fn restore_dns(&self, host: &str, resolved: &Resolved) {
        self.state.resolver.restore(host, resolved);
    }

    /// All names in the DNS cache with their addresses, to be restored by the next crawl.
    pub fn dns_answers(&self) -> Vec<(String, Resolved)> {
        self.state.resolver.answers()
    }

    /// Refreshes expired DNS answers in the background, as long as half of the `dns_concurrency` slots are free. Does
    /// nothing if only proxies resolve names. Must be called inside a tokio runtime.
    pub fn refresh_stale_dns(&self) {
        let routes = self.state.routes.as_ref();
        if routes.is_none_or(|routes| routes.strictest_lookup() != NameLookup::ByProxy) {
            self.state.resolver.refresh_stale();
        }
    }

    /// Starts a DNS look-up of the host of a URL in the background and returns at once. Does nothing if half of the
    /// `dns_concurrency` slots are taken, or if only a proxy resolves the name. May be called for every link, because
    /// for a name that is cached or in flight it only searches two maps. Returns true if a look-up was started. Must be
    /// called inside a tokio runtime.
    pub fn prefetch_dns(&self, url: &CanonUrl) -> bool {
        self.state.name_lookup(url) != NameLookup::ByProxy
            && self.state.resolver.prefetch(url.host())
    }

    /// Watches the DNS circuit breaker (N4). The breaker is open during a DNS outage, and look-ups of names that are
    /// not cached wait until it closes. The value is the time at which the breaker opened, or `None` while it is
    /// closed.
    pub fn watch_dns_outage(&self) -> watch::Receiver<Option<Instant>> {
        self.state.resolver.watch_outage()
    }

    /// Sends one request and returns one outcome within `total_timeout`. If a kept-alive connection was closed before
    /// the first byte of the response, repeats the request once over a new connection. Cancel-safe: after a cancelled
    /// call, the session no longer holds the connection that the call used.
    pub fn fetch(
        &self,
        session: &mut FetchSession,
        request: FetchRequest<'_>,
    ) -> impl Future<Output = Fetched> {
        let span = debug_span!("fetch", url = request.url.as_str());
        self.fetch_in_span(session, request).instrument(span)
    }

    async fn fetch_in_span(
        &self,
        session: &mut FetchSession,
        request: FetchRequest<'_>,
    ) -> Fetched {
        let begun = Instant::now();
        let started_ms = self.state.now_ms();
        let mut fetch = Fetch {
            state: &self.state,
            limits: ExchangeLimits {
                options: &self.state.options,
                memory: &self.state.memory,
                rate: self.state.rate.as_ref(),
                max_body: request.max_body,
                accept_any_type: request.accept_any_type,
                deadline: deadline_after(begun, self.state.options.total_timeout),
            },
            timings: Timings::default(),
            certificate_error: None,
            address: None,
            sent: Bytes::new(),
            response: Bytes::new(),
        };
        let result = fetch.run(session, &request).await;
        let finished = Instant::now();
        let result = match result {
            Ok(received) => Ok(decode_response(received, &self.state).await),
            Err(failure) => Err(failure),
        };
        match &result {
            Ok(response) => debug!(
                status = response.status,
                bytes = response
                    .spooled()
                    .map_or(fetch.response.len() as u64, |spooled| spooled.length),
                ms = (finished - begun).as_millis() as u64,
                "fetched"
            ),
            Err(failure) => debug!(code = failure.code(), %failure, "fetch failed"),
        }
        Fetched {
            result,
            request: fetch.sent,
            response: fetch.response,
            address: fetch.address,
            started_ms,
            finished,
            timings: Timings {
                total: finished - begun,
                ..fetch.timings
            },
            certificate_error: fetch.certificate_error.map(String::into_boxed_str),
        }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("options", &self.state.options)
            .finish_non_exhaustive()
    }
}

/// The head of a request.
struct RequestHead {
    sent: Bytes,
    /// The head without secrets.
    archived: Bytes,
}

/// One fetch in progress.
struct Fetch<'a> {
    state: &'a FetcherState,
    limits: ExchangeLimits<'a>,
    timings: Timings,
    certificate_error: Option<String>,
    /// The address of the server of the connection, if it is known.
    address: Option<IpAddr>,
    sent: Bytes,
    response: Bytes,
}

impl Fetch<'_> {
    async fn run(
        &mut self,
        session: &mut FetchSession,
        request: &FetchRequest<'_>,
    ) -> Result<ReceivedResponse, Failure> {
        let Some(last_byte) = range::last_byte(&self.state.options, request) else {
            return self.send_request(session, request, None).await;
        };
        let mut received = self.send_request(session, request, Some(last_byte)).await?;
        if received.head.status == 206 && received.truncated.is_none() {
            received.truncated = range::truncation(&received.head.headers, last_byte);
        }
        Ok(received)
    }

    /// Performs one exchange over the kept-alive connection, or over a new one.
    async fn send_request(
        &mut self,
        session: &mut FetchSession,
        request: &FetchRequest<'_>,
        last_byte: Option<u64>,
    ) -> Result<ReceivedResponse, Failure> {
        let state = self.state;
        let via = proxy::via(state.routes.as_deref(), request);
        let absolute_form = via.has_absolute_form(request.url);
        let head = state.common_headers.head(request, absolute_form, last_byte);
        let head = head.map_err(Failure::Protocol)?;
        let head = self.with_secrets(head, request, via);
        // Kept-alive connections are checked too, because lines may have been added to the black list since the
        // connection was opened.
        connect::check_target(&state.guard, request, via)?;
        if let Some(connection) = session.take(request, via) {
            self.timings.reused = true;
            let exchanged = self.exchange(session, connection, &head, via).await;
            if !exchanged.closed_early {
                return self.finish(exchanged);
            }
            self.timings.reused = false;
        }
        // Boxed, because these futures are large, and a fetch that reuses a connection does not need them.
        let connection = Box::pin(self.open(request, via)).await?;
        let exchanged = Box::pin(self.exchange(session, connection, &head, via)).await;
        self.finish(exchanged)
    }

    /// Adds the user's secrets for the URL, and the login for a proxy that reads the head. A request to the cache of a
    /// proxy gets no secrets, because others use the cache too.
    fn with_secrets(&self, head: Bytes, request: &FetchRequest<'_>, via: Via<'_>) -> RequestHead {
        let secrets = &self.state.secrets;
        let added = match via {
            Via::Cache(_) => None,
            Via::Direct | Via::Proxy(_) => secrets.add(&head, request, self.state.now_ms()),
        };
        let (mut sent, archived) = added.unwrap_or_else(|| (head.clone(), head));
        if let Via::Proxy(proxy) = via
            && via.has_absolute_form(request.url)
            && let Some(authorization) = proxy.authorization()
        {
            // The line is inserted before the empty line at the end. It is for the proxy only, so it is not archived.
            let end = sent.len() - "\r\n".len();
            let line = format!("Proxy-Authorization: {authorization}\r\n\r\n");
            sent = [&sent[..end], line.as_bytes()].concat().into();
        }
        RequestHead { sent, archived }
    }

    async fn open(
        &mut self,
        request: &FetchRequest<'_>,
        via: Via<'_>,
    ) -> Result<Connection, Failure> {
        let FetcherState {
            guard,
            transport,
            options,
            sockets,
            ..
        } = self.state;
        let begun = Instant::now();
        let socket = sockets.acquire().await;
        // The wait for a socket permit is not caused by the server, so the deadline is moved by that time.
        self.limits.deadline += begun.elapsed();
        let deadline = self.limits.deadline;
        let mut connection = connect::open(
            guard,
            transport,
            options,
            request,
            via,
            deadline,
            &mut self.timings,
        )
        .await?;
        connection.socket = Some(socket);
        Ok(connection)
    }

    async fn exchange(
        &mut self,
        session: &mut FetchSession,
        mut connection: Connection,
        head: &RequestHead,
        via: Via<'_>,
    ) -> ExchangeResult {
        self.address = connection.address();
        self.sent = head.archived.clone();
        self.certificate_error
            .clone_from(&connection.certificate_error);
        let mut exchanged =
            exchange::exchange(&mut connection.stream, &head.sent, self.limits).await;
        if let Via::Proxy(proxy) = via
            && connection.is_to_http_proxy()
        {
            proxy.check_exchange(&mut exchanged);
        }
        if exchanged.reusable && self.state.sockets.may_keep_alive() {
            session.keep(connection);
        }
        exchanged
    }

    fn finish(&mut self, exchanged: ExchangeResult) -> Result<ReceivedResponse, Failure> {
        self.response = exchanged.response;
        self.timings.first_byte = exchanged.first_byte;
        exchanged.result
    }
}

/// Removes the content coding of a received response.
async fn decode_response(received: ReceivedResponse, state: &FetcherState) -> FetchResponse {
    let ReceivedResponse {
        mut head,
        head_length,
        payload,
        crlf_terminated,
        truncated,
        unwanted,
        spooled,
        share,
    } = received;
    let codings = decode::codings(&head.headers, &mut head.remarks);
    let mut shares: Vec<_> = share.into_iter().collect();
    let max_decoded = state.options.max_decoded;
    let unbudgeted = max_decoded.min(MAX_UNBUDGETED as u64);
    let (mut body, mut remarks) =
        decode_body(&state.memory, codings.clone(), payload.clone(), unbudgeted).await;
    if unbudgeted < max_decoded && remarks.contains(&ResponseRemark::DecodedTruncated(unbudgeted)) {
        // The decoded body is too large to be held without a share of the memory budget. Wait for a share and decode
        // again. The first result is dropped, so that it occupies no memory during the wait.
        drop(body);
        shares.push(state.memory.decoded(max_decoded).await);
        (body, remarks) = Box::pin(decode_body(
            &state.memory,
            codings,
            payload.clone(),
            max_decoded,
        ))
        .await;
    }
    if spooled.is_some() {
        // The decoder has only the first part of the body, so an error at the end of its input is expected.
        for remark in &mut remarks {
            if matches!(remark, ResponseRemark::DecodeError { .. }) {
                *remark = ResponseRemark::DecodedTruncated(body.len() as u64);
            }
        }
    }
    head.remarks.extend(remarks);
    let is_large = !shares.is_empty() || spooled.is_some() || crlf_terminated.is_some();
    FetchResponse {
        status: head.status,
        head_length,
        headers: head.headers,
        body,
        payload,
        truncated,
        remarks: head.remarks,
        unwanted,
        large: is_large.then(|| {
            Arc::new(LargeParts {
                spooled,
                crlf_terminated,
                shares,
            })
        }),
    }
}

/// Decodes a body, on a blocking thread if the body is large. The output has at most `max_size` bytes.
async fn decode_body(
    memory: &MemoryBudget,
    codings: Vec<ContentCoding>,
    payload: Bytes,
    max_size: u64,
) -> (Bytes, Vec<ResponseRemark>) {
    if codings.is_empty() || payload.len() < MIN_BACKGROUND_DECODE {
        return decode::decode(&codings, &payload, max_size);
    }
    let _decoder = memory.decoder().await;
    let work = tokio::task::spawn_blocking(move || decode::decode(&codings, &payload, max_size));
    work.await.unwrap_or_else(|error| {
        let remark = ResponseRemark::DecodeError {
            coding: "any".to_owned(),
            reason: error.to_string(),
        };
        (Bytes::new(), vec![remark])
    })
}
