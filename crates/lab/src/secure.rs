//! Connections to the hazards that misbehave in TLS.
//!
//! A server knows by its own address which hazard it is; there the first bytes should be a TLS greeting and not a
//! request. One request is answered over each connection. A connection on which no request was read is logged with
//! an empty method.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::exchange::{Exchange, Pipe};
use crate::hazard::{Hazard, Visit};
use crate::log::Request;
use crate::request::{Head, Parsed, parse};
use crate::server::{MAX_HEAD, Shared};

/// First byte of a TLS record that carries a handshake.
const GREETING: u8 = 0x16;
const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
    <title>400 Bad Request</title><p>One of us speaks TLS and the other does not.</p>\n";

/// Serves a connection; `entry` makes the log's line for a request's head.
pub(crate) async fn serve(
    mut stream: TcpStream,
    hazard: Hazard,
    shared: &Shared,
    entry: impl Fn(&Head) -> Request,
) -> io::Result<()> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(());
    }
    let nobody = Head {
        host: hazard.host().to_owned(),
        ..Head::default()
    };
    let acceptor = shared
        .certificates
        .as_ref()
        .and_then(|c| c.acceptor(hazard));
    let Some(acceptor) = acceptor.filter(|_| first[0] == GREETING) else {
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
    let mut buffer = Vec::new();
    let head = loop {
        match parse(&buffer) {
            Parsed::Head(head, _) => break head,
            Parsed::More if buffer.len() < MAX_HEAD => {}
            Parsed::More | Parsed::Malformed => return Ok(()),
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
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
