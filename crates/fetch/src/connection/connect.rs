//! Opens connections: address guard, TCP, proxy, TLS. No other code opens a socket to the web.
//!
//! [`open`] passes the same address first to the guard, and then to the system call that connects or to the SOCKS proxy
//! (invariant 3). If a proxy resolves the name, the guard checks the addresses that aranha has found, or the name if
//! there are none ([`check_target`]). The address of a proxy is not checked, because the user configured it. No other
//! code in this crate creates a [`TcpStream`].

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
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
    proxy::{
        ConnectError, Proxy, ProxyError, ProxyProtocol, Via, http_connect,
        socks5::{self, Target},
    },
    transport::{SimulatedStream, Transport},
};

/// A connection for requests. Its other end is either a server (reached directly or through a tunnel of a proxy) or a
/// proxy that takes requests with whole URLs.
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
    /// A server. Its `address` is `None` if a proxy has resolved its name.
    Server {
        origin: String,
        address: Option<IpAddr>,
    },
    /// An HTTP proxy that forwards requests for `http` URLs of any server.
    HttpProxy,
    /// The cache of a proxy.
    Cache(SocketAddr),
}

impl Connection {
    /// Whether this request may be sent over the connection. The proxy itself is not compared, because a crawl has only
    /// one proxy for each URL scheme.
    pub(crate) fn can_serve(&self, request: &FetchRequest<'_>, via: Via<'_>) -> bool {
        match &self.peer {
            Peer::Cache(cache) => request.cache == Some(*cache),
            Peer::HttpProxy => request.cache.is_none() && via.has_absolute_form(request.url),
            Peer::Server { origin, address } => {
                !via.has_absolute_form(request.url)
                    && (*address == request.address || via.resolves_names())
                    && origin == request.url.origin()
            }
        }
    }

