//! A simulated network: a [`Simulation`] answers DNS look-ups, accepts connections and responds to requests in memory.
//!
//! All delays are tokio timers. If tokio's clock is paused, the delays therefore take no real time
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

use crate::{Failure, clock::CalendarClock};

/// A simulated web. `now` is the simulated time in Unix milliseconds.
pub trait Simulation: Send + Sync + 'static {
    /// The delay and the result of a DNS look-up. The answer is cached for `dns_ttl_min`.
    fn look_up(&self, now: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>);

    /// The delay and the result of a connection attempt.
    fn connect(&self, now: i64, target: SocketAddr) -> (Duration, Result<(), Failure>);

    /// The response to a complete request head. Called once per request.
    fn respond(&self, now: i64, target: SocketAddr, request: &[u8]) -> SimulatedResponse;

    /// Called when the client has read the last byte of a response, or when it closes the connection before that byte.
    fn exchange_ended(&self, now: i64, target: SocketAddr, id: u64);
}

/// A simulated server's response to a request.
#[derive(Clone, Debug)]
pub struct SimulatedResponse {
    /// Identifies the request; passed to [`Simulation::exchange_ended`].
    pub id: u64,
    /// Delay until the response arrives. All bytes arrive together.
    pub delay: Duration,
    /// Head and body. If empty, the server closes the connection without a response.
    pub bytes: Bytes,
}

/// A simulated web and its clock.
#[derive(Clone)]
pub(crate) struct SimulatedTransport {
    web: Arc<dyn Simulation>,
    clock: CalendarClock,
}

impl SimulatedTransport {
    pub(crate) fn new(web: Arc<dyn Simulation>, clock: CalendarClock) -> SimulatedTransport {
        SimulatedTransport { web, clock }
    }

    pub(crate) async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Failure> {
        let (delay, result) = self.web.look_up(self.clock.now_ms(), name);
        sleep(delay).await;
        result
    }

    pub(crate) async fn connect(&self, target: SocketAddr) -> Result<SimulatedStream, Failure> {
        let (delay, result) = self.web.connect(self.clock.now_ms(), target);
        sleep(delay).await;
        result.map(|()| SimulatedStream {
            network: self.clone(),
            target,
            request: Vec::new(),
            response: None,
            closed: false,
        })
    }
}

/// A connection to a simulated server.
pub(crate) struct SimulatedStream {
    network: SimulatedTransport,
    target: SocketAddr,
    /// The bytes of a request whose head is not complete.
    request: Vec<u8>,
    response: Option<PendingResponse>,
    closed: bool,
}

/// A response that has not been read completely.
struct PendingResponse {
    id: u64,
    arrival: Pin<Box<Sleep>>,
    bytes: Bytes,
}

impl SimulatedStream {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let SimulatedTransport { web, clock } = &self.network;
            let response = web.respond(clock.now_ms(), self.target, &self.request);
            self.request.clear();
            self.response = Some(PendingResponse {
                id: response.id,
                arrival: Box::pin(sleep(response.delay)),
                bytes: response.bytes,
            });
        }
        Ok(bytes.len())
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(pending) = &mut self.response else {
            // The server sends bytes only after a request, so no waker is registered.
            return if self.closed {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        };
        if pending.arrival.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.closed = pending.bytes.is_empty();
        let count = pending.bytes.len().min(buffer.remaining());
        buffer.put_slice(&pending.bytes[..count]);
        pending.bytes.advance(count);
        if pending.bytes.is_empty() {
            self.end_exchange();
        }
        Poll::Ready(Ok(()))
    }

    fn end_exchange(&mut self) {
        if let Some(pending) = self.response.take() {
            let SimulatedTransport { web, clock } = &self.network;
            web.exchange_ended(clock.now_ms(), self.target, pending.id);
        }
    }
}

impl Drop for SimulatedStream {
    fn drop(&mut self) {
        self.end_exchange();
    }
}

impl fmt::Debug for SimulatedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedStream")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
