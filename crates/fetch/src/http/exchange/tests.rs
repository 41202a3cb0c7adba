//! Tests of the exchange with hostile input: arbitrary bytes, real responses with faults, truncation at any byte, and
//! linear running time.
//!
//! The stream returns scripted bytes instead of using a socket. The clock is paused, so that timeouts take no real
//! time.
//!
//! The file is long because all tests share [`ScriptedStream`], [`exchange_with`] and the list of [`valid_responses`].

mod large;

use std::{
    io::{self, Write},
    pin::Pin,
    task::Context,
};

use aranha_url::{Canonicaliser, UrlRules};
use proptest::prelude::*;
use tokio::{io::ReadBuf, runtime::Runtime, time::timeout};

use super::*;
use crate::{CookieJar, Headers, http::content_coding as decode, linear_time::assert_linear};

/// How the connection behaves after the server's last byte.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StreamEnd {
    Close,
    Reset,
    /// The error of rustls for a connection that ends without `close_notify`.
    Abrupt,
    Silence,
}

/// The server's side of a connection.
struct ScriptedStream<'a> {
    wire: &'a [u8],
    /// Sizes of the successive reads, repeated in a cycle. 0 stands for a read that is pending.
    pieces: &'a [usize],
    reads: usize,
    end: StreamEnd,
}

impl AsyncRead for ScriptedStream<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let script = self.get_mut();
        let piece = script.pieces[script.reads % script.pieces.len()];
        script.reads += 1;
        if script.wire.is_empty() {
            return match script.end {
                StreamEnd::Close => Poll::Ready(Ok(())),
                StreamEnd::Reset => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                StreamEnd::Abrupt => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                StreamEnd::Silence => Poll::Pending,
            };
        }
        if piece == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let length = piece.min(script.wire.len()).min(buffer.remaining());
        let (now, later) = script.wire.split_at(length);
        buffer.put_slice(now);
        script.wire = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ScriptedStream<'_> {
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

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("the runtime starts")
}

fn small_limits() -> Options {
    Options {
        max_head: 1000,
        max_body: 2000,
        max_decoded: 3000,
        ..Options::default()
    }
}

/// Runs one exchange. Panics if it takes longer than twice the total timeout.
fn exchange_with(
    runtime: &Runtime,
    options: &Options,
    wire: &[u8],
    pieces: &[usize],
    end: StreamEnd,
) -> ExchangeResult {
    let memory = MemoryBudget::new(options.body_memory);
    exchange_in_budget(&memory, runtime, options, wire, pieces, end)
}

fn exchange_in_budget(
    memory: &MemoryBudget,
    runtime: &Runtime,
    options: &Options,
    wire: &[u8],
    pieces: &[usize],
    end: StreamEnd,
) -> ExchangeResult {
    runtime.block_on(async {
        let deadline = deadline_after(Instant::now(), options.total_timeout);
        let limits = ExchangeLimits {
            options,
            rate: None,
            memory,
            max_body: None,
            accept_any_type: false,
            deadline,
        };
        let mut script = ScriptedStream {
            wire,
            pieces,
            reads: 0,
            end,
        };
        let exchanged = timeout(
            options.total_timeout * 2,
            exchange(&mut script, b"GET / HTTP/1.1\r\n\r\n", limits),
        );
        exchanged.await.expect("an end within the timeout")
    })
}

/// Asserts the properties of every exchange.
fn assert_invariants(options: &Options, wire: &[u8], exchanged: &ExchangeResult) {
    let response = &exchanged.response;
    let found = response.is_empty() || memchr::memmem::find(wire, response).is_some();
    assert!(found, "the response is part of the bytes sent");
    match &exchanged.result {
        Err(failure) => {
            let code = failure.code();
            let possible = ["timeout", "stalled", "reset", "protocol"];
            assert!(possible.contains(&code), "{code}");
            assert!(response.len() as u64 <= options.max_head);
            assert!(!exchanged.reusable);
        }
        Ok(received) => {
            let body = response.len() - received.head_length;
            assert!((200..1000).contains(&received.head.status));
            assert!(received.head_length as u64 <= options.max_head);
            assert!(body as u64 <= options.max_body);
            assert!(received.payload.len() <= body);
            assert!(received.head.headers.iter().count() <= 500);
            if exchanged.reusable {
                assert!(received.truncated.is_none() || received.unwanted);
            }
            let mut remarks = Vec::new();
            let codings = decode::codings(&received.head.headers, &mut remarks);
            let (decoded, _) = decode::decode(&codings, &received.payload, options.max_decoded);
            assert!(decoded.len() as u64 <= options.max_decoded);
        }
    }
}

