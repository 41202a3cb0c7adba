//! One request and its response over one connection (RFC 9112).
//!
//! The response is received into one buffer. Head and body are ranges of this buffer, and the buffer is returned
//! without a copy. The rest of a very large body goes to a file (`exchange/large.rs`). The connection needs neither a
//! task nor a future of its own (docs/decisions/0003-http-exchange.md). The code is generic over the stream, so that
//! tests need no socket.
//!
//! An exchange never keeps more bytes than the limits allow. It always ends within the timeouts of [`ResponseTimer`].
//! Its result is a response, which may be truncated, or a failure.
//!
//! The file is long because it has all steps of one exchange, in their order. Each step reads into the same buffer.

mod large;

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    path::Path,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    time::{Instant, timeout_at},
};
use tracing::debug;

use super::{
    chunks::ChunkStep,
    framing::{self, ResponseFraming},
    head::{self, ResponseHead},
    spool::SpooledBody,
};
use crate::{
    Failure, Options, ResponseRemark, Truncated,
    clock::deadline_after,
    limits::{
        memory_budget::{MAX_UNBUDGETED, MAX_UNPOOLED, MemoryBudget, MemoryShare},
        rate_limit::RateLimit,
        timeouts::ResponseTimer,
    },
};

/// Size of the read buffer that each thread has. The first bytes of a response are read into it and copied to a new
/// buffer. So a fetch that waits for its first byte needs no buffer of its own. Most pages arrive in one read, so the
/// new buffer has the right size.
const READ_SIZE: usize = MAX_UNPOOLED;

/// If the response's own buffer has less free capacity than this, and it is not known how many bytes will follow, the
/// next bytes are read into the thread's buffer.
const MIN_FREE: usize = 4 << 10;

/// While a response holds no share of the memory budget, its buffer grows by at most this size at a time, even if the
/// server announces more bytes. When the response gets a share, the whole buffer is allocated, because repeated
/// doubling made the kernel clear twice as many memory pages.
const MAX_GROWTH: usize = 512 << 10;

/// Bytes that are appended to a large response in its buffer ([`crate::FetchResponse::crlf_terminated`]).
const TERMINATOR: &[u8] = b"\r\n\r\n";

/// Maximum number of interim responses (1xx) before the final one.
const MAX_INTERIM: usize = 8;

/// Maximum number of CR and LF bytes that are skipped before the status line.
const MAX_BLANK: usize = 1 << 10;

thread_local! {
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_SIZE].into());
}

/// The limits of one exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeLimits<'a> {
    pub(crate) options: &'a Options,
    pub(crate) memory: &'a MemoryBudget,
    pub(crate) rate: Option<&'a RateLimit>,
    pub(crate) max_body: Option<u64>,
    pub(crate) accept_any_type: bool,
    /// Time limit of the whole fetch.
    pub(crate) deadline: Instant,
}

/// How an exchange ended.
#[derive(Debug)]
pub(crate) struct ExchangeResult {
    pub(crate) result: Result<ReceivedResponse, Failure>,
    /// The bytes received, up to the end of the response. If the body is received into a file
    /// ([`ReceivedResponse::spooled`]), this is only the first part.
    pub(crate) response: Bytes,
    pub(crate) first_byte: Duration,
    /// Whether the connection can serve another request.
    pub(crate) reusable: bool,
    /// Whether the connection was closed before any byte was received.
    pub(crate) closed_early: bool,
}

/// A received response whose content coding has not been removed.
#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) head: ResponseHead,
    pub(crate) head_length: usize,
    pub(crate) payload: Bytes,
    pub(crate) crlf_terminated: Option<Bytes>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) unwanted: bool,
    /// The whole body, if only its first part is in memory.
    pub(crate) spooled: Option<Box<SpooledBody>>,
    pub(crate) share: Option<MemoryShare>,
}

/// Sends the request and receives the response.
pub(crate) async fn exchange<S>(
    stream: &mut S,
    request: &[u8],
    limits: ExchangeLimits<'_>,
) -> ExchangeResult
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let sent = send(stream, request, limits).await;
    let mut reader = ResponseReader {
        stream,
        buffer: Vec::new(),
        memory: limits.memory,
        rate: limits.rate,
        timer: ResponseTimer::new(limits.options, limits.deadline),
        request_sent: Instant::now(),
        first_byte: None,
        late: false,
        share: None,
        max_size: usize::MAX,
        stream_ended: false,
        spools: false,
    };
    let result = match sent {
        Ok(()) => {
            debug!(bytes = request.len(), "request sent");
            reader.read_head(limits.options.max_head as usize).await
        }
        Err(failure) => Err(failure),
    };
    let (head, head_length) = match result {
        Ok(found) => found,
        Err(failure) => return reader.fail(failure, limits.options.max_head as usize),
    };
    debug!(
        status = head.status,
        first_byte_ms = reader.first_byte.unwrap_or_default().as_millis() as u64,
        "response head"
    );
    reader.receive_body(head, head_length, limits).await
}

