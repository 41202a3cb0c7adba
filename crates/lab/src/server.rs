//! HTTP/1.1 servers for all sites, on raw sockets: hazards must be able to misbehave at the level of bytes.
//!
//! One port, many addresses. Few addresses are bound one by one; many share one bind of all interfaces, and
//! whoever does not come from loopback is dropped before a byte is read. The site is chosen by the `Host`
//! header alone, as virtual hosts are. Everything stops when the [`JoinSet`] is dropped.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::exchange::Exchange;
use crate::log::{Log, Request};
use crate::request::{Head, Parsed, parse};
use crate::web::{Host, Web};
use crate::wire;

/// More addresses than this share one bind.
const SEPARATE_BINDS: usize = 256;
/// Free ports tried until one is free on all addresses.
const ATTEMPTS: usize = 50;
const MAX_HEAD: usize = 64 * 1024;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(75);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) web: Web,
    pub(crate) log: Log,
    pub(crate) connections: AtomicU64,
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
        let listener = TcpListener::bind((*address, port)).await?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(listeners)
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
        let mut served = 0;
        while let Some((head, started)) = self.head().await? {
            served += 1;
            let mut exchange = self.exchange(&head, started);
            match self.shared.web.host(&head.host) {
                Some(Host::Hazard(hazard)) => {
                    hazard.serve(&mut exchange, &head, &self.shared.web).await?;
                    return Ok(());
                }
                host => {
                    if self.honest(&mut exchange, host, &head, served).await? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Answers for an honest site, or for an unknown host; true when the connection is to end.
    async fn honest(
        &self,
        exchange: &mut Exchange<'_>,
        host: Option<Host>,
        head: &Head,
        served: usize,
    ) -> io::Result<bool> {
        let site = match host {
            Some(Host::Site(site) | Host::Twin(site)) => Some(site),
            _ => None,
        };
        let last = site.is_some_and(|site| served >= site.patience);
        let answer = self.shared.web.answer(&head.host, &head.target);
        let reply = wire::reply(site.as_ref(), head, answer, last);
        exchange
            .wait(site.map_or(Duration::ZERO, |site| site.latency))
            .await?;
        exchange.status(reply.status);
        exchange.send(&reply.bytes).await?;
        exchange.complete();
        Ok(reply.close)
    }

    fn exchange(&self, head: &Head, started: Instant) -> Exchange<'_> {
        let record = Request {
            host: head.host.clone(),
            address: self.address,
            method: head.method.clone(),
            path: head.target.clone(),
            started,
            ended: started,
            closed: started,
            status: 0,
            bytes: 0,
            complete: false,
            agent: head.agent.clone(),
            connection: self.number,
        };
        Exchange::new(&self.stream, &self.shared.log, record)
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