/// The parts of a result that must not depend on the sizes of the reads.
fn summary(exchanged: &ExchangeResult) -> String {
    match &exchanged.result {
        Err(failure) => failure.code().to_owned(),
        Ok(received) => format!(
            "{} {:?} {:?} {}",
            received.head.status, received.payload, received.truncated, received.unwanted
        ),
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder
        .write_all(data)
        .expect("a write to memory cannot fail");
    coder.finish().expect("a write to memory cannot fail")
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    coder
        .write_all(data)
        .expect("a write to memory cannot fail");
    coder.finish().expect("a write to memory cannot fail")
}

fn chunked(data: &[u8], length: usize) -> Vec<u8> {
    let mut wire = Vec::new();
    for chunk in data.chunks(length) {
        wire.extend(format!("{:x};name=\"value\"\r\n", chunk.len()).bytes());
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\nX-Trailer: yes\r\n\r\n");
    wire
}

/// Valid responses as servers send them.
fn valid_responses() -> Vec<Vec<u8>> {
    let page = "<!DOCTYPE html><title>Ol\u{e1}</title><p>Uma p\u{e1}gina.".repeat(8);
    let page = page.as_bytes();
    let nginx = "HTTP/1.1 200 OK\r\nServer: nginx/1.26.0\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n\
                 Content-Type: text/html; charset=utf-8\r\nConnection: keep-alive\r\nVary: Accept-Encoding\r\n";
    let response = |fields: &str, body: &[u8]| {
        let head = format!("{nginx}{fields}\r\n");
        [head.as_bytes(), body].concat()
    };
    let length = format!("Content-Length: {}\r\n", page.len());
    let (zipped, deflated) = (gzip(page), zlib(page));
    let frames = zstd::encode_all(page, 1).expect("a write to memory cannot fail");
    vec![
        response(&length, page),
        response("", page),
        response("Transfer-Encoding: chunked\r\n", &chunked(page, 100)),
        response("Transfer-Encoding: chunked\r\n", &chunked(page, 1)),
        response(
            "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n",
            &chunked(&zipped, 30),
        ),
        response("Content-Encoding: gzip\r\n", &zipped),
        response("Content-Encoding: deflate\r\n", &deflated),
        response("Content-Encoding: zstd\r\n", &frames),
        response("Content-Encoding: br\r\n", &[0x0b, 2, 0x80, b'h', b'e', b'l', b'l', b'o', 3]),
        response("Content-Length: 5, 5\r\nX-Folded: a\r\n b\r\n\tc\r\n", b"hello"),
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"
            .to_vec(),
        b"HTTP/1.0 404 Not Found\nContent-Type: text/plain\n\nno".to_vec(),
        b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 5000\r\n\r\n".to_vec(),
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/5\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
    ]
}

/// A fault in a response. The first number of a variant is the position of the fault, in thousandths of the length of
/// the response.
#[derive(Clone, Debug)]
enum WireFault {
    Set(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
    Cut(usize),
}

impl WireFault {
    fn apply(&self, wire: &mut Vec<u8>) {
        let at = |position: &usize| position * wire.len() / 1000;
        let span = |position: &usize, length: &usize| {
            let start = at(position);
            start..(start + length).min(wire.len())
        };
        match self {
            WireFault::Set(position, byte) => {
                let at = at(position);
                if let Some(old) = wire.get_mut(at) {
                    *old = *byte;
                }
            }
            WireFault::Remove(position, length) => {
                let span = span(position, length);
                wire.drain(span);
            }
            WireFault::Repeat(position, length) => {
                let span = span(position, length);
                let piece = wire[span.clone()].to_vec();
                wire.splice(span.start..span.start, piece);
            }
            WireFault::Insert(position, bytes) => {
                let at = at(position);
                wire.splice(at..at, bytes.iter().copied());
            }
            WireFault::Cut(position) => {
                let at = at(position);
                wire.truncate(at);
            }
        }
    }
}

fn fault() -> impl Strategy<Value = WireFault> {
    let text = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::sample::select(vec![
            "\r\n",
            "\r\n\r\n",
            "\n\n",
            "\0",
            ":",
            " ",
            "0\r\n",
            "ffffffffffffffff\r\n",
            "-1",
            "HTTP/1.1 100 x\r\n\r\n",
            "Content-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Content-Encoding: br\r\n",
            "Content-Encoding: gzip, zstd\r\n",
            "Content-Type: image/png\r\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        (0_usize..3000).prop_map(|length| vec![b'x'; length]),
    ];
    prop_oneof![
        (0_usize..1000, any::<u8>()).prop_map(|(position, byte)| WireFault::Set(position, byte)),
        (0_usize..1000, 0_usize..60)
            .prop_map(|(position, length)| WireFault::Remove(position, length)),
        (0_usize..1000, 0_usize..600)
            .prop_map(|(position, length)| WireFault::Repeat(position, length)),
        (0_usize..1000, text).prop_map(|(position, text)| WireFault::Insert(position, text)),
        (0_usize..1000).prop_map(WireFault::Cut),
    ]
}

fn wire() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..400);
    let after_status_line = noise.clone().prop_map(|noise| {
        let mut wire = b"HTTP/1.1 200 OK\r\n".to_vec();
        wire.extend(noise);
        wire
    });
    let faulty = (
        prop::sample::select(valid_responses()),
        prop::collection::vec(fault(), 0..5),
    );
    let faulty = faulty.prop_map(|(mut wire, faults)| {
        for fault in faults {
            fault.apply(&mut wire);
        }
        wire
    });
    prop_oneof![1 => noise, 1 => after_status_line, 8 => faulty]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn any_bytes_have_one_outcome_within_the_limits(
        wire in wire(),
        pieces in prop::collection::vec(0_usize..120, 1..8),
        end in prop::sample::select(vec![StreamEnd::Close, StreamEnd::Reset, StreamEnd::Abrupt, StreamEnd::Silence]),
    ) {
        let (runtime, mut options) = (runtime(), small_limits());
        options.media_types = vec!["text/*".to_owned()];
        let pieces = [pieces, vec![1]].concat();
        let slow = exchange_with(&runtime, &options, &wire, &pieces, end);
        assert_invariants(&options, &wire, &slow);
        let fast = exchange_with(&runtime, &options, &wire, &[usize::MAX], end);
        assert_invariants(&options, &wire, &fast);
        prop_assert_eq!(summary(&slow), summary(&fast), "in pieces of {:?}", pieces);
    }
}

#[test]
fn valid_responses_are_complete() {
    let runtime = runtime();
    for wire in valid_responses() {
        let exchanged = exchange_with(
            &runtime,
            &Options::default(),
            &wire,
            &[7, 0, 1],
            StreamEnd::Close,
        );
        let received = exchanged.result.expect("the exchange has a response");
        assert_eq!(received.truncated, None, "{}", wire.escape_ascii());
    }
}

/// A body without a length is complete when the connection is closed, but truncated when the connection is reset. If it
/// were not truncated, half of a robots.txt file would be obeyed as if it were the whole file.
#[test]
fn a_reset_truncates_a_body() {
    let check = |fields: &str, body: &str, end, expected| {
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
        let exchanged = exchange_with(&runtime(), &small_limits(), wire.as_bytes(), &[7], end);
        let received = exchanged.result.expect("the exchange has a response");
        assert_eq!(received.truncated, expected, "{fields} {end:?}");
    };
    let truncated = Some(Truncated::Disconnect);
    for fields in ["", "Content-Length: 5, 9\r\n"] {
        check(fields, "hello", StreamEnd::Close, None);
        check(fields, "hello", StreamEnd::Abrupt, None);
        check(fields, "hello", StreamEnd::Reset, truncated);
    }
    check("Content-Length: 5\r\n", "hello", StreamEnd::Reset, None);
    let chunked = "Transfer-Encoding: chunked\r\n";
    check(chunked, "5\r\nhello\r\n0\r\n", StreamEnd::Reset, None);
    check(chunked, "5\r\nhello\r\n", StreamEnd::Abrupt, truncated);
}

/// A body of very many chunks, whose data are copied before the body ends, is received correctly.
#[test]
fn many_tiny_chunks_are_copied() {
    let data: Vec<u8> = (0..20_000_u32).map(|n| n as u8).collect();
    let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    wire.extend(chunked(&data, 1));
    let (runtime, options) = (runtime(), Options::default());
    for pieces in [&[usize::MAX][..], &[3, 5, 1000]] {
        let exchanged = exchange_with(&runtime, &options, &wire, pieces, StreamEnd::Silence);
        assert!(exchanged.reusable);
        assert_eq!(
            exchanged
                .result
                .expect("the exchange has a response")
                .payload,
            data
        );
    }
    let short = Options {
        max_body: 30_000,
        ..options
    };
    let exchanged = exchange_with(&runtime, &short, &wire, &[usize::MAX], StreamEnd::Close);
    let received = exchanged.result.expect("the exchange has a response");
    assert_eq!(received.truncated, Some(Truncated::Length));
    assert!(data.starts_with(&received.payload) && received.payload.len() > 1000);
}

/// The share of the memory budget has the size of the body limit, so the buffer must not grow far beyond that limit.
#[test]
fn the_buffer_is_no_larger_than_the_limit() {
    const LIMIT: usize = 1_100_000;
    let options = Options {
        max_body: LIMIT as u64,
        ..Options::default()
    };
    let body = vec![b'x'; 2 * LIMIT];
    let announced = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    for head in ["HTTP/1.1 200 OK\r\n\r\n", &announced] {
        let wire = [head.as_bytes(), &body].concat();
        let memory = MemoryBudget::new(options.body_memory);
        let exchanged = exchange_in_budget(
            &memory,
            &runtime(),
            &options,
            &wire,
            &[5000],
            StreamEnd::Close,
        );
        assert_invariants(&options, &wire, &exchanged);
        drop(exchanged);
        // The buffer was returned to the pool.
        let capacity = memory.buffer(LIMIT).capacity();
        assert!(
            capacity > LIMIT && capacity <= LIMIT + head.len() + MAX_GROWTH,
            "{capacity} bytes"
        );
    }
}

/// A response with an announced length takes a share of that size, not of the size limit. Otherwise a few slow
/// responses would block all others.
#[tokio::test(start_paused = true)]
async fn a_share_is_no_larger_than_the_announced_length() {
    const LENGTH: usize = 600_000;
    let options = Options::default();
    let memory = MemoryBudget::new(2 * options.max_body);
    let limits = ExchangeLimits {
        options: &options,
        rate: None,
        memory: &memory,
        max_body: None,
        accept_any_type: false,
        deadline: Instant::now() + Duration::from_mins(1),
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
    let wire = [head.as_bytes(), &vec![b'x'; LENGTH]].concat();
    let mut held = Vec::new();
    for _ in 0..options.max_body as usize / LENGTH - 1 {
        let mut script = ScriptedStream {
            wire: &wire,
            pieces: &[5000],
            reads: 0,
            end: StreamEnd::Silence,
        };
        let exchanged = exchange(&mut script, b"GET / HTTP/1.1\r\n\r\n", limits).await;
        let received = exchanged.result.expect("the exchange has a response");
        assert!(received.share.is_some());
        assert_eq!(received.truncated, None, "it did not wait for a share");
        held.push(received);
    }
}

/// Memory is allocated for received bytes, not for announced ones. No machine has the memory that is announced here.
#[test]
fn no_memory_is_allocated_for_a_huge_announced_length() {
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000000000000\r\n\r\nhello";
    let exchanged = exchange_with(&runtime(), &small_limits(), wire, &[20], StreamEnd::Close);
    assert_invariants(&small_limits(), wire, &exchanged);
    assert_eq!(
        summary(&exchanged),
        r#"200 b"hello" Some(Disconnect) false"#
    );
}

/// Bytes after broken framing do not change the outcome, even if they exceed the limit.
#[test]
fn broken_chunks_beyond_the_limit() {
    let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello?".to_vec();
    wire.extend(vec![b'x'; 5000]);
    for pieces in [&[usize::MAX][..], &[1], &[1000]] {
        let exchanged = exchange_with(&runtime(), &small_limits(), &wire, pieces, StreamEnd::Close);
        assert_invariants(&small_limits(), &wire, &exchanged);
        assert_eq!(
            summary(&exchanged),
            r#"200 b"hello" Some(Unspecified) false"#
        );
    }
}

#[test]
fn endless_bytes_before_the_response_are_a_protocol_failure() {
    let long = head_of(100_000, |n| format!("A{n}: b\r\n"));
    for flood in [
        b"\r\n".repeat(100_000),
        b"HTTP/1.1 103 Hints\r\nA: b\r\n\r\n".repeat(10_000),
        b"HTTP/1.1 200 OK\r\nA: \r".repeat(10_000),
        String::from_utf8(long)
            .expect("the bytes are UTF-8")
            .replacen("200", "103", 1)
            .into_bytes(),
    ] {
        let exchanged = exchange_with(
            &runtime(),
            &small_limits(),
            &flood,
            &[1000],
            StreamEnd::Silence,
        );
        assert_eq!(summary(&exchanged), "protocol");
        assert_invariants(&small_limits(), &flood, &exchanged);
    }
}

/// Size of the reads. It is small, so that the test measures the parser and not the kernel's allocation of memory.
const PIECE: usize = 150;

/// Asserts that the running time is linear in the size of the response.
fn check_cost(name: &str, make: impl Fn(usize) -> Vec<u8>) {
    let options = Options {
        max_head: u64::MAX >> 1,
        max_body: u64::MAX >> 1,
        max_decoded: 64 << 20,
        ..Options::default()
    };
    let runtime = runtime();
    assert_linear(name, make, |wire: &Vec<u8>| {
        let exchanged = exchange_with(&runtime, &options, wire, &[PIECE], StreamEnd::Close);
        if let Ok(received) = exchanged.result {
            let codings = decode::codings(&received.head.headers, &mut Vec::new());
            decode::decode(&codings, &received.payload, options.max_decoded);
        }
    });
}

fn head_of(size: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut wire = b"HTTP/1.1 200 OK\r\n".to_vec();
    for n in 0.. {
        if wire.len() >= size {
            break;
        }
        wire.extend(line(n).bytes());
    }
    wire.extend_from_slice(b"\r\n\r\nbody");
    wire
}

#[test]
fn parsing_heads_takes_linear_time() {
    check_cost("different fields", |size| {
        head_of(size, |n| format!("X-Field-{n}: {n}\r\n"))
    });
    check_cost("one repeated field", |size| {
        head_of(size, |n| format!("Content-Length: {n}\r\n"))
    });
    check_cost("folded lines", |size| {
        head_of(size, |n| {
            if n == 0 { "A: b\r\n" } else { " c\r\n" }.to_owned()
        })
    });
    check_cost("one long line", |size| {
        let line = |n| if n == 0 { "Content-Length: " } else { "5, " }.to_owned();
        head_of(size, line)
    });
    check_cost("a head without end", |size| {
        b"HTTP/1.1 200 OK\r\nA: \r".repeat(size / 20)
    });
}

#[test]
fn parsing_chunks_takes_linear_time() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_cost("one-byte chunks", |size| {
        [&head[..], &b"1\r\nx\r\n".repeat(size / 6), b"0\r\n\r\n"].concat()
    });
    check_cost("long extensions", |size| {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(8000));
        let chunks = chunk.as_bytes().repeat(size / chunk.len() + 1);
        [&head[..], &chunks, b"0\r\n\r\n"].concat()
    });
    check_cost("trailers", |size| {
        [&head[..], b"0\r\n", &b"A: b\r\n".repeat(size / 6), b"\r\n"].concat()
    });
}

#[test]
fn decoding_takes_linear_time() {
    let text = |size: usize| -> Vec<u8> {
        let lines =
            (0..size / 8).map(|n: usize| format!("{} ", n.wrapping_mul(2_654_435_761) % 9_999_999));
        lines.collect::<Vec<_>>().concat().into_bytes()
    };
    let response = |coding: &str, body: Vec<u8>| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
        [head.into_bytes(), body].concat()
    };
    check_cost("gzip", |size| response("gzip", gzip(&text(size))));
    check_cost("truncated gzip", |size| {
        let mut coded = gzip(&text(size));
        coded.truncate(coded.len() - 20);
        response("gzip", coded)
    });
    check_cost("gzip members", |size| {
        response("gzip", gzip(b"").repeat(size / 20))
    });
    check_cost("deflate", |size| response("deflate", zlib(&text(size))));
    check_cost("zstd", |size| {
        response(
            "zstd",
            zstd::encode_all(&text(size)[..], 1).expect("a write to memory cannot fail"),
        )
    });
    check_cost("zstd frames", |size| {
        let frame = zstd::encode_all(&b"x"[..], 1).expect("a write to memory cannot fail");
        response("zstd", frame.repeat(size / frame.len()))
    });
    // Uncompressed blocks of one byte: the size of the block, then the byte (RFC 7932, 9.2).
    check_cost("br", |size| {
        let first = [0x00, 0x00, 0x10, b'x'];
        let blocks = [0x00, 0x00, 0x08, b'x'].repeat(size / 4);
        response("br", [&first[..], &blocks, &[3]].concat())
    });
}