async fn send<S: AsyncWrite + Unpin>(
    stream: &mut S,
    request: &[u8],
    limits: ExchangeLimits<'_>,
) -> Result<(), Failure> {
    let until = deadline_after(Instant::now(), limits.options.idle_timeout);
    let work = async {
        stream.write_all(request).await?;
        stream.flush().await
    };
    match timeout_at(until.min(limits.deadline), work).await {
        Err(_) => Err(Failure::Timeout),
        Ok(Err(_)) => Err(Failure::Reset),
        Ok(Ok(())) => Ok(()),
    }
}

/// The result of one read.
enum ReadOutcome {
    Bytes,
    /// The server closed the connection. A TLS connection that ends without `close_notify` counts as closed, because
    /// this is common.
    End,
    /// The connection broke: a TCP reset or an invalid TLS record.
    Broken,
    /// A timeout has passed, or the speed is below the minimum.
    Late,
}

/// Receives one response.
struct ResponseReader<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    memory: &'a MemoryBudget,
    rate: Option<&'a RateLimit>,
    timer: ResponseTimer<'a>,
    request_sent: Instant,
    first_byte: Option<Duration>,
    /// Whether a time limit had passed when the most recent bytes arrived.
    late: bool,
    /// The share of the memory budget, acquired when the body becomes large.
    share: Option<MemoryShare>,
    /// The maximum capacity that the buffer may need.
    max_size: usize,
    stream_ended: bool,
    /// Whether a body that does not fit into `max_size` continues in a file.
    spools: bool,
}

