//! Access to the parsers of this crate for the fuzz targets (`fuzz/`). Not part of the interface.

#![allow(
    clippy::missing_panics_doc,
    reason = "a fuzz target finds a fault by a panic"
)]

use std::{
    cell::RefCell,
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hickory_resolver::proto::{op::Message, rr::Name};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    runtime::Runtime,
    time::Instant,
};

use crate::{
    Headers, Options, Truncated,
    clock::deadline_after,
    dns::{
        aliases::{AliasChain, ChainStep},
        lenient_udp::cut_malformed,
    },
    http::{
        chunks::{ChunkReader, ChunkStep},
        content_coding,
        exchange::{ExchangeLimits, exchange},
    },
    limits::memory_budget::MemoryBudget,
};

/// Maximum number of queries of one look-up.
const MAX_QUERIES: usize = 12;

/// The parts of an exchange's response that must not depend on the sizes of the reads.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// The status, or the code of the failure.
    pub status: Result<u16, &'static str>,
    /// The headers.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body without transfer coding. Empty if the media type is unwanted.
    pub payload: Bytes,
    /// Why the body is incomplete.
    pub truncated: Option<Truncated>,
}

/// Receives the response `wire` in pieces of these sizes, repeated in a cycle. Then the server closes the connection.
/// Checks the limits of the response.
pub fn receive(wire: &[u8], pieces: &[usize], options: &Options) -> Exchanged {
    thread_local! {
        static RUNTIME: RefCell<Runtime> = RefCell::new(
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("the runtime starts"),
        );
    }
    let memory = MemoryBudget::new(options.body_memory);
    let mut stream = PiecedStream {
        wire,
        pieces,
        reads: 0,
    };
    let received = RUNTIME.with_borrow(|runtime| {
        runtime.block_on(async {
            let limits = ExchangeLimits {
                options,
                rate: None,
                memory: &memory,
                max_body: None,
                accept_any_type: false,
                deadline: deadline_after(Instant::now(), options.total_timeout),
            };
            exchange(&mut stream, b"GET / HTTP/1.1\r\n\r\n", limits).await
        })
    });
    assert!(received.response.len() as u64 <= options.max_head + options.max_body);
    let is_part = memchr::memmem::find(wire, &received.response).is_some();
    assert!(is_part, "the response is part of the bytes sent");
    match received.result {
        Err(failure) => Exchanged {
            status: Err(failure.code()),
            headers: Vec::new(),
            payload: Bytes::new(),
            truncated: None,
        },
        Ok(response) => {
            let body = received.response.len() - response.head_length;
            assert!(response.payload.len() <= body);
            assert!(!received.reusable || response.truncated.is_none() || response.unwanted);
            let headers = response.head.headers.iter();
            Exchanged {
                status: Ok(response.head.status),
                headers: headers
                    .map(|(name, value)| (name.to_vec(), value.to_vec()))
                    .collect(),
                payload: if response.unwanted {
                    Bytes::new()
                } else {
                    response.payload
                },
                truncated: response.truncated,
            }
        }
    }
}

/// A connection on which the bytes arrive in pieces.
struct PiecedStream<'a> {
    wire: &'a [u8],
    pieces: &'a [usize],
    reads: usize,
}

impl AsyncRead for PiecedStream<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let piece = stream.pieces[stream.reads % stream.pieces.len()].max(1);
        stream.reads += 1;
        let length = piece.min(stream.wire.len()).min(buffer.remaining());
        let (now, later) = stream.wire.split_at(length);
        buffer.put_slice(now);
        stream.wire = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PiecedStream<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The end of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The body is complete and has this length.
    At(usize),
    /// The framing is invalid.
    Broken,
    /// More bytes would follow.
    Missing,
}

/// The data of a chunked body that arrives in pieces of these sizes, repeated in a cycle.
pub fn dechunk(body: &[u8], pieces: &[usize]) -> (Bytes, BodyEnd) {
    let mut reader = ChunkReader::default();
    let (mut received, mut reads) = (0, 0);
    let body = Bytes::copy_from_slice(body);
    loop {
        let end = match reader.advance(&body[..received]) {
            ChunkStep::Done(end) => BodyEnd::At(end),
            ChunkStep::Broken => BodyEnd::Broken,
            ChunkStep::More if received == body.len() => BodyEnd::Missing,
            ChunkStep::More => {
                let piece = pieces[reads % pieces.len()].max(1);
                received = (received + piece).min(body.len());
                reads += 1;
                continue;
            }
        };
        return (reader.payload(&body), end);
    }
}

/// Decodes a body with this `Content-Encoding`. Returns the decoded body and whether it has a fault.
pub fn decode(content_encoding: &str, body: &[u8], max_size: u64) -> (Bytes, bool) {
    let mut headers = Headers::default();
    headers.push(b"content-encoding", content_encoding.as_bytes());
    let mut remarks = Vec::new();
    let codings = content_coding::codings(&headers, &mut remarks);
    let (decoded, more) = content_coding::decode(&codings, &Bytes::copy_from_slice(body), max_size);
    (decoded, !remarks.is_empty() || !more.is_empty())
}

/// Headers with these names and values.
pub fn headers<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Headers {
    let mut headers = Headers::default();
    for (name, value) in fields {
        headers.push(name, value);
    }
    headers
}

/// Cuts malformed records off a DNS message, as the DNS socket does.
///
/// Checks that a valid message is not changed, and that the DNS library can read a message that was cut.
pub fn cut_dns_message(bytes: &[u8]) -> Vec<u8> {
    let mut message = bytes.to_vec();
    let length = cut_malformed(&mut message);
    message.truncate(length);
    if Message::from_vec(bytes).is_ok() {
        assert_eq!(message, bytes, "a valid message is not changed");
    } else if length < bytes.len() {
        let read = Message::from_vec(&message);
        assert!(read.is_ok(), "the rest of a message is valid: {read:?}");
    }
    message
}

/// Reads DNS messages as answers to successive queries for the addresses of a name. Returns the addresses and their TTL
/// in seconds; `None` if the answers lead to no address.
pub fn addresses(name: &str, messages: &[&[u8]]) -> Option<(Vec<IpAddr>, u32)> {
    let answers = messages
        .iter()
        .map_while(|bytes| Message::from_vec(&cut_dns_message(bytes)).ok());
    let mut chain = AliasChain::new(Name::from_ascii(name).ok()?);
    for (queries, message) in answers.enumerate() {
        match chain.follow(&message.answers) {
            ChainStep::Alias => assert!(queries < MAX_QUERIES, "the number of queries is limited"),
            ChainStep::Addresses(addresses, ttl) => return Some((addresses, ttl)),
            ChainStep::NoAddress => return None,
        }
    }
    None
}
