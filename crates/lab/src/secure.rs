//! Serves TLS connections to hazards that have a fault in TLS, and to honest sites with HTTPS.
//!
//! A hazard is identified by the local address of the connection. A connection to a hazard serves one request. If the
//! handshake fails or the client does not use TLS, the log gets an entry with an empty method. If the client closes the
//! connection after the handshake without a request, the log gets no entry. An honest site is identified by the server
//! name in the handshake, and its connections are kept alive.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use crate::exchange::{ClientStream, Exchange};
use crate::hazard::{Hazard, HazardRequest};
use crate::log::LoggedRequest;
use crate::request::{ParsedHead, RequestHead, parse};
use crate::server::{IDLE_TIMEOUT, MAX_HEAD, ServerState};

/// First byte of a TLS handshake record.
const HANDSHAKE_RECORD: u8 = 0x16;
const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
    <title>400 Bad Request</title><p>This server and the client do not both use TLS.</p>\n";

/// Serves a connection to a hazard. `log_entry` creates the log entry of a request.
pub(crate) async fn serve_hazard(
    mut stream: TcpStream,
    (hazard, host): (Hazard, &str),
    state: &ServerState,
    log_entry: impl Fn(&RequestHead) -> LoggedRequest,
) -> io::Result<()> {
    let is_tls = begins_with_handshake(&stream).await?;
    let no_request = RequestHead {
        host: host.to_owned(),
        ..RequestHead::default()
    };
    let acceptor = state.certificates.as_ref().and_then(|c| c.acceptor(hazard));
    let Some(acceptor) = acceptor.filter(|_| is_tls) else {
        let _discarded = stream.read(&mut [0; 4096]).await?;
        let mut exchange = Exchange::new(
            ClientStream::Plain(&stream),
            &state.log,
            log_entry(&no_request),
        );
        if hazard == Hazard::Handshake {
            return exchange.wait(Duration::from_hours(24)).await;
        }
        exchange.status(400);
        exchange.send(REFUSAL.as_bytes()).await?;
        exchange.complete();
        return Ok(());
    };
    let mut stream = match acceptor.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => {
            // The client rejected the certificate.
            let mut request = log_entry(&no_request);
            request.closed = Instant::now();
            state.log.request(request);
            return Err(error);
        }
    };
    let Some((head, _)) = next_request(&mut stream, &mut Vec::new()).await? else {
        return Ok(());
    };
    let request = HazardRequest {
        exchange: Exchange::new(
            ClientStream::Secure(&mut stream),
            &state.log,
            log_entry(&head),
        ),
        head: &head,
        web: &state.web,
        counters: &state.counters,
    };
    hazard.serve(request).await?;
    stream.shutdown().await
}

/// Whether the client's first byte begins a TLS handshake. Waits for the byte and leaves it in the socket.
pub(crate) async fn begins_with_handshake(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? == 1 && first[0] == HANDSHAKE_RECORD)
}

/// Serves a connection to an honest site until either side closes it.
pub(crate) async fn serve_honest(
    stream: TcpStream,
    state: &ServerState,
    log_entry: impl Fn(&RequestHead, Instant) -> LoggedRequest,
) -> io::Result<()> {
    let Some(certificates) = &state.certificates else {
        return Ok(());
    };
    let mut stream = certificates.honest.accept(stream).await?;
    let mut buffer = Vec::new();
    let mut served = 0;
    while let Some((head, started)) = next_request(&mut stream, &mut buffer).await? {
        served += 1;
        let request = log_entry(&head, started);
        let mut exchange = Exchange::new(ClientStream::Secure(&mut stream), &state.log, request);
        if state
            .serve_honest(&mut exchange, &head, served, true)
            .await?
        {
            break;
        }
    }
    stream.shutdown().await
}

/// Reads the next request. Returns its head and the time of its first byte. `None` if the client closed the connection,
/// was idle too long, or sent a malformed or too long head.
async fn next_request(
    stream: &mut TlsStream<TcpStream>,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(Box<RequestHead>, Instant)>> {
    let mut started = Instant::now();
    loop {
        match parse(buffer) {
            ParsedHead::Complete(head, length) => {
                buffer.drain(..length);
                return Ok(Some((head, started)));
            }
            ParsedHead::Partial if buffer.len() < MAX_HEAD => {}
            ParsedHead::Partial | ParsedHead::Malformed => return Ok(None),
        }
        let first = buffer.is_empty();
        let Ok(read) = timeout(IDLE_TIMEOUT, stream.read_buf(buffer)).await else {
            return Ok(None);
        };
        if read? == 0 {
            return Ok(None);
        }
        if first {
            started = Instant::now();
        }
    }
}
