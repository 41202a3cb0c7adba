//! Opens connections: address guard, TCP, TLS. No other code opens a socket to the web.
//!
//! [`open`] passes the same address to the guard and to the system call that connects (invariant 3). Only the address
//! of a proxy is not checked, because the user configured it. No other code in this crate creates a [`TcpStream`].

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
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout_at},
};
use tokio_rustls::client::TlsStream;
use tracing::debug;

use super::{address_guard::AddressGuard, tls::Tls};
use crate::{
    Failure, FetchRequest, Options, Timings,
    clock::deadline_after,
    dns::ip_literal,
    limits::open_sockets::SocketPermit,
    transport::{SimulatedStream, Transport},
};

/// A connection to the server of one origin at one address, or to a proxy.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) certificate_error: Option<String>,
    peer: Peer,
    /// The permit of this connection. Declared last, so that it is released after the stream is closed.
    pub(crate) socket: Option<SocketPermit>,
}

/// The other end of a connection.
#[derive(Debug)]
enum Peer {
    Server { origin: String, address: IpAddr },
    Proxy(SocketAddr),
}

impl Connection {
    /// Whether this request may be sent over the connection.
    pub(crate) fn can_serve(&self, request: &FetchRequest<'_>) -> bool {
        match &self.peer {
            Peer::Proxy(proxy) => request.proxy == Some(*proxy),
            Peer::Server { origin, address } => {
                request.proxy.is_none()
                    && *address == request.address
                    && origin == request.url.origin()
            }
        }
    }

    /// The address of the web server. `None` for a proxy.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match &self.peer {
            Peer::Server { address, .. } => Some(*address),
            Peer::Proxy(_) => None,
        }
    }

    pub(crate) fn is_proxied(&self) -> bool {
        matches!(self.peer, Peer::Proxy(_))
    }

    /// False if the server has closed the connection or has sent bytes without a request.
    pub(crate) fn is_idle(&mut self) -> bool {
        self.stream.read(&mut [0]).now_or_never().is_none()
    }
}

/// A TCP stream, a TLS stream or a simulated stream.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
    Simulated(Box<SimulatedStream>),
}

/// Passes the address of a request to the guard. For a request through a proxy, the guard checks the host of the URL if
/// it is an IP literal.
pub(crate) fn check_target(
    guard: &AddressGuard,
    request: &FetchRequest<'_>,
) -> Result<(), Failure> {
    match request.proxy {
        None => guard.check(request.address),
        Some(_) => ip_literal(request.url.host()).map_or(Ok(()), |address| guard.check(address)),
    }
}

/// Opens a connection if the guard allows its target. Records the durations of the phases in `timings`.
pub(crate) async fn open(
    guard: &AddressGuard,
    transport: &Transport,
    options: &Options,
    request: &FetchRequest<'_>,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<Connection, Failure> {
    check_target(guard, request)?;
    let (url, address) = (request.url, request.address);
    let origin = SocketAddr::new(address, url.port());
    let target = request.proxy.unwrap_or(origin);
    let (stream, certificate_error) = match transport {
        Transport::Real(tls) => open_tcp(tls, options, url, target, deadline, timings).await?,
        Transport::Simulated(network) => {
            let begun = Instant::now();
            let connecting = network.connect(target);
            let stream = within(options.connect_timeout, deadline, connecting).await;
            let stream = stream.ok_or(Failure::ConnectTimeout)??;
            timings.connect = begun.elapsed();
            (Stream::Simulated(Box::new(stream)), None)
        }
    };
    Ok(Connection {
        stream,
        certificate_error,
        peer: request.proxy.map_or_else(
            || Peer::Server {
                origin: url.origin().to_owned(),
                address,
            },
            Peer::Proxy,
        ),
        socket: None,
    })
}

