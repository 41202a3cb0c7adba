//! The lab's DNS server, over UDP and TCP on one port of 127.0.0.1.
//!
//! Every name of the plan has one A record. If a site has only a name with `www.`, the name without `www.` exists but
//! has no records. No other names exist. Responses repeat the question with the same upper and lower case letters.
//! Negative responses have an SOA record, which limits their lifetime in caches. For the name of a hazard, the hazard
//! makes the response ([`Hazard::resolve`](crate::Hazard)). `packet.rs` encodes the messages.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use crate::hazard::{DnsResponse, Lookup};
use crate::log::Question;
use crate::packet::{self, A, DnsQuestion, Record};
use crate::server::ServerState;

/// Maximum number of ports that are tried until one is free for both UDP and TCP.
const MAX_ATTEMPTS: usize = 50;

/// Opens a UDP and a TCP socket on the same port (0 = a free port).
pub(crate) async fn bind(port: u16) -> io::Result<(UdpSocket, TcpListener)> {
    let mut last = None;
    for _ in 0..if port == 0 { MAX_ATTEMPTS } else { 1 } {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("at least one attempt failed"))
}

/// Answers datagrams until the task is aborted.
pub(crate) async fn datagrams(socket: UdpSocket, shared: Arc<ServerState>) {
    let mut buffer = [0; 4096];
    loop {
        // The kernel reports an error here if a client closed its port before an earlier response arrived. Ignore this
        // error.
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        if let Some(answer) = respond(&shared, &buffer[..length], false) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

/// Answers TCP connections until the task is aborted.
pub(crate) async fn connections(listener: TcpListener, shared: Arc<ServerState>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let shared = Arc::clone(&shared);
                    open.spawn(async move { connection(stream, &shared).await });
                }
            }
            Some(_) = open.join_next() => {}
        }
    }
}

/// Answers the queries of one TCP connection. Each query is preceded by its length (RFC 7766).
async fn connection(mut stream: TcpStream, shared: &ServerState) -> io::Result<()> {
    loop {
        let length = stream.read_u16().await?;
        let mut query = vec![0; usize::from(length)];
        stream.read_exact(&mut query).await?;
        let Some(answer) = respond(shared, &query, true) else {
            return Ok(());
        };
        let mut framed = (answer.len() as u16).to_be_bytes().to_vec();
        framed.extend(answer);
        stream.write_all(&framed).await?;
    }
}

/// Logs a query and returns the response. `None` when the message is not a query, or when the hazard sends no response.
fn respond(shared: &ServerState, query: &[u8], tcp: bool) -> Option<Vec<u8>> {
    if query.len() < packet::HEADER || query[2] & 0x80 != 0 {
        return None;
    }
    let Some(question) = DnsQuestion::parse(query) else {
        return Some(packet::header(query, packet::FORMAT_ERROR, [0; 3]));
    };
    let ttl = shared.web.plan().ttl.as_secs() as u32;
    let (code, bytes) = match response(shared, query, &question, ttl, tcp) {
        DnsResponse::Records(records) if records.is_empty() => (
            packet::NO_ERROR,
            Some(packet::negative(query, &question, packet::NO_ERROR, ttl)),
        ),
        DnsResponse::Records(records) => (
            packet::NO_ERROR,
            Some(packet::positive(
                query,
                &question,
                &records,
                packet::NO_ERROR,
            )),
        ),
        DnsResponse::Code(packet::NO_SUCH_NAME) => (
            packet::NO_SUCH_NAME,
            Some(packet::negative(
                query,
                &question,
                packet::NO_SUCH_NAME,
                ttl,
            )),
        ),
        DnsResponse::Code(code) => (code, Some(packet::failure(query, &question, code))),
        DnsResponse::Packet(bytes) => (packet::NO_ERROR, Some(bytes)),
        DnsResponse::NoResponse => (Question::UNANSWERED, None),
    };
    shared.log.question(Question {
        name: question.name,
        kind: question.kind,
        tcp,
        at: Instant::now(),
        code,
    });
    bytes
}

/// The response to a question. If the name belongs to a hazard, the hazard makes the response. Otherwise it follows
/// from the plan.
fn response(
    shared: &ServerState,
    query: &[u8],
    question: &DnsQuestion,
    ttl: u32,
    tcp: bool,
) -> DnsResponse {
    if query[2] & 0x78 != 0 || question.class != packet::INTERNET {
        return DnsResponse::Code(packet::NOT_IMPLEMENTED);
    }
    let Some(address) = shared.web.address(&question.name) else {
        let below = format!("www.{}", question.name);
        return match shared.web.address(&below) {
            // The name has no records, but it exists, because another name exists below it (RFC 8020).
            Some(_) => DnsResponse::Records(Vec::new()),
            None => DnsResponse::Code(packet::NO_SUCH_NAME),
        };
    };
    match shared.web.hazard_site(&question.name) {
        Some(site) => site.hazard.resolve(&Lookup {
            query,
            question,
            address,
            ttl,
            tcp,
            counters: &shared.counters,
        }),
        None if question.kind == A => DnsResponse::Records(vec![Record::a(address, ttl)]),
        None => DnsResponse::Records(Vec::new()),
    }
}
