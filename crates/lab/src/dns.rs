//! The lab's DNS server: UDP and TCP on one port of 127.0.0.1.
//!
//! Encoded by hand (RFC 1035 4): hazards to come must be able to say what no library would encode. Names of
//! the plan have one A record each; all else does not exist. Answers carry the question in the letters in which
//! it was asked, and a SOA record when they are negative, so that resolvers know for how long (RFC 2308).

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use crate::log::Question;
use crate::server::Shared;
use crate::web::Web;

const HEADER: usize = 12;
const A: u16 = 1;
const SOA: u16 = 6;
const INTERNET: u16 = 1;
const NO_ERROR: u16 = 0;
const FORMAT_ERROR: u16 = 1;
const NO_SUCH_NAME: u16 = 3;
const NOT_IMPLEMENTED: u16 = 4;
/// Ports tried until one is free for both protocols.
const ATTEMPTS: usize = 50;

/// Both sockets on one free port.
pub(crate) async fn bind() -> io::Result<(UdpSocket, TcpListener)> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("at least one attempt failed"))
}

/// Answers datagrams for ever.
pub(crate) async fn datagrams(socket: UdpSocket, shared: Arc<Shared>) {
    let mut buffer = [0; 4096];
    loop {
        // An error here is a client that closed its port before our answer arrived.
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        if let Some(answer) = respond(&shared, &buffer[..length], false) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

/// Answers TCP connections for ever.
pub(crate) async fn connections(listener: TcpListener, shared: Arc<Shared>) {
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

/// RFC 7766: any number of questions, each with its length before it.
async fn connection(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
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

/// The answer to a query, which is logged; `None` for what is no query at all.
fn respond(shared: &Shared, query: &[u8], tcp: bool) -> Option<Vec<u8>> {
    if query.len() < HEADER || query[2] & 0x80 != 0 {
        return None;
    }
    let Some(asked) = Asked::parse(query) else {
        return Some(header(query, FORMAT_ERROR, [0; 3]));
    };
    let (code, answer) = answer(&shared.web, query, &asked);
    shared.log.question(Question {
        name: asked.name,
        kind: asked.kind,
        tcp,
        at: Instant::now(),
        code,
    });
    Some(answer)
}

/// The question of a query.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    /// Lower case, without the final dot.
    name: String,
    kind: u16,
    class: u16,
    /// Where the question ends in the query.
    end: usize,
}

impl Asked {
    fn parse(query: &[u8]) -> Option<Asked> {
        let number = |at: usize| Some(u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]));
        if number(4)? != 1 {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            match length {
                0 => break,
                64.. => return None, // a pointer has no place in a question
                _ => {}
            }
            let label = query.get(at..at + length)?;
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&String::from_utf8_lossy(label).to_ascii_lowercase());
            at += length;
        }
        Some(Asked {
            name,
            kind: number(at)?,
            class: number(at + 2)?,
            end: at + 4,
        })
    }
}

fn answer(web: &Web, query: &[u8], asked: &Asked) -> (u16, Vec<u8>) {
    let question = &query[HEADER..asked.end];
    let ttl = web.plan().ttl.as_secs() as u32;
    if query[2] & 0x78 != 0 || asked.class != INTERNET {
        let mut out = header(query, NOT_IMPLEMENTED, [1, 0, 0]);
        out.extend(question);
        return (NOT_IMPLEMENTED, out);
    }
    match web.address(&asked.name) {
        Some(address) if asked.kind == A => {
            let mut out = header(query, NO_ERROR, [1, 1, 0]);
            out.extend(question);
            out.extend([0xC0, HEADER as u8]); // the name: see the question
            record(&mut out, A, ttl, &address.octets());
            (NO_ERROR, out)
        }
        known => {
            let code = if known.is_some() {
                NO_ERROR
            } else {
                NO_SUCH_NAME
            };
            let mut out = header(query, code, [1, 0, 1]);
            out.extend(question);
            out.push(0); // the root: the lab is the whole world
            record(&mut out, SOA, ttl, &authority(ttl));
            (code, out)
        }
    }
}

/// The header of an answer: authoritative, recursion available, the counts of question, answer and authority.
fn header(query: &[u8], code: u16, counts: [u16; 3]) -> Vec<u8> {
    let recursion_desired = u16::from(query[2] & 1) << 8;
    let opcode = u16::from(query[2] & 0x78) << 8;
    let flags = 0x8480 | opcode | recursion_desired | code;
    let mut out = query[..2].to_vec();
    out.extend(flags.to_be_bytes());
    for count in counts.into_iter().chain([0]) {
        out.extend(count.to_be_bytes());
    }
    out
}

fn record(out: &mut Vec<u8>, kind: u16, ttl: u32, data: &[u8]) {
    out.extend(kind.to_be_bytes());
    out.extend(INTERNET.to_be_bytes());
    out.extend(ttl.to_be_bytes());
    out.extend((data.len() as u16).to_be_bytes());
    out.extend(data);
}

/// Data of the SOA record: `ns.lab`, `hostmaster.lab`, then serial, refresh, retry, expiry, least time to live.
fn authority(ttl: u32) -> Vec<u8> {
    let mut out = b"\x02ns\x03lab\0\x0ahostmaster\x03lab\0".to_vec();
    for number in [1, 3600, 600, 86_400, ttl] {
        out.extend(u32::to_be_bytes(number));
    }
    out
}
