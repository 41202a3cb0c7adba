//! The state shared by all fetches, and the order of steps in one fetch.

use std::{fmt, net::IpAddr, sync::Arc};

use aranha_url::{Blacklist, BlacklistError};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, time::Instant};
use tracing::{Instrument as _, debug, debug_span};

use crate::{
    Failure, FetchRequest, FetchResponse, FetchSession, FetchSetupError, Fetched, Options,
    ResponseRemark, Simulation, Timings,
    clock::{Clock, after, unix_ms},
    connection::{
        address_guard::Guard,
        connect::{self, Connection},
        tls::Tls,
    },
    dns::{Names, Resolver},
    http::{
        content_coding::{self as decode, Coding},
        exchange::{self, Exchanged, Limits, Received},
        range,
        request::Identity,
    },
    limits::{
        memory_budget::{FREE, Memory},
        open_sockets::Sockets,
    },
    transport::{Network, Simulated},
};

/// Coded bodies from this size on are decoded beside the other fetches of their thread.
const LARGE_PAYLOAD: usize = 512 << 10;

/// Options, DNS cache, TLS sessions and address guard; cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    guard: Arc<Guard>,
    resolver: Arc<Resolver>,
    network: Network,
    clock: Clock,
    identity: Identity,
    memory: Memory,
    sockets: Sockets,
}

impl Shared {
    /// For the record. Of the real web it is the wall clock's word, steps included.
    fn now_ms(&self) -> i64 {
        match self.network {
            Network::Real(_) => unix_ms(),
            Network::Simulated(_) => self.clock.now_ms(),
        }
    }
}

/// The addresses of a host, each passed by the guard; IPv4 first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// At least one.
    pub addresses: Vec<IpAddr>,
    /// Unix milliseconds.
    pub expires_ms: i64,
}

impl Fetcher {
    /// `refused`: address ranges refused beside the guard's own, whatever `allow_private` says.
    pub fn new(options: Options, refused: Blacklist) -> Result<Fetcher, FetchSetupError> {
        let network = Network::Real(Box::new(Tls::new(options.verify_tls)?));
        let names = Names::servers(&options)?;
        Fetcher::over(network, names, Clock::new(), options, refused)
    }

    /// A web in memory, whose calendar shows `now` (unix milliseconds) and follows tokio's clock. No socket is opened and
    /// no name server asked; the guard judges the simulated addresses like others, and `https` is taken as `http`.
    pub fn simulated(
        options: Options,
        refused: Blacklist,
        now: i64,
        web: Arc<dyn Simulation>,
    ) -> Result<Fetcher, FetchSetupError> {
        let clock = Clock::at(now);
        let simulated = Simulated::new(web, clock);
        let names = Names::Simulated(simulated.clone());
        let network = Network::Simulated(simulated);
        Fetcher::over(network, names, clock, options, refused)
    }

    fn over(
        network: Network,
        names: Names,
        clock: Clock,
        options: Options,
        refused: Blacklist,
    ) -> Result<Fetcher, FetchSetupError> {
        let guard = Arc::new(Guard::new(options.allow_private, refused));
        let sockets = match &network {
            Network::Real(_) => Sockets::of_this_process(),
            Network::Simulated(_) => Sockets::boundless(),
        };
        let shared = Shared {
            resolver: Arc::new(Resolver::new(names, &options, guard.clone(), clock)),
            network,
            clock,
            identity: Identity::new(&options)?,
            memory: Memory::new(options.body_memory),
            sockets,
            guard,
            options,
        };
        Ok(Fetcher {
            shared: Arc::new(shared),
        })
    }

    /// Whether an address belongs to the public web, as opposed to the special ranges that the guard knows.
    pub fn is_public(address: IpAddr) -> bool {
        Guard::is_public(address)
    }

