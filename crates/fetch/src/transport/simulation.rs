//! What stands below a [`crate::Fetcher`]: name servers and sockets, or a function that plays both.
//!
//! ```text
//! Fetcher ─► dns: cache, breaker ─► names:  Real: servers     Simulated: Simulation::look_up
//!     └► connect: guard ──────► stream: Real: TCP, TLS    Simulated: Simulation::connect, respond
//! ```
//!
//! The seam is at the bottom, so that in a simulation everything above it is the code that crawls: DNS cache, guard,
//! kept-alive connections, time limits, the exchange byte by byte. All waiting is by tokio's timers, and nothing waits for
//! anything else: under tokio's paused clock a simulated network takes no time but the processor's
//! (docs/decisions/0011-simulation.md).

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::{
    io::ReadBuf,
    time::{Sleep, sleep},
};

use crate::{Failure, clock::Clock, connection::tls::Tls};

/// A web that is made up as it is asked. Times are unix milliseconds of the calendar that the web was given.
pub trait Simulation: Send + Sync + 'static {
    /// What the name servers say, and how long they take. It is believed for the shortest time that the options allow.
    fn look_up(&self, now: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>);

    /// How long it takes until there is a connection, or until it is known that there will be none.
    fn connect(&self, now: i64, target: SocketAddr) -> (Duration, Result<(), Failure>);

    /// A request, head complete, has arrived. To be called once for each.
    fn respond(&self, now: i64, target: SocketAddr, request: &[u8]) -> SimulatedResponse;

    /// The last byte of an answer was taken, or the client is gone: it gave up, or was killed.
    fn exchange_ended(&self, now: i64, target: SocketAddr, id: u64);
}

/// What a simulated server does with a request.
#[derive(Clone, Debug)]
pub struct SimulatedResponse {
    /// The server's own name for the request; comes back with [`Simulation::exchange_ended`].
    pub id: u64,
    /// Until the first byte, which is also the last: the answer comes whole.
    pub delay: Duration,
    /// Head and body; none: the server closes the connection without a word.
    pub bytes: Bytes,
}

/// Which of the two.
pub(crate) enum Network {
    Real(Box<Tls>),
    Simulated(Simulated),
}

/// A simulated web with its calendar.
#[derive(Clone)]
pub(crate) struct Simulated {
    web: Arc<dyn Simulation>,
    clock: Clock,
}

impl Simulated {
    pub(crate) fn new(web: Arc<dyn Simulation>, clock: Clock) -> Simulated {
        Simulated { web, clock }
    }

    pub(crate) async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        let (after, found) = self.web.look_up(self.clock.now_ms(), name);
        sleep(after).await;
        found
    }

    pub(crate) async fn connect(&self, target: SocketAddr) -> Result<Pipe, Failure> {
        let (after, end) = self.web.connect(self.clock.now_ms(), target);
        sleep(after).await;
        end.map(|()| Pipe {
            simulated: self.clone(),
            target,
            request: Vec::new(),
            reply: None,
            closed: false,
        })
    }
}

/// A connection to a simulated server.
pub(crate) struct Pipe {
    simulated: Simulated,
    target: SocketAddr,
    /// What has come of a request whose head is not complete.
    request: Vec<u8>,
    reply: Option<Coming>,
    closed: bool,
}

/// An answer on its way.
struct Coming {
    id: u64,
    due: Pin<Box<Sleep>>,
    bytes: Bytes,
}

impl Pipe {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let Simulated { web, clock } = &self.simulated;
            let reply = web.respond(clock.now_ms(), self.target, &self.request);
            self.request.clear();
            self.reply = Some(Coming {
                id: reply.id,
                due: Box::pin(sleep(reply.delay)),
                bytes: reply.bytes,
            });
        }
        Ok(bytes.len())
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(coming) = &mut self.reply else {
            // Without a request the server says nothing, and nobody has to be woken for it.
            return if self.closed {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        };
        if coming.due.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.closed = coming.bytes.is_empty();
        let count = coming.bytes.len().min(buffer.remaining());
        buffer.put_slice(&coming.bytes[..count]);
        coming.bytes.advance(count);
        if coming.bytes.is_empty() {
            self.end();
        }
        Poll::Ready(Ok(()))
    }

    fn end(&mut self) {
        if let Some(coming) = self.reply.take() {
            let Simulated { web, clock } = &self.simulated;
            web.exchange_ended(clock.now_ms(), self.target, coming.id);
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