    /// The address of the web server. `None` if a proxy has resolved its name.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match &self.peer {
            Peer::Server { address, .. } => *address,
            Peer::HttpProxy | Peer::Cache(_) => None,
        }
    }

    /// Whether the connection ends at an HTTP proxy that reads the requests.
    pub(crate) fn is_to_http_proxy(&self) -> bool {
        matches!(self.peer, Peer::HttpProxy)
    }

    pub(crate) fn is_to_cache(&self) -> bool {
        matches!(self.peer, Peer::Cache(_))
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

/// Asks the guard whether this request may be sent. The guard checks the address of the server if it is known. If a
/// proxy resolves the name and the address is not known, the guard checks the host of the URL.
pub(crate) fn check_target(
    guard: &AddressGuard,
    request: &FetchRequest<'_>,
    via: Via<'_>,
) -> Result<(), Failure> {
    if !via.resolves_names() {
        let address = request.address.ok_or_else(|| {
            Failure::Protocol(
                "no proxy resolves the name, and the request has no address".to_owned(),
            )
        })?;
        return guard.check(address);
    }
    let literal = ip_literal(request.url.host());
    match literal.or(request.address) {
        Some(address) => guard.check(address),
        // Other clients have fetched the pages in a cache, so only an IP literal is checked.
        None if request.cache.is_some() => Ok(()),
        None => guard.check_name(request.url.host()),
    }
}

/// Opens a connection if the guard allows its target. Records the durations of the phases in `timings`.
pub(crate) async fn open(
    guard: &AddressGuard,
    transport: &Transport,
    options: &Options,
    request: &FetchRequest<'_>,
    via: Via<'_>,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<Connection, Failure> {
    check_target(guard, request, via)?;
    let url = request.url;
    let address = request.address.filter(|_| !via.resolves_names());
    let peer = match via {
        Via::Cache(cache) => Peer::Cache(cache),
        Via::Proxy(_) if via.has_absolute_form(url) => Peer::HttpProxy,
        Via::Proxy(_) | Via::Direct => Peer::Server {
            origin: url.origin().to_owned(),
            address,
        },
    };
    let target = match (via, address) {
        (Via::Cache(cache), _) => Some(cache),
        (Via::Direct, Some(address)) => Some(SocketAddr::new(address, url.port())),
        _ => None,
    };
    let (stream, certificate_error) = match (transport, target, via) {
        (Transport::Real(tls), Some(target), _) => {
            let stream = open_tcp(options, url, target, deadline, timings).await?;
            secure(stream, tls, options, url, deadline, timings).await?
        }
        (Transport::Real(tls), None, Via::Proxy(proxy)) => {
            // Boxed, so that this future takes no space in crawls without a proxy.
            let opening = open_through(proxy, address, options, url, deadline, timings);
            let stream = Box::pin(opening).await?;
            secure(stream, tls, options, url, deadline, timings).await?
        }
        (Transport::Simulated(network), Some(target), _) => {
            let begun = Instant::now();
            let connecting = network.connect(target);
            let stream = within(options.connect_timeout, deadline, connecting).await;
            let stream = stream.ok_or(Failure::ConnectTimeout)??;
            timings.connect = begun.elapsed();
            (Stream::Simulated(Box::new(stream)), None)
        }
        (_, None, _) => {
            unreachable!("a simulation has no proxies, and `check_target` requires an address")
        }
    };
    Ok(Connection {
        stream,
        certificate_error,
        peer,
        socket: None,
    })
}

/// Opens a TCP connection. Does not call the guard, so only [`open`] may call this function.
async fn open_tcp(
    options: &Options,
    url: &CanonUrl,
    target: SocketAddr,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<TcpStream, Failure> {
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
    Ok(stream)
}

/// Connects to the proxy. Unless the proxy reads whole URLs, also asks it to connect to the server. `address` is the
/// address of the server, which the guard has allowed; `None` if the proxy resolves the name. Only [`open`] may call
/// this function.
///
/// The proxy must answer within `connect_timeout`. If it resolves the name, it has `dns_timeout` in addition.
async fn open_through(
    proxy: &Arc<Proxy>,
    address: Option<IpAddr>,
    options: &Options,
    url: &CanonUrl,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<TcpStream, Failure> {
    let begun = Instant::now();
    let before = proxy.health().connections();
    let dialled = timeout_at(deadline, proxy.dial(url.site_key().0)).await;
    let late = |_| Err(ProxyError::Down("no answer in time".to_owned()));
    let dialled = dialled.unwrap_or_else(late);
    let mut stream = dialled.map_err(|error| proxy.record_error(error, before))?;
    if !Via::Proxy(proxy).has_absolute_form(url) {
        let limit = match address {
            Some(_) => options.connect_timeout,
            None => options.connect_timeout.saturating_add(options.dns_timeout),
        };
        let asking = ask_to_connect(proxy, &mut stream, address, options, url);
        let asked = within(limit, deadline, asking).await;
        asked
            .ok_or(Failure::ConnectTimeout)?
            .map_err(|error| proxy.record_connect_error(error, before))?;
        proxy.health().record_accepted();
    }
    timings.connect = begun.elapsed();
    debug!(proxy = %proxy.url(), ms = timings.connect.as_millis() as u64, "connected through the proxy");
    Ok(stream)
}

/// Asks a proxy, to which `stream` leads, to connect to the server of a URL.
async fn ask_to_connect(
    proxy: &Proxy,
    stream: &mut TcpStream,
    address: Option<IpAddr>,
    options: &Options,
    url: &CanonUrl,
) -> Result<(), ConnectError> {
    if proxy.protocol() == ProxyProtocol::Http {
        let authority = format!("{}:{}", url.host(), url.port());
        return http_connect::connect(
            stream,
            &authority,
            &options.user_agent,
            proxy.authorization(),
        )
        .await;
    }
    let target = match address.or_else(|| ip_literal(url.host())) {
        Some(address) => Target::Address(address),
        None => Target::Name(url.host().trim_end_matches('.')),
    };
    let connecting = socks5::connect(stream, target, url.port()).await;
    connecting.map_err(ConnectError::Server)
}

/// Performs the TLS handshake with the server if the URL is `https`.
async fn secure(
    stream: TcpStream,
    tls: &Tls,
    options: &Options,
    url: &CanonUrl,
    deadline: Instant,
    timings: &mut Timings,
) -> Result<(Stream, Option<String>), Failure> {
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

/// The local address for a connection to `target`, chosen among the configured addresses of the same IP version. A site
/// always gets the same address. `None` if no address is configured, so that the system chooses. `Err` if addresses are
/// configured, but none of this IP version.
pub(crate) fn choose_source(
    sources: &[IpAddr],
    site: u64,
    target: IpAddr,
) -> Result<Option<IpAddr>, ()> {
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

/// Connects from `source`. [`open_tcp`] calls this for servers, and `proxy/dial.rs` for proxies. With a rate limit, the
/// receive buffer is small and fixed, so that the server cannot send much more than the fetch has read.
pub(crate) async fn connect_tcp(
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