    /// Takes the address ranges of a black list's lines from now on, for connections that are open as well; none, when a
    /// line is no entry.
    pub fn extend_blacklist(&self, lines: &str) -> Result<(), BlacklistError> {
        self.shared.guard.extend_blacklist(lines)
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// The addresses of a host, from the cache or the name servers; only those that the guard passes. IP literals
    /// (IPv6 in brackets or not) go through the same guard. Concurrent questions for one name are one question. An
    /// answer that has expired is given out while it is asked for again: then `expires_ms` has passed. While
    /// [`dns_outage_since`](Self::dns_outage_since) it may wait for long. May be cancelled.
    pub async fn resolve(&self, host: &str) -> Result<Resolved, Failure> {
        self.shared.resolver.resolve(host).await
    }

    /// Brings an answer kept across a restart into the cache. The guard judges it again when it is used. One that has
    /// expired is stale, or ignored when it is older than `dns_stale` or something newer is known.
    pub fn restore_dns(&self, host: &str, resolved: &Resolved) {
        self.shared.resolver.restore(host, resolved);
    }

    /// Sees to it that a host's addresses are known soon. Never waits; drops the wish when half of `dns_concurrency`
    /// look-ups are under way. Cheap enough for every link: a name that is known or under way costs two looks into
    /// maps. To be called inside a runtime, on any of its threads.
    pub fn prefetch(&self, host: &str) {
        self.shared.resolver.prefetch(host);
    }

    /// Since when the name servers answer nearly no question (N4): look-ups of names that are not in the cache wait
    /// until they do again.
    pub fn dns_outage_since(&self) -> Option<Instant> {
        self.shared.resolver.down()
    }

    /// [`dns_outage_since`](Self::dns_outage_since) as it changes.
    pub fn watch_dns_outage(&self) -> watch::Receiver<Option<Instant>> {
        self.shared.resolver.watch_down()
    }

    /// One request, one outcome, always within the whole-fetch limit. Reconnects once when a kept-alive connection
    /// turns out closed before any byte of the answer. May be cancelled: the session then has no connection.
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
        let started_ms = self.shared.now_ms();
        let mut fetch = Fetch {
            shared: &self.shared,
            limits: Limits {
                options: &self.shared.options,
                memory: &self.shared.memory,
                max_body: request.max_body,
                accept_any_type: request.accept_any_type,
                deadline: after(begun, self.shared.options.total_timeout),
            },
            timings: Timings::default(),
            certificate_error: None,
            connected: false,
            sent: Bytes::new(),
            response: Bytes::new(),
        };
        let result = fetch.run(session, &request).await;
        let finished = Instant::now();
        let result = match result {
            Ok(received) => Ok(read(received, &self.shared).await),
            Err(failure) => Err(failure),
        };
        match &result {
            Ok(response) => debug!(
                status = response.status,
                bytes = fetch.response.len(),
                ms = (finished - begun).as_millis() as u64,
                "fetched"
            ),
            Err(failure) => debug!(code = failure.code(), %failure, "fetch failed"),
        }
        Fetched {
            result,
            request: fetch.sent,
            response: fetch.response,
            address: fetch.connected.then(|| {
                let proxy = request.proxy.map(|proxy| proxy.ip());
                proxy.unwrap_or(request.address)
            }),
            started_ms,
            finished,
            timings: Timings {
                total: finished - begun,
                ..fetch.timings
            },
            certificate_error: fetch.certificate_error,
        }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

/// One fetch on its way.
struct Fetch<'a> {
    shared: &'a Shared,
    limits: Limits<'a>,
    timings: Timings,
    certificate_error: Option<String>,
    connected: bool,
    sent: Bytes,
    response: Bytes,
}

impl Fetch<'_> {
    async fn run(
        &mut self,
        session: &mut FetchSession,
        request: &FetchRequest<'_>,
    ) -> Result<Received, Failure> {
        let Some(last_byte) = range::last_byte(&self.shared.options, request) else {
            return self.ask(session, request, None).await;
        };
        let mut received = self.ask(session, request, Some(last_byte)).await?;
        if received.head.status == 206 && received.truncated.is_none() {
            received.truncated = range::truncation(&received.head.headers, last_byte);
        }
        Ok(received)
    }

