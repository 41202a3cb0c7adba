//! HTTP/1.1 servers for all sites. They do not use an HTTP library, so that hazards control every byte.
//!
//! All servers use one port on many addresses. If the plan has at most 256 addresses, each address has its own socket.
//! Otherwise one socket listens on all interfaces. Then connections from other machines are closed before a byte is
//! read. The `Host` header selects the site, so several sites can share an address. All servers stop when the
//! [`JoinSet`] is dropped.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::certificate::Certificates;
use crate::exchange::{ClientStream, Exchange};
use crate::full_queue;
use crate::hazard::{Hazard, HazardRequest};
use crate::log::{Log, LoggedRequest};
use crate::request::{ParsedHead, RequestHead, parse};
use crate::request_counters::RequestCounters;
use crate::secure;
use crate::trespass::{self, Trespass};
use crate::web::{Host, Web};
use crate::wire;

/// Maximum number of addresses with their own socket.
const MAX_SEPARATE_BINDS: usize = 256;
/// Maximum number of ports that are tried until one is free on all addresses.
const MAX_PORT_ATTEMPTS: usize = 50;
/// Listen backlog of the socket that serves all addresses.
const BACKLOG: u32 = 1024;
/// Maximum bytes of a request head.
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// Idle connections are closed after this time.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// The state shared by all connections.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) web: Web,
    pub(crate) log: Log,
    pub(crate) counters: RequestCounters,
    pub(crate) certificates: Option<Certificates>,
    /// Hazard and host name at each hostile address. They are needed if the server must act before it reads the `Host`
    /// header.
    pub(crate) hostile: HashMap<IpAddr, (Hazard, String)>,
    /// Number of connections accepted so far.
    pub(crate) connections: AtomicU64,
}

impl ServerState {
    /// Sends the response of an honest site or of an unknown host. Returns whether the connection must be closed.
    pub(crate) async fn serve_honest(
        &self,
        exchange: &mut Exchange<'_>,
        head: &RequestHead,
        served: usize,
        secure: bool,
    ) -> io::Result<bool> {
        let site = match self.web.host(&head.host) {
            Some(Host::Site(site) | Host::Twin(site)) => Some(site),
            _ => None,
        };
        let last = site.is_some_and(|site| served >= site.max_requests);
        let answer = self.web.answer_over(secure, &head.host, &head.target);
        let reply = wire::reply(site.as_ref(), head, answer, last);
        exchange
            .wait(site.map_or(Duration::ZERO, |site| site.latency))
            .await?;
        exchange.status(reply.status);
        exchange.send(&reply.bytes).await?;
        exchange.complete();
        Ok(reply.close)
    }
}

/// Listens on the same port of all addresses. Port 0 selects a port that is free on all of them.
pub(crate) async fn bind(addresses: &[Ipv4Addr], port: u16) -> io::Result<Vec<TcpListener>> {
    let all_interfaces = [Ipv4Addr::UNSPECIFIED];
    let addresses = if addresses.len() > MAX_SEPARATE_BINDS {
        &all_interfaces
    } else {
        addresses
    };
    let mut last_error = None;
    for _ in 0..if port == 0 { MAX_PORT_ATTEMPTS } else { 1 } {
        match bind_all(addresses, port).await {
            Ok(listeners) => return Ok(listeners),
            Err(error) => last_error = Some(error),
        }
    }
    Err(last_error.expect("at least one attempt"))
}

async fn bind_all(addresses: &[Ipv4Addr], mut port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let listener = if address.is_unspecified() {
            full_queue::bind_shared(SocketAddr::new((*address).into(), port))?.listen(BACKLOG)?
        } else {
            TcpListener::bind((*address, port)).await?
        };
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Listens on the loopback address of IPv6.
pub(crate) async fn bind_ipv6(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await
}

/// Accepts connections until the task is aborted. The abort also closes the accepted connections.
pub(crate) async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, peer)) = accepted && peer.ip().is_loopback() {
                    let state = Arc::clone(&state);
                    connections.spawn(async move {
                        // Errors are normal, because clients disconnect and hazards break connections.
                        let _ = HttpConnection::new(stream, &state)?.run().await;
                        io::Result::Ok(())
                    });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

struct HttpConnection<'a> {
    stream: TcpStream,
    state: &'a ServerState,
    number: u64,
    /// The address to which the client connected.
    address: IpAddr,
    buffer: Vec<u8>,
    /// When the last bytes were read.
    last_read: Instant,
}

