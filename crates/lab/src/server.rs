//! HTTP/1.1 servers for all sites, on raw sockets: hazards must be able to misbehave at the level of bytes.
//!
//! One port, many addresses. Few addresses are bound one by one; many share one bind of all interfaces, and
//! whoever does not come from loopback is dropped before a byte is read. The site is chosen by the `Host`
//! header alone, as virtual hosts are. Everything stops when the [`JoinSet`] is dropped.

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
use crate::exchange::{Exchange, Pipe};
use crate::hazard::{Hazard, Visit};
use crate::log::{Log, Request};
use crate::memory::Memory;
use crate::request::{Head, Parsed, parse};
use crate::secure;
use crate::trespass::{self, Trespass};
use crate::vacuum;
use crate::web::{Host, Web};
use crate::wire;

/// More addresses than this share one bind.
const SEPARATE_BINDS: usize = 256;
/// Free ports tried until one is free on all addresses.
const ATTEMPTS: usize = 50;
/// Connections that may wait where one socket serves all addresses.
const BACKLOG: u32 = 1024;
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// How long an idle connection is kept.
pub(crate) const IDLE: Duration = Duration::from_secs(75);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) web: Web,
    pub(crate) log: Log,
    pub(crate) memory: Memory,
    pub(crate) certificates: Option<Certificates>,
    /// Who is at an address and under which name, for what must be known before the first byte.
    pub(crate) hostile: HashMap<IpAddr, (Hazard, String)>,
    pub(crate) connections: AtomicU64,
}

impl Shared {
    /// Answers for an honest site, or for an unknown host; true when the connection is to end.
    pub(crate) async fn honest(
        &self,
        exchange: &mut Exchange<'_>,
        head: &Head,
        served: usize,
        secure: bool,
    ) -> io::Result<bool> {
        let site = match self.web.host(&head.host) {
            Some(Host::Site(site) | Host::Twin(site)) => Some(site),
            _ => None,
        };
        let last = site.is_some_and(|site| served >= site.patience);
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

/// Listeners on one common port of all addresses; port 0 looks for a free one.
pub(crate) async fn bind(addresses: &[Ipv4Addr], port: u16) -> io::Result<Vec<TcpListener>> {
    let everywhere = [Ipv4Addr::UNSPECIFIED];
    let addresses = if addresses.len() > SEPARATE_BINDS {
        &everywhere
    } else {
        addresses
    };
    let mut last = None;
    for _ in 0..if port == 0 { ATTEMPTS } else { 1 } {
        match bind_all(addresses, port).await {
            Ok(listeners) => return Ok(listeners),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("at least one attempt failed"))
}

async fn bind_all(addresses: &[Ipv4Addr], mut port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let listener = if address.is_unspecified() {
            vacuum::shared(SocketAddr::new((*address).into(), port))?.listen(BACKLOG)?
        } else {
            TcpListener::bind((*address, port)).await?
        };
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// A listener on the one loopback address of version six.
pub(crate) async fn bind_six(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await
}

/// Accepts for ever. Connections end with this task.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, peer)) = accepted && peer.ip().is_loopback() {
                    let shared = Arc::clone(&shared);
                    connections.spawn(async move {
                        // The client went away or the hazard is over: both are how connections end.
                        let _ = Connection::new(stream, &shared)?.run().await;
                        io::Result::Ok(())
                    });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

struct Connection<'a> {
    stream: TcpStream,
    shared: &'a Shared,
    number: u64,
    address: IpAddr,
    buffer: Vec<u8>,
    /// When the last bytes were read.
    arrived: Instant,
}

impl Connection<'_> {
    fn new(stream: TcpStream, shared: &Shared) -> io::Result<Connection<'_>> {
        stream.set_nodelay(true)?;
        Ok(Connection {
            address: stream.local_addr()?.ip(),
            stream,
            shared,
            number: shared.connections.fetch_add(1, Ordering::Relaxed),
            buffer: Vec::new(),
            arrived: Instant::now(),
        })
    }

    async fn run(mut self) -> io::Result<()> {
        if trespass::is_refused(self.address) {
            self.shared.log.trespass(Trespass {
                address: self.address,
                at: self.arrived,
            });
            return Ok(());
        }
        match self.shared.hostile.get(&self.address) {
            Some((Hazard::Down, _)) => return self.stream.set_zero_linger(),
            Some((hazard, host)) if hazard.is_secure() => {
                let (address, number, started) = (self.address, self.number, self.arrived);
                let entry = |head: &Head| record(head, address, number, started);
                return secure::serve(self.stream, (*hazard, host), self.shared, entry).await;
            }
            _ => {}
        }
        if self.shared.web.plan().secure > 0 && secure::greeted(&self.stream).await? {
            let (address, number) = (self.address, self.number);
            let entry = |head: &Head, started| record(head, address, number, started);
            return secure::serve_honest(self.stream, self.shared, entry).await;
        }
        let mut served = 0;
        while let Some((head, started)) = self.head().await? {
            served += 1;
            let mut exchange = self.exchange(&head, started);
            match self.shared.web.host(&head.host) {
                Some(Host::Hazard(spot)) => {
                    let visit = Visit {
                        exchange,
                        head: &head,
                        web: &self.shared.web,
                        memory: &self.shared.memory,
                    };
                    return spot.hazard.serve(visit).await;
                }
                _ => {
                    if self
                        .shared
                        .honest(&mut exchange, &head, served, false)
                        .await?
                    {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn exchange(&self, head: &Head, started: Instant) -> Exchange<'_> {
        let record = record(head, self.address, self.number, started);
        Exchange::new(Pipe::Plain(&self.stream), &self.shared.log, record)
    }

    /// The next request, its body read past, and when its first byte was read; `None` when the client is done
    /// or talks nonsense.
    async fn head(&mut self) -> io::Result<Option<(Box<Head>, Instant)>> {
        let mut started = self.arrived;
        loop {
            match parse(&self.buffer) {
                Parsed::Head(head, length) => {
                    self.skip(length + head.length).await?;
                    return Ok(Some((head, started)));
                }
                Parsed::More if self.buffer.len() < MAX_HEAD => {}
                Parsed::More | Parsed::Malformed => return Ok(None),
            }
            let first = self.buffer.is_empty();
            if !self.read().await? {
                return Ok(None);
            }
            if first {
                started = self.arrived;
            }
        }
    }

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

    /// Reads what there is; false at the end or when nothing came for too long.
    async fn read(&mut self) -> io::Result<bool> {
        loop {
            let Ok(ready) = timeout(IDLE, self.stream.readable()).await else {
                return Ok(false);
            };
            ready?;
            let mut piece = [0; 4096];
            match self.stream.try_read(&mut piece) {
                Ok(read) => {
                    self.arrived = Instant::now();
                    self.buffer.extend(&piece[..read]);
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The log's line for a request that has just been read.
fn record(head: &Head, address: IpAddr, connection: u64, started: Instant) -> Request {
    Request {
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