    /// One exchange, over the kept connection or a new one.
    async fn ask(
        &mut self,
        session: &mut FetchSession,
        request: &FetchRequest<'_>,
        last_byte: Option<u64>,
    ) -> Result<Received, Failure> {
        let head = self.shared.identity.head(request, last_byte);
        let head = head.map_err(Failure::Protocol)?;
        // A kept connection must pass too: the user's list of refused addresses has the last word.
        connect::pass(&self.shared.guard, request)?;
        if let Some(connection) = session.take(request) {
            self.timings.reused = true;
            let exchanged = self.exchange(session, connection, &head).await;
            if !exchanged.silent {
                return self.end(exchanged);
            }
            self.timings.reused = false;
        }
        // Rare beside kept connections, and large: it is not carried along by those who have one.
        let connection = Box::pin(self.open(request)).await?;
        let exchanged = Box::pin(self.exchange(session, connection, &head)).await;
        self.end(exchanged)
    }

    async fn open(&mut self, request: &FetchRequest<'_>) -> Result<Connection, Failure> {
        let Shared {
            guard,
            network,
            options,
            sockets,
            ..
        } = self.shared;
        let begun = Instant::now();
        let socket = sockets.enter().await;
        self.limits.deadline += begun.elapsed();
        let deadline = self.limits.deadline;
        let mut connection = connect::open(
            guard,
            network,
            options,
            request,
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
        head: &Bytes,
    ) -> Exchanged {
        self.connected = true;
        self.sent = head.clone();
        self.certificate_error
            .clone_from(&connection.certificate_error);
        let exchanged = exchange::exchange(&mut connection.stream, head, self.limits).await;
        if exchanged.reusable && self.shared.sockets.may_rest() {
            session.keep(connection);
        }
        exchanged
    }

    fn end(&mut self, exchanged: Exchanged) -> Result<Received, Failure> {
        self.response = exchanged.response;
        self.timings.first_byte = exchanged.first_byte;
        exchanged.result
    }
}

/// Undoes the codings for reading.
async fn read(received: Received, shared: &Shared) -> FetchResponse {
    let Received {
        mut head,
        head_length,
        payload,
        crlf_terminated,
        truncated,
        unwanted,
        share,
    } = received;
    let codings = decode::codings(&head.headers, &mut head.remarks);
    let mut shares: Vec<_> = share.into_iter().collect();
    let most = shared.options.max_decoded;
    let free = most.min(FREE as u64);
    let (mut body, mut remarks) =
        decode_beside(&shared.memory, codings.clone(), payload.clone(), free).await;
    if free < most && remarks.contains(&ResponseRemark::DecodedTruncated(free)) {
        // Larger than what needs no room: once more, with room. What came out is not held while that is waited for.
        drop(body);
        shares.push(shared.memory.decoded(most).await);
        (body, remarks) = Box::pin(decode_beside(
            &shared.memory,
            codings,
            payload.clone(),
            most,
        ))
        .await;
    }
    head.remarks.extend(remarks);
    FetchResponse {
        status: head.status,
        head_length,
        headers: head.headers,
        body,
        payload,
        crlf_terminated,
        truncated,
        remarks: head.remarks,
        unwanted,
        shares: (!shares.is_empty()).then(|| shares.into()),
    }
}

async fn decode_beside(
    memory: &Memory,
    codings: Vec<Coding>,
    payload: Bytes,
    cap: u64,
) -> (Bytes, Vec<ResponseRemark>) {
    if codings.is_empty() || payload.len() < LARGE_PAYLOAD {
        return decode::decode(&codings, &payload, cap);
    }
    let _decoder = memory.decoder().await;
    let work = tokio::task::spawn_blocking(move || decode::decode(&codings, &payload, cap));
    work.await.unwrap_or_else(|error| {
        let remark = ResponseRemark::DecodeError {
            coding: "any".to_owned(),
            reason: error.to_string(),
        };
        (Bytes::new(), vec![remark])
    })
}