#[test]
fn storing_cookies_takes_linear_time() {
    let url = Canonicaliser::new(UrlRules::default())
        .canon("http://www.example.org/a/b")
        .expect("the URL is valid");
    let flood = |line: fn(usize) -> String| {
        move |size: usize| {
            let mut headers = Headers::default();
            let mut bytes = 0;
            for n in 0..20_000 {
                if bytes >= size {
                    break;
                }
                let value = line(n);
                bytes += value.len();
                headers.push(b"Set-Cookie", value.as_bytes());
            }
            headers
        }
    };
    let store = |headers: &Headers| {
        let mut jar = CookieJar::default();
        jar.store(&url, headers, 0);
        assert!(jar.len() <= 50);
    };
    assert_linear(
        "many cookies",
        flood(|n| format!("name{n}=value{n}; Path=/a; {}", "x".repeat(300))),
        store,
    );
    let attributes = |size: usize| {
        let mut headers = Headers::default();
        let value = format!("a=b{}", "; Path=/a; Expires=0".repeat(size / 20));
        headers.push(b"Set-Cookie", value.as_bytes());
        headers
    };
    assert_linear("many attributes", attributes, store);
}

/// The buffer of a small response is not much larger than the response.
#[tokio::test(start_paused = true)]
async fn a_small_response_has_a_small_buffer() {
    let check = |length: usize, max_capacity: usize| async move {
        let mut wire = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        wire.resize(wire.len() + length, b'x');
        let whole = wire.len();
        let options = Options::default();
        let memory = MemoryBudget::new(options.body_memory);
        let limits = ExchangeLimits {
            options: &options,
            rate: None,
            memory: &memory,
            max_body: None,
            accept_any_type: false,
            deadline: Instant::now() + Duration::from_mins(1),
        };
        let mut script = ScriptedStream {
            wire: &wire,
            pieces: &[0, 0, 9, 0, 500],
            reads: 0,
            end: StreamEnd::Silence,
        };
        let exchanged = exchange(&mut script, b"GET / HTTP/1.1\r\n\r\n", limits).await;
        let response = exchanged.response;
        assert_eq!(response.len(), whole);
        drop(exchanged.result);
        let capacity = response
            .try_into_mut()
            .expect("the only reference")
            .capacity();
        assert!(capacity <= max_capacity, "{capacity} for {whole}");
    };
    check(100, 256).await;
    check(2000, 2500).await;
    check(12_000, 12_500).await;
}

