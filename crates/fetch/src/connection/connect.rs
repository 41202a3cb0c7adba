//! The only place where a socket to the web is opened: address guard, TCP, TLS.
//!
//! [`open`] checks the address itself, on the same value that it connects to (invariant 3). The only exception is a
//! proxy, which the user configured. No other code in this crate creates a [`TcpStream`].

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use aranha_url::{CanonUrl, Scheme};
use futures_util::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::client::TlsStream;
use tracing::debug;

use super::{address_guard::Guard, tls::Tls};
use crate::{
    Failure, FetchRequest, Options, Timings,
    clock::after,
    dns::literal,
    limits::open_sockets::Socket,
    transport::{Network, Pipe},
};

/// A connection to one origin at one address, or to a proxy.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) certificate_error: Option<String>,
    end: End,
    /// Its place among all connections, given back after the stream is closed.
    pub(crate) socket: Option<Socket>,
}

/// Whom a connection leads to.
#[derive(Debug)]
enum End {
    Server { origin: String, address: IpAddr },
    Proxy(SocketAddr),
}

impl Connection {
    /// Whether this request may go through it.
    pub(crate) fn serves(&self, request: &FetchRequest<'_>) -> bool {
        match &self.end {
            End::Proxy(proxy) => request.proxy == Some(*proxy),
            End::Server { origin, address } => {
                request.proxy.is_none()
                    && *address == request.address
                    && origin == request.url.origin()
            }
        }
    }

    pub(crate) fn is_proxied(&self) -> bool {
        matches!(self.end, End::Proxy(_))
    }

    /// Whether an idle connection is still quiet. A server that closed, or sent what nobody asked for, shows here.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.stream.read(&mut [0]).now_or_never().is_none()
    }
}

/// TCP, with or without TLS; or what stands for it in a simulation.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
    Simulated(Box<Pipe>),
}

/// Judges what a request leads to: the address, or, when a proxy is asked to go there, the host if it is an address.
pub(crate) fn pass(guard: &Guard, request: &FetchRequest<'_>) -> Result<(), Failure> {
    match request.proxy {
        None => guard.pass(request.address),
        Some(_) => literal(request.url.host()).map_or(Ok(()), |address| guard.pass(address)),
    }
}

/// Opens a connection if the guard passes where it leads. The timings of the phases are filled in on the way.
pub(crate) async fn open(
    guard: &Guard,
    network: &Network,
    options: &Options,
    request: &FetchRequest<'_>,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<Connection, Failure> {
    pass(guard, request)?;
    let (url, address) = (request.url, request.address);
    let own = SocketAddr::new(address, url.port());
    let target = request.proxy.unwrap_or(own);
    let (stream, certificate_error) = match network {
        Network::Real(tls) => reach(tls, options, url, target, deadline, timings).await?,
        Network::Simulated(simulated) => {
            let begun = Instant::now();
            let pipe = simulated.connect(target);
            let pipe = within(options.connect_timeout, deadline, pipe).await;
            let pipe = pipe.ok_or(Failure::ConnectTimeout)??;
            timings.connect = begun.elapsed();
            (Stream::Simulated(Box::new(pipe)), None)
        }
    };
    Ok(Connection {
        stream,
        certificate_error,
        end: request.proxy.map_or_else(
            || End::Server {
                origin: url.origin().to_owned(),
                address,
            },
            End::Proxy,
        ),
        socket: None,
    })
}

/// TCP, then TLS where the URL asks for it. For [`open`] alone, which has asked the guard.
async fn reach(
    tls: &Tls,
    options: &Options,
    url: &CanonUrl,
    target: SocketAddr,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<(Stream, Option<String>), Failure> {
    let begun = Instant::now();
    let connecting = TcpStream::connect(target);
    let stream = within(options.connect_timeout, deadline, connecting)
        .await
        .ok_or(Failure::ConnectTimeout)?
        .map_err(|error| connect_failure(&error))?;
    // Requests are one small write: waiting for more helps nobody.
    let _ = stream.set_nodelay(true);
    timings.connect = begun.elapsed();
    debug!(address = %target, ms = timings.connect.as_millis() as u64, "connected");
    if url.scheme() == Scheme::Http {
        return Ok((Stream::Plain(stream), None));
    }
    let begun = Instant::now();
    let (stream, fault) = within(
        options.tls_timeout,
        deadline,
        tls.secure(stream, url.host()),
    )
    .await
    .ok_or_else(|| Failure::TlsFailed("the handshake took too long".to_owned()))??;
    timings.tls = begun.elapsed();
    debug!(
        ms = timings.tls.as_millis() as u64,
        certificate_error = fault.as_deref(),
        "TLS handshake done"
    );
    Ok((Stream::Secure(stream), fault))
}

/// `None` when the phase's limit, or the whole fetch's, passed first.
async fn within<T>(limit: Duration, deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let until = after(Instant::now(), limit);
    timeout_at(until.min(deadline), work).await.ok()
}

fn connect_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        io::ErrorKind::ConnectionRefused => Failure::ConnectFailed("connection refused".to_owned()),
        _ => Failure::ConnectFailed(error.to_string()),
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Simulated(pipe) => pipe.poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Simulated(pipe) => Poll::Ready(pipe.write(bytes)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Simulated(_) => Poll::Ready(Ok(())),
        }
    }
}