impl<S: AsyncRead + Unpin> ResponseReader<'_, S> {
    /// Ensures free capacity for `free` bytes. If the buffer must grow, and these bytes do not complete the response
    /// (`is_all` is false), its capacity at least doubles. The capacity never exceeds `max_size`, the size of the
    /// share.
    fn reserve(&mut self, free: usize, is_all: bool) {
        let capacity = self.buffer.capacity();
        let required = self.buffer.len() + free;
        if capacity < required {
            let doubled = if is_all { 0 } else { 2 * capacity };
            let mut larger = self.memory.buffer(required.max(doubled.min(self.max_size)));
            larger.extend_from_slice(&self.buffer);
            self.memory
                .recycle(std::mem::replace(&mut self.buffer, larger));
        }
    }

    /// Reads once. `rest` is the number of bytes that the response still lacks, if it is known.
    async fn read(&mut self, rest: Option<u64>) -> ReadOutcome {
        if self.late {
            return ReadOutcome::Late;
        }
        let mut max_read = usize::MAX;
        if let Some(rate) = self.rate {
            // Boxed, so that this future takes no space in fetches without a rate limit.
            let waited = Box::pin(rate.reserve()).await;
            self.timer.postpone(waited);
            max_read = rate.quantum();
        }
        let read = poll_fn(|cx| {
            let free = self.buffer.capacity() - self.buffer.len();
            let read = if rest.is_none() && free < MIN_FREE {
                READ_BUFFER.with_borrow_mut(|buffer| {
                    let size = buffer.len().min(max_read);
                    self.poll_thread_buffer(cx, &mut buffer[..size])
                })
            } else {
                let rest = rest.unwrap_or(0);
                let max_growth = match self.share {
                    Some(_) => self.max_size.saturating_sub(self.buffer.len()),
                    None => MAX_GROWTH,
                };
                let growth = rest.min(max_growth as u64);
                // The additional capacity is for the terminator. With it, the read can also detect bytes beyond the
                // announced length.
                self.reserve(growth as usize + TERMINATOR.len(), growth == rest);
                if max_read == usize::MAX {
                    pin!(self.stream.read_buf(&mut self.buffer)).poll(cx)
                } else {
                    let mut limited = (&mut *self.stream).take(max_read as u64);
                    pin!(limited.read_buf(&mut self.buffer)).poll(cx)
                }
            };
            match read {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => self.timer.poll_late(cx).map(|()| None),
            }
        });
        let read = read.await;
        if let Some(rate) = self.rate {
            let bytes = read.as_ref().and_then(|read| read.as_ref().ok());
            rate.give_back(rate.quantum() - bytes.unwrap_or(&0));
        }
        match read {
            None => ReadOutcome::Late,
            Some(Ok(0)) => {
                self.stream_ended = true;
                ReadOutcome::End
            }
            Some(Err(error)) => {
                self.stream_ended = true;
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    ReadOutcome::End
                } else {
                    ReadOutcome::Broken
                }
            }
            Some(Ok(bytes)) => {
                self.first_byte
                    .get_or_insert_with(|| self.request_sent.elapsed());
                // The next read reports the delay. If these bytes complete the response, there is no next read, so the
                // delay has no effect.
                self.late = !self.timer.record_bytes(bytes);
                ReadOutcome::Bytes
            }
        }
    }

    /// Reads into the thread's buffer and copies the bytes.
    fn poll_thread_buffer(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut *self.stream).poll_read(cx, &mut buffer))?;
        let bytes = buffer.filled();
        // If the first read fills the thread's buffer, more bytes will follow, so capacity for the announced length is
        // allocated at once.
        let announced = (bytes.len() == READ_SIZE && self.buffer.is_empty())
            .then(|| announced_size(bytes))
            .flatten();
        match announced.filter(|size| *size <= MAX_GROWTH) {
            Some(size) => self.reserve(size.max(READ_SIZE), true),
            None => self.reserve(bytes.len(), false),
        }
        self.buffer.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Receives the head of the final response. Returns the head and its length. Interim responses are removed, so the
    /// buffer begins with this head.
    async fn read_head(&mut self, max_head: usize) -> Result<(ResponseHead, usize), Failure> {
        let (mut scanned, mut interim, mut blank) = (0, 0, 0);
        loop {
            let line_ends = self
                .buffer
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            self.buffer.drain(..line_ends);
            blank += line_ends;
            if blank > MAX_BLANK {
                return Err(Failure::Protocol(
                    "too many blank lines before the status line".to_owned(),
                ));
            }
            head::check_start(&self.buffer).map_err(Failure::Protocol)?;
            let end = head::find_end(&self.buffer, &mut scanned);
            if end.unwrap_or(self.buffer.len()) > max_head {
                return Err(Failure::Protocol(format!(
                    "the response head is longer than {max_head} bytes"
                )));
            }
            if let Some(end) = end {
                let head = head::parse(&self.buffer[..end]).map_err(Failure::Protocol)?;
                if head.status >= 200 {
                    return Ok((head, end));
                }
                interim += 1;
                if head.status == 101 || interim > MAX_INTERIM {
                    return Err(Failure::Protocol(format!(
                        "interim response {}",
                        head.status
                    )));
                }
                self.buffer.drain(..end);
                scanned = 0;
                continue;
            }
            match self.read(None).await {
                ReadOutcome::Bytes => {}
                ReadOutcome::End | ReadOutcome::Broken => return Err(Failure::Reset),
                ReadOutcome::Late if self.first_byte.is_none() => return Err(Failure::Timeout),
                ReadOutcome::Late => return Err(Failure::Stalled),
            }
        }
    }

    /// Receives the body if its media type is accepted, and returns the result of the whole exchange.
    async fn receive_body(
        mut self,
        mut head: ResponseHead,
        head_length: usize,
        limits: ExchangeLimits<'_>,
    ) -> ExchangeResult {
        let mut remarks = std::mem::take(&mut head.remarks);
        let (mut framing, unambiguous) = framing::of(&head, &mut remarks);
        let media_type = media_type(&head);
        let unwanted = !limits.accept_any_type
            && !matches!(framing, ResponseFraming::Empty | ResponseFraming::Length(0))
            && !limits.options.accepts(&media_type);
        let max_body = limits
            .max_body
            .unwrap_or_else(|| limits.options.max_body_of(&media_type));
        let max_in_memory = large::max_in_memory(limits.options, limits.memory, &media_type);
        drop(media_type); // so that it takes no space in this future while the body is read
        let max_length = max_length(&framing, max_body);
        self.spools = max_in_memory < max_length;
        let body = usize::try_from(max_length.min(max_in_memory)).unwrap_or(usize::MAX);
        self.max_size = body.saturating_add(head_length + MIN_FREE);
        let read = if unwanted {
            Some((0, Some(Truncated::Unspecified)))
        } else {
            self.read_body(&mut framing, head_length, max_body, limits, &mut remarks)
                .await
        };
        let Some((end, truncated)) = read else {
            head.remarks = remarks;
            // Boxed, so that this future takes no space in the fetches of ordinary pages.
            return Box::pin(self.finish_large(
                head,
                head_length,
                (framing, unambiguous),
                max_body,
                limits,
            ))
            .await;
        };
        debug!(
            bytes = end,
            truncated = truncated.map(Truncated::as_str),
            "body end"
        );
        let received = self.buffer.len() - head_length;
        // The connection can be kept even if the body is unwanted, provided that the whole body arrived together with
        // the head.
        let ends_exactly = match framing {
            ResponseFraming::Length(bytes) if unwanted => received as u64 == bytes,
            ResponseFraming::Close | ResponseFraming::UpTo(_) => false,
            _ => truncated.is_none() && received == end,
        };
        if !unwanted && truncated.is_none() && received > end {
            remarks.push(ResponseRemark::ExtraBytes);
        }
        self.buffer.truncate(head_length + end);
        let length = self.buffer.len();
        let has_terminator =
            length > MAX_UNPOOLED && self.buffer.capacity() - length >= TERMINATOR.len();
        if has_terminator {
            self.buffer.extend_from_slice(TERMINATOR);
        }
        let terminated = into_bytes(self.buffer, self.memory);
        let response = terminated.slice(..length);
        let wire = response.slice(head_length..);
        let payload = match &mut framing {
            ResponseFraming::Chunked(chunks) => chunks.payload(&wire),
            _ => wire,
        };
        let reusable = ends_exactly && unambiguous && head.persistent && !self.stream_ended;
        head.remarks = remarks;
        ExchangeResult {
            result: Ok(ReceivedResponse {
                head,
                head_length,
                payload,
                crlf_terminated: has_terminator.then_some(terminated),
                truncated,
                unwanted,
                spooled: None,
                share: self.share,
            }),
            response,
            first_byte: self.first_byte.unwrap_or_default(),
            reusable,
            closed_early: false,
        }
    }

    /// Receives the rest of a body that does not fit into memory, and returns the result of the whole exchange.
    async fn finish_large(
        mut self,
        mut head: ResponseHead,
        head_length: usize,
        (mut framing, unambiguous): (ResponseFraming, bool),
        max_body: u64,
        limits: ExchangeLimits<'_>,
    ) -> ExchangeResult {
        let folder = limits
            .options
            .spool_folder
            .as_deref()
            .unwrap_or(Path::new("."));
        let received = self
            .receive_large(
                &mut framing,
                head_length,
                max_body,
                folder,
                &mut head.remarks,
            )
            .await;
        let large = match received {
            Ok(large) => large,
            Err(failure) => return self.fail(failure, 0),
        };
        if large.has_extra {
            head.remarks.push(ResponseRemark::ExtraBytes);
        }
        debug!(
            bytes = large.spooled.length,
            truncated = large.truncated.map(Truncated::as_str),
            "body end"
        );
        let ends_exactly = !matches!(framing, ResponseFraming::Close | ResponseFraming::UpTo(_))
            && large.truncated.is_none()
            && !large.has_extra;
        ExchangeResult {
            reusable: ends_exactly && unambiguous && head.persistent && !self.stream_ended,
            result: Ok(ReceivedResponse {
                head,
                head_length,
                payload: large.payload,
                crlf_terminated: None,
                truncated: large.truncated,
                unwanted: false,
                spooled: Some(Box::new(large.spooled)),
                share: self.share,
            }),
            response: large.response,
            first_byte: self.first_byte.unwrap_or_default(),
            closed_early: false,
        }
    }

    /// Reads until the body ends or a limit is reached. Returns the number of bytes of the body that are kept, or
    /// `None` if the body does not fit into memory.
    async fn read_body(
        &mut self,
        framing: &mut ResponseFraming,
        head_length: usize,
        max_body: u64,
        limits: ExchangeLimits<'_>,
        remarks: &mut Vec<ResponseRemark>,
    ) -> Option<(usize, Option<Truncated>)> {
        loop {
            let body = &self.buffer[head_length..];
            let received = body.len();
            let mut broken = None;
            let end = match framing {
                ResponseFraming::Empty => Some(0),
                ResponseFraming::Length(bytes) | ResponseFraming::UpTo(bytes) => {
                    (received as u64 >= *bytes).then_some(*bytes as usize)
                }
                ResponseFraming::Close => None,
                // Bytes beyond `max_body` are not parsed, so that they do not become part of the chunks' data.
                ResponseFraming::Chunked(chunks) => {
                    match chunks.advance(&body[..capped(received, max_body)]) {
                        ChunkStep::More => None,
                        ChunkStep::Done(end) => Some(end),
                        ChunkStep::Broken => {
                            remarks.push(ResponseRemark::BrokenChunks);
                            if chunks.is_at_start() {
                                *framing = ResponseFraming::Close;
                                None
                            } else {
                                broken = Some(Truncated::Unspecified);
                                Some(capped(received, max_body))
                            }
                        }
                    }
                }
            };
            if end.unwrap_or(received) as u64 > max_body {
                return Some((max_body as usize, Some(Truncated::Length)));
            }
            if let Some(end) = end {
                return Some((end, broken));
            }
            let rest = announced_length(framing).map(|length| length - received as u64);
            let next_read = rest.map_or(MIN_FREE, |rest| rest.min(MAX_GROWTH as u64) as usize);
            if self.share.is_none() && received + next_read > MAX_UNBUDGETED {
                let body = max_length(framing, max_body).min(self.max_size as u64);
                let share = limits.memory.wire(body);
                match timeout_at(limits.deadline, share).await {
                    Ok(share) => self.share = Some(share),
                    Err(_) => return Some((received, Some(Truncated::Time))),
                }
            }
            if self.spools && head_length + received + MIN_FREE >= self.max_size {
                return None;
            }
            match self.read(rest).await {
                ReadOutcome::Bytes => {}
                ReadOutcome::Late => return Some((received, Some(Truncated::Time))),
                ReadOutcome::End => return Some((received, truncation_at_end(framing, false))),
                ReadOutcome::Broken => return Some((received, truncation_at_end(framing, true))),
            }
        }
    }

    fn fail(mut self, failure: Failure, max_head: usize) -> ExchangeResult {
        self.buffer.truncate(max_head);
        ExchangeResult {
            closed_early: failure == Failure::Reset && self.first_byte.is_none(),
            result: Err(failure),
            response: into_bytes(self.buffer, self.memory),
            first_byte: self.first_byte.unwrap_or_default(),
            reusable: false,
        }
    }
}