/// Bytes after the end of a response are noticed, even if the body arrives in a second read.
#[test]
fn bytes_beyond_the_announced_length_are_noticed() {
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789and more";
    for pieces in [&[5000][..], &[45, 5000]] {
        let exchanged = exchange_with(
            &runtime(),
            &Options::default(),
            wire,
            pieces,
            StreamEnd::Silence,
        );
        assert!(!exchanged.reusable, "{pieces:?}");
        let received = exchanged.result.expect("the exchange has a response");
        assert_eq!(&received.payload[..], b"0123456789");
        let remarks = &received.head.remarks;
        assert!(remarks.contains(&ResponseRemark::ExtraBytes), "{pieces:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_waits_for_the_first_byte_has_no_buffer() {
    let options = Options::default();
    let mut script = ScriptedStream {
        wire: &[],
        pieces: &[0],
        reads: 0,
        end: StreamEnd::Silence,
    };
    let deadline = Instant::now() + Duration::from_mins(1);
    let memory = MemoryBudget::new(options.body_memory);
    let mut reader = ResponseReader {
        rate: None,
        stream: &mut script,
        buffer: Vec::new(),
        memory: &memory,
        timer: ResponseTimer::new(&options, deadline),
        request_sent: Instant::now(),
        first_byte: None,
        late: false,
        share: None,
        max_size: usize::MAX,
        stream_ended: false,
        spools: false,
    };
    let waited = timeout(Duration::from_millis(1), reader.read(None)).await;
    assert!(waited.is_err());
    assert_eq!(reader.buffer.capacity(), 0);
}