impl HttpConnection<'_> {
    fn new(stream: TcpStream, state: &ServerState) -> io::Result<HttpConnection<'_>> {
        stream.set_nodelay(true)?;
        Ok(HttpConnection {
            address: stream.local_addr()?.ip(),
            stream,
            state,
            number: state.connections.fetch_add(1, Ordering::Relaxed),
            buffer: Vec::new(),
            last_read: Instant::now(),
        })
    }

    async fn run(mut self) -> io::Result<()> {
        if trespass::is_refused(self.address) {
            self.state.log.trespass(Trespass {
                address: self.address,
                at: self.last_read,
            });
            return Ok(());
        }
        match self.state.hostile.get(&self.address) {
            Some((Hazard::Down, _)) => return self.stream.set_zero_linger(),
            Some((hazard, host)) if hazard.is_secure() => {
                let (address, number, started) = (self.address, self.number, self.last_read);
                let log_entry = |head: &RequestHead| log_entry(head, address, number, started);
                return secure::serve_hazard(self.stream, (*hazard, host), self.state, log_entry)
                    .await;
            }
            _ => {}
        }
        if self.state.web.plan().secure > 0 && secure::begins_with_handshake(&self.stream).await? {
            let (address, number) = (self.address, self.number);
            let log_entry = |head: &RequestHead, started| log_entry(head, address, number, started);
            return secure::serve_honest(self.stream, self.state, log_entry).await;
        }
        let mut served = 0;
        while let Some((head, started)) = self.next_request().await? {
            served += 1;
            let mut exchange = self.exchange(&head, started);
            match self.state.web.host(&head.host) {
                Some(Host::Hazard(site)) => {
                    let request = HazardRequest {
                        exchange,
                        head: &head,
                        web: &self.state.web,
                        counters: &self.state.counters,
                    };
                    return site.hazard.serve(request).await;
                }
                _ => {
                    if self
                        .state
                        .serve_honest(&mut exchange, &head, served, false)
                        .await?
                    {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn exchange(&self, head: &RequestHead, started: Instant) -> Exchange<'_> {
        let request = log_entry(head, self.address, self.number, started);
        Exchange::new(ClientStream::Plain(&self.stream), &self.state.log, request)
    }

    /// Reads the head of the next request and skips the body. Returns the head and the time of the first byte. `None`
    /// if the client closed the connection, was idle too long, or sent a malformed or too long head.
    async fn next_request(&mut self) -> io::Result<Option<(Box<RequestHead>, Instant)>> {
        let mut started = self.last_read;
        loop {
            match parse(&self.buffer) {
                ParsedHead::Complete(head, length) => {
                    self.skip(length + head.body_length).await?;
                    return Ok(Some((head, started)));
                }
                ParsedHead::Partial if self.buffer.len() < MAX_HEAD => {}
                ParsedHead::Partial | ParsedHead::Malformed => return Ok(None),
            }
            let first = self.buffer.is_empty();
            if !self.read().await? {
                return Ok(None);
            }
            if first {
                started = self.last_read;
            }
        }
    }

    /// Discards the next `length` bytes.
    async fn skip(&mut self, mut length: usize) -> io::Result<()> {
        while length > self.buffer.len() {
            length -= self.buffer.len();
            self.buffer.clear();
            if !self.read().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.buffer.drain(..length);
        Ok(())
    }

    /// Waits for bytes and appends them to the buffer. Returns false at the end of the stream or after the idle
    /// timeout.
    async fn read(&mut self) -> io::Result<bool> {
        loop {
            let Ok(ready) = timeout(IDLE_TIMEOUT, self.stream.readable()).await else {
                return Ok(false);
            };
            ready?;
            let mut piece = [0; 4096];
            match self.stream.try_read(&mut piece) {
                Ok(read) => {
                    self.last_read = Instant::now();
                    self.buffer.extend(&piece[..read]);
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The log entry of a request that has just been read.
fn log_entry(
    head: &RequestHead,
    address: IpAddr,
    connection: u64,
    started: Instant,
) -> LoggedRequest {
    LoggedRequest {
        host: head.host.clone(),
        address,
        method: head.method.clone(),
        path: head.target.clone(),
        started,
        ended: started,
        closed: started,
        status: 0,
        bytes: 0,
        complete: false,
        agent: head.agent.clone(),
        cookie: head.cookie.clone(),
        authorization: head.authorization.clone(),
        connection,
    }
}