/// The announced size of the response that begins with these bytes, plus space for the terminator.
fn announced_size(bytes: &[u8]) -> Option<usize> {
    let end = head::find_end(bytes, &mut 0)?;
    let head = head::parse(&bytes[..end]).ok()?;
    let (framing, _) = framing::of(&head, &mut Vec::new());
    let body = usize::try_from(announced_length(&framing)?).ok()?;
    end.checked_add(body)?.checked_add(TERMINATOR.len())
}

/// Turns the buffer into the response. If the buffer is more than half empty, the bytes are copied to a smaller one,
/// because the response may wait for the archive for a long time. The bytes of large buffers are not copied, because
/// that would cost more than it saves.
fn into_bytes(buffer: Vec<u8>, memory: &MemoryBudget) -> Bytes {
    if buffer.capacity() <= MAX_UNBUDGETED && buffer.len() < buffer.capacity() / 2 {
        let response = Bytes::copy_from_slice(&buffer);
        memory.recycle(buffer);
        response
    } else if buffer.capacity() > MAX_UNPOOLED {
        memory.lend(buffer)
    } else {
        buffer.into()
    }
}

fn capped(length: usize, max_body: u64) -> usize {
    usize::try_from(max_body).map_or(length, |max_body| length.min(max_body))
}

/// The maximum number of bytes of a body that are kept.
fn max_length(framing: &ResponseFraming, max_body: u64) -> u64 {
    announced_length(framing).map_or(max_body, |length| length.min(max_body))
}

fn announced_length(framing: &ResponseFraming) -> Option<u64> {
    match framing {
        ResponseFraming::Length(bytes) | ResponseFraming::UpTo(bytes) => Some(*bytes),
        _ => None,
    }
}

/// Whether a body is truncated if the connection ends here. `broken` says whether the connection ended by an error.
fn truncation_at_end(framing: &ResponseFraming, broken: bool) -> Option<Truncated> {
    match framing {
        ResponseFraming::Close | ResponseFraming::UpTo(_) if broken => Some(Truncated::Disconnect),
        ResponseFraming::Close | ResponseFraming::UpTo(_) | ResponseFraming::Empty => None,
        ResponseFraming::Chunked(chunks) if chunks.is_past_last_chunk() => None,
        ResponseFraming::Chunked(_) | ResponseFraming::Length(_) => Some(Truncated::Disconnect),
    }
}

/// The media type in lower case without parameters; empty if there is no `Content-Type`.
fn media_type(head: &ResponseHead) -> String {
    let value = head.headers.get("content-type").unwrap_or_default();
    let end = value
        .iter()
        .position(|byte| matches!(byte, b';' | b','))
        .unwrap_or(value.len());
    String::from_utf8_lossy(value[..end].trim_ascii()).to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
