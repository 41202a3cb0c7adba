//! Connections over TLS: to the hazards that misbehave there, and to honest sites that speak it.
//!
//! A server knows by its own address which hazard it is; there the first bytes should be a TLS greeting and not a
//! request. One request is answered over each connection. A connection on which no request was read is logged with
//! an empty method. Honest sites are known by the name in the greeting, and keep their connections.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use crate::exchange::{Exchange, Pipe};
use crate::hazard::{Hazard, Visit};
use crate::log::Request;
use crate::request::{Head, Parsed, parse};
use crate::server::{IDLE, MAX_HEAD, Shared};

/// First byte of a TLS record that carries a handshake.
const GREETING: u8 = 0x16;
const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
    <title>400 Bad Request</title><p>One of us speaks TLS and the other does not.</p>\n";

/// Serves a connection; `entry` makes the log's line for a request's head.
pub(crate) async fn serve(
    mut stream: TcpStream,
    (hazard, host): (Hazard, &str),
    shared: &Shared,
    entry: impl Fn(&Head) -> Request,
) -> io::Result<()> {
    let greeted = greeted(&stream).await?;
    let nobody = Head {
        host: host.to_owned(),
        ..Head::default()
    };
    let acceptor = shared
        .certificates
        .as_ref()
        .and_then(|c| c.acceptor(hazard));
    let Some(acceptor) = acceptor.filter(|_| greeted) else {
        let _greeting = stream.read(&mut [0; 4096]).await?;
        let mut exchange = Exchange::new(Pipe::Plain(&stream), &shared.log, entry(&nobody));
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
            let mut record = entry(&nobody); // the client did not like the certificate
            record.closed = Instant::now();
            shared.log.request(record);
            return Err(error);
        }
    };
    let Some((head, _)) = next(&mut stream, &mut Vec::new()).await? else {
        return Ok(());
    };
    let visit = Visit {
        exchange: Exchange::new(Pipe::Secure(&mut stream), &shared.log, entry(&head)),
        head: &head,
        web: &shared.web,
        memory: &shared.memory,
    };
    hazard.serve(visit).await?;
    stream.shutdown().await
}

/// The client's first byte is one of TLS; waits for it without taking it.
pub(crate) async fn greeted(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? == 1 && first[0] == GREETING)
}

/// Serves a connection to an honest site until either side has had enough.
pub(crate) async fn serve_honest(
    stream: TcpStream,
    shared: &Shared,
    entry: impl Fn(&Head, Instant) -> Request,
) -> io::Result<()> {
    let Some(certificates) = &shared.certificates else {
        return Ok(());
    };
    let mut stream = certificates.honest.accept(stream).await?;
    let mut buffer = Vec::new();
    let mut served = 0;
    while let Some((head, started)) = next(&mut stream, &mut buffer).await? {
        served += 1;
        let record = entry(&head, started);
        let mut exchange = Exchange::new(Pipe::Secure(&mut stream), &shared.log, record);
        if shared.honest(&mut exchange, &head, served, true).await? {
            break;
        }
    }
    stream.shutdown().await
}

/// The next request and when its first byte was read; `None` when the client is done or talks nonsense.
async fn next(
    stream: &mut TlsStream<TcpStream>,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(Box<Head>, Instant)>> {
    let mut started = Instant::now();
    loop {
        match parse(buffer) {
            Parsed::Head(head, length) => {
                buffer.drain(..length);
                return Ok(Some((head, started)));
            }
            Parsed::More if buffer.len() < MAX_HEAD => {}
            Parsed::More | Parsed::Malformed => return Ok(None),
        }
        let first = buffer.is_empty();
        let Ok(read) = timeout(IDLE, stream.read_buf(buffer)).await else {
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