/// Opens a TCP connection, and performs the TLS handshake if the URL is `https`. Does not call the guard, so only
/// [`open`] may call this function.
async fn open_tcp(
    tls: &Tls,
    options: &Options,
    url: &CanonUrl,
    target: SocketAddr,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<(Stream, Option<String>), Failure> {
    let begun = Instant::now();
    let source = choose_source(&options.source_addresses, url.site_key().0, target.ip());
    let source = source.map_err(|()| {
        Failure::ConnectFailed(
            "fetch.source_addresses has no address of this IP version".to_owned(),
        )
    })?;
    let connecting = connect_tcp(target, source, options.limit_rate.is_some());
    let stream = within(options.connect_timeout, deadline, connecting)
        .await
        .ok_or(Failure::ConnectTimeout)?
        .map_err(|error| connect_failure(&error))?;
    // Disables Nagle's algorithm. A request is one small write, which the algorithm would delay.
    let _ = stream.set_nodelay(true);
    timings.connect = begun.elapsed();
    debug!(address = %target, ms = timings.connect.as_millis() as u64, "connected");
    if url.scheme() == Scheme::Http {
        return Ok((Stream::Plain(stream), None));
    }
    let begun = Instant::now();
    let (stream, certificate_error) = within(
        options.tls_timeout,
        deadline,
        tls.handshake(stream, url.host()),
    )
    .await
    .ok_or_else(|| Failure::TlsFailed("the handshake timed out".to_owned()))??;
    timings.tls = begun.elapsed();
    debug!(
        ms = timings.tls.as_millis() as u64,
        certificate_error = certificate_error.as_deref(),
        "TLS handshake done"
    );
    Ok((Stream::Secure(stream), certificate_error))
}

/// The output of the future. `None` if `timeout` or the deadline of the whole fetch passes first.
async fn within<T>(
    timeout: Duration,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Option<T> {
    let until = deadline_after(Instant::now(), timeout);
    timeout_at(until.min(deadline), work).await.ok()
}

/// Size of a socket's receive buffer if the download rate is limited.
const LIMITED_RECV_BUFFER: u32 = 32 << 10;

/// The local address for a connection to `target`: one of the configured addresses of the same IP version, always the
/// same for a site. `None`: the system chooses. `Err`: addresses are configured, but none of this version.
fn choose_source(sources: &[IpAddr], site: u64, target: IpAddr) -> Result<Option<IpAddr>, ()> {
    if sources.is_empty() {
        return Ok(None);
    }
    let same_version = || {
        let sources = sources.iter().copied();
        sources.filter(move |source| source.is_ipv4() == target.is_ipv4())
    };
    match same_version().count() as u64 {
        0 => Err(()),
        count => Ok(same_version().nth((site % count) as usize)),
    }
}

/// Connects from `source`. With a rate limit the receive buffer is small and fixed, so that the server cannot send much
/// more than is read.
async fn connect_tcp(
    target: SocketAddr,
    source: Option<IpAddr>,
    rate_limited: bool,
) -> io::Result<TcpStream> {
    if !rate_limited && source.is_none() {
        return TcpStream::connect(target).await;
    }
    let socket = match target {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    if rate_limited {
        socket.set_recv_buffer_size(LIMITED_RECV_BUFFER)?;
    }
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.connect(target).await
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
            Stream::Simulated(stream) => stream.poll_read(cx, buffer),
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
            Stream::Simulated(stream) => Poll::Ready(stream.write(bytes)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_spread_over_the_exits_of_their_ip_version() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let exits = ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map(address);
        let target = address("198.51.100.1");
        let of_site = |site| choose_source(&exits, site, target);
        assert_eq!(of_site(6), Ok(Some(exits[0])));
        assert_eq!(of_site(7), Ok(Some(exits[1])));
        assert_eq!(
            choose_source(&exits, 7, address("2001:db8::9")),
            Ok(Some(exits[2]))
        );
        assert_eq!(
            choose_source(&exits[..2], 7, address("2001:db8::9")),
            Err(())
        );
        assert_eq!(choose_source(&[], 7, target), Ok(None));
    }
}
