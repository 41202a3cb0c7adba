//! One request and its response over one connection (RFC 9112).
//!
//! The read buffer is the record of the wire: the response is collected in one buffer, head and body are located in
//! it, and the buffer is returned without a copy. No task and no second future drives the connection
//! (docs/decisions/0003-http-exchange.md). The code is generic over the stream, so that tests need no socket.
//!
//! Never keeps more bytes than the limits allow. Always ends within the limits of [`ResponseTimer`], with a response, perhaps
//! truncated, or a failure.

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
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
    framing::{self, BodyFraming},
    head::{self, ResponseHead},
};
use crate::{
    Failure, Options, ResponseRemark, Truncated,
    clock::deadline_after,
    limits::{
        memory_budget::{MAX_UNBUDGETED, MAX_UNPOOLED, MemoryBudget, MemoryShare},
        timeouts::ResponseTimer,
    },
};

/// Bytes taken off the wire at a time, by way of a place that each thread has for it: most pages come whole, and the buffer is
/// then made to their measure. An answer that has not begun has no buffer.
const SCOOP: usize = MAX_UNPOOLED;

/// Room made for more of a body that announces no length.
const LEAST_ROOM: usize = 4 << 10;

/// The buffer grows by at most this for bytes that are only promised, until the answer has its share of the memory: then all
/// of it is made at once, since to double it made the system clear twice the pages.
const MOST_ROOM: usize = 512 << 10;

/// What stands behind a large answer in its buffer ([`crate::FetchResponse::crlf_terminated`]).
const END: &[u8] = b"\r\n\r\n";

/// Interim answers (1xx) before the real one.
const MOST_INTERIM: usize = 8;

/// Blank bytes before the status line.
const MOST_BLANK: usize = 1 << 10;

thread_local! {
    static SCOOPS: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCOOP].into());
}

/// The limits of one exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeLimits<'a> {
    pub(crate) options: &'a Options,
    pub(crate) memory: &'a MemoryBudget,
    pub(crate) max_body: Option<u64>,
    pub(crate) accept_any_type: bool,
    /// End of the whole fetch.
    pub(crate) deadline: Instant,
}

/// How an exchange ended.
#[derive(Debug)]
pub(crate) struct ExchangeResult {
    pub(crate) result: Result<ReceivedResponse, Failure>,
    /// Wire bytes, up to the end of the answer.
    pub(crate) response: Bytes,
    pub(crate) first_byte: Duration,
    /// The connection can serve another request.
    pub(crate) reusable: bool,
    /// The connection was closed before a single byte came.
    pub(crate) silent: bool,
}

/// An answer taken off the wire, its content coding still on.
#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) head: ResponseHead,
    pub(crate) head_length: usize,
    pub(crate) payload: Bytes,
    pub(crate) crlf_terminated: Option<Bytes>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) unwanted: bool,
    pub(crate) share: Option<MemoryShare>,
}

/// Sends the request and takes the answer.
pub(crate) async fn exchange<S>(
    stream: &mut S,
    request: &[u8],
    limits: ExchangeLimits<'_>,
) -> ExchangeResult
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let sent = send(stream, request, limits).await;
    let mut incoming = ResponseReader {
        stream,
        buffer: Vec::new(),
        memory: limits.memory,
        pace: ResponseTimer::new(limits.options, limits.deadline),
        asked: Instant::now(),
        first_byte: None,
        late: false,
        share: None,
        most: usize::MAX,
        ended: false,
    };
    let result = match sent {
        Ok(()) => {
            debug!(bytes = request.len(), "request sent");
            incoming.head(limits.options.max_head as usize).await
        }
        Err(failure) => Err(failure),
    };
    let (head, head_length) = match result {
        Ok(found) => found,
        Err(failure) => return incoming.failed(failure, limits.options.max_head as usize),
    };
    debug!(
        status = head.status,
        first_byte_ms = incoming.first_byte.unwrap_or_default().as_millis() as u64,
        "response head"
    );
    incoming.body(head, head_length, limits).await
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

/// What one read brought.
enum ReadOutcome {
    Bytes,
    /// Closed by the server. TLS without its closing word is too common to count as broken.
    End,
    /// The connection broke: a reset, a TLS record that is none.
    Broken,
    /// A limit of time or speed has passed.
    Late,
}

struct ResponseReader<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    memory: &'a MemoryBudget,
    pace: ResponseTimer<'a>,
    asked: Instant,
    first_byte: Option<Duration>,
    late: bool,
    /// Taken when the body grows large.
    share: Option<MemoryShare>,
    /// What the buffer need not grow beyond.
    most: usize,
    ended: bool,
}

impl<S: AsyncRead + Unpin> ResponseReader<'_, S> {
    /// Makes room. Where the end is not known the buffer doubles, but not beyond the most that will be kept: a share of the
    /// budget is no larger.
    fn make(&mut self, room: usize, is_all: bool) {
        let here = self.buffer.len();
        let (whole, least) = (self.buffer.capacity(), here + room);
        if whole < least {
            let doubled = if is_all { 0 } else { 2 * whole };
            let mut larger = self.memory.buffer(least.max(doubled.min(self.most)));
            larger.extend_from_slice(&self.buffer);
            self.memory
                .recycle(std::mem::replace(&mut self.buffer, larger));
        }
    }

    /// Reads once. `rest`: how much there is to come, where that is known.
    async fn more(&mut self, rest: Option<u64>) -> ReadOutcome {
        if self.late {
            return ReadOutcome::Late;
        }
        let read = poll_fn(|cx| {
            let free = self.buffer.capacity() - self.buffer.len();
            let read = if rest.is_none() && free < LEAST_ROOM {
                SCOOPS.with_borrow_mut(|scoop| self.poll_scoop(cx, scoop))
            } else {
                let rest = rest.unwrap_or(0);
                let most = match self.share {
                    Some(_) => self.most.saturating_sub(self.buffer.len()),
                    None => MOST_ROOM,
                };
                let room = rest.min(most as u64);
                // Some more, so that more than was announced shows, and for what stands behind it.
                self.make(room as usize + END.len(), room == rest);
                pin!(self.stream.read_buf(&mut self.buffer)).poll(cx)
            };
            match read {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => self.pace.poll_late(cx).map(|()| None),
            }
        });
        match read.await {
            None => ReadOutcome::Late,
            Some(Ok(0)) => {
                self.ended = true;
                ReadOutcome::End
            }
            Some(Err(error)) => {
                self.ended = true;
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    ReadOutcome::End
                } else {
                    ReadOutcome::Broken
                }
            }
            Some(Ok(bytes)) => {
                self.first_byte.get_or_insert_with(|| self.asked.elapsed());
                // Too slow matters only when more is needed: the caller looks at the bytes first.
                self.late = !self.pace.record_bytes(bytes);
                ReadOutcome::Bytes
            }
        }
    }

    /// Reads by way of the thread's scoop.
    fn poll_scoop(&mut self, cx: &mut Context<'_>, scoop: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut scoop = ReadBuf::new(scoop);
        ready!(Pin::new(&mut *self.stream).poll_read(cx, &mut scoop))?;
        let bytes = scoop.filled();
        // A scoop that is full is seldom all: the rest should find room beside it.
        let whole = (bytes.len() == SCOOP && self.buffer.is_empty())
            .then(|| promised(bytes))
            .flatten();
        match whole.filter(|whole| *whole <= MOST_ROOM) {
            Some(whole) => self.make(whole.max(SCOOP), true),
            None => self.make(bytes.len(), false),
        }
        self.buffer.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    /// The head of the final answer, which then begins the buffer.
    async fn head(&mut self, max_head: usize) -> Result<(ResponseHead, usize), Failure> {
        let (mut scanned, mut interim, mut blank) = (0, 0, 0);
        loop {
            let before = self
                .buffer
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            self.buffer.drain(..before);
            blank += before;
            if blank > MOST_BLANK {
                return Err(Failure::Protocol(
                    "blank lines instead of a head".to_owned(),
                ));
            }
            head::refuse_start(&self.buffer).map_err(Failure::Protocol)?;
            let end = head::find_end(&self.buffer, &mut scanned);
            if end.unwrap_or(self.buffer.len()) > max_head {
                return Err(Failure::Protocol(format!(
                    "a head of more than {max_head} bytes"
                )));
            }
            if let Some(end) = end {
                let head = head::read(&self.buffer[..end]).map_err(Failure::Protocol)?;
                if head.status >= 200 {
                    return Ok((head, end));
                }
                interim += 1;
                if head.status == 101 || interim > MOST_INTERIM {
                    return Err(Failure::Protocol(format!(
                        "interim response {}",
                        head.status
                    )));
                }
                self.buffer.drain(..end);
                scanned = 0;
                continue;
            }
            match self.more(None).await {
                ReadOutcome::Bytes => {}
                ReadOutcome::End | ReadOutcome::Broken => return Err(Failure::Reset),
                ReadOutcome::Late if self.first_byte.is_none() => return Err(Failure::Timeout),
                ReadOutcome::Late => return Err(Failure::Stalled),
            }
        }
    }

    /// Takes the body, if it is wanted, and ends the exchange.
    async fn body(
        mut self,
        mut head: ResponseHead,
        head_length: usize,
        limits: ExchangeLimits<'_>,
    ) -> ExchangeResult {
        let mut remarks = std::mem::take(&mut head.remarks);
        let (mut framing, clean) = framing::of(&head, &mut remarks);
        let media_type = media_type(&head);
        let unwanted = !limits.accept_any_type
            && !matches!(framing, BodyFraming::Empty | BodyFraming::Length(0))
            && !limits.options.accepts(&media_type);
        let limit = limits
            .max_body
            .unwrap_or_else(|| limits.options.max_body_of(&media_type));
        let body = usize::try_from(most(&framing, limit)).unwrap_or(usize::MAX);
        self.most = body.saturating_add(head_length + LEAST_ROOM);
        let (end, truncated) = if unwanted {
            (0, Some(Truncated::Unspecified))
        } else {
            self.take(&mut framing, head_length, limit, limits, &mut remarks)
                .await
        };
        debug!(
            bytes = end,
            truncated = truncated.map(Truncated::as_str),
            "body end"
        );
        let here = self.buffer.len() - head_length;
        // A small unwanted body that has come with the head costs no connection.
        let whole = match framing {
            BodyFraming::Length(bytes) if unwanted => here as u64 == bytes,
            BodyFraming::Close | BodyFraming::UpTo(_) => false,
            _ => truncated.is_none() && here == end,
        };
        if !unwanted && truncated.is_none() && here > end {
            remarks.push(ResponseRemark::ExtraBytes);
        }
        self.buffer.truncate(head_length + end);
        let length = self.buffer.len();
        let is_ended = length > MAX_UNPOOLED && self.buffer.capacity() - length >= END.len();
        if is_ended {
            self.buffer.extend_from_slice(END);
        }
        let ended = keep(self.buffer, self.memory);
        let response = ended.slice(..length);
        let wire = response.slice(head_length..);
        let payload = match &mut framing {
            BodyFraming::Chunked(chunks) => chunks.payload(&wire),
            _ => wire,
        };
        let reusable = whole && clean && head.persistent && !self.ended;
        head.remarks = remarks;
        ExchangeResult {
            result: Ok(ReceivedResponse {
                head,
                head_length,
                payload,
                crlf_terminated: is_ended.then_some(ended),
                truncated,
                unwanted,
                share: self.share,
            }),
            response,
            first_byte: self.first_byte.unwrap_or_default(),
            reusable,
            silent: false,
        }
    }

    /// Reads until the body ends or a limit does. Gives the body's length on the wire, as far as it is kept.
    async fn take(
        &mut self,
        framing: &mut BodyFraming,
        head_length: usize,
        limit: u64,
        limits: ExchangeLimits<'_>,
        remarks: &mut Vec<ResponseRemark>,
    ) -> (usize, Option<Truncated>) {
        loop {
            let body = &self.buffer[head_length..];
            let here = body.len();
            let mut broken = None;
            let end = match framing {
                BodyFraming::Empty => Some(0),
                BodyFraming::Length(bytes) | BodyFraming::UpTo(bytes) => {
                    (here as u64 >= *bytes).then_some(*bytes as usize)
                }
                BodyFraming::Close => None,
                // What is over the limit is not looked at: nothing of it is gathered.
                BodyFraming::Chunked(chunks) => match chunks.advance(&body[..kept(here, limit)]) {
                    ChunkStep::More => None,
                    ChunkStep::Done(end) => Some(end),
                    ChunkStep::Broken => {
                        remarks.push(ResponseRemark::BrokenChunks);
                        if chunks.is_untouched() {
                            *framing = BodyFraming::Close;
                            None
                        } else {
                            broken = Some(Truncated::Unspecified);
                            Some(kept(here, limit))
                        }
                    }
                },
            };
            if end.unwrap_or(here) as u64 > limit {
                return (limit as usize, Some(Truncated::Length));
            }
            if let Some(end) = end {
                return (end, broken);
            }
            let rest = rest(framing, here);
            let next = rest.map_or(LEAST_ROOM, |rest| rest.min(MOST_ROOM as u64) as usize);
            if self.share.is_none() && here + next > MAX_UNBUDGETED {
                match timeout_at(limits.deadline, limits.memory.wire(most(framing, limit))).await {
                    Ok(share) => self.share = Some(share),
                    Err(_) => return (here, Some(Truncated::Time)),
                }
            }
            match self.more(rest).await {
                ReadOutcome::Bytes => {}
                ReadOutcome::Late => return (here, Some(Truncated::Time)),
                ReadOutcome::End => return (here, ended(framing, false)),
                ReadOutcome::Broken => return (here, ended(framing, true)),
            }
        }
    }

    fn failed(mut self, failure: Failure, max_head: usize) -> ExchangeResult {
        self.buffer.truncate(max_head);
        ExchangeResult {
            silent: failure == Failure::Reset && self.first_byte.is_none(),
            result: Err(failure),
            response: keep(self.buffer, self.memory),
            first_byte: self.first_byte.unwrap_or_default(),
            reusable: false,
        }
    }
}

/// How long an answer says it is that begins with these bytes, with some more room behind it.
fn promised(bytes: &[u8]) -> Option<usize> {
    let end = head::find_end(bytes, &mut 0)?;
    let head = head::read(&bytes[..end]).ok()?;
    let (framing, _) = framing::of(&head, &mut Vec::new());
    let body = usize::try_from(announced(&framing)?).ok()?;
    end.checked_add(body)?.checked_add(END.len())
}

/// An answer as it is handed on. It may wait for the archive for long: not in a buffer that is more than half empty, unless
/// that is a large one, which would cost more to copy.
fn keep(buffer: Vec<u8>, memory: &MemoryBudget) -> Bytes {
    if buffer.capacity() <= MAX_UNBUDGETED && buffer.len() < buffer.capacity() / 2 {
        let answer = Bytes::copy_from_slice(&buffer);
        memory.recycle(buffer);
        answer
    } else if buffer.capacity() > MAX_UNPOOLED {
        memory.lend(buffer)
    } else {
        buffer.into()
    }
}

/// As much of a body as is kept.
fn kept(here: usize, limit: u64) -> usize {
    usize::try_from(limit).map_or(here, |limit| here.min(limit))
}

/// The most that a body can come to.
fn most(framing: &BodyFraming, limit: u64) -> u64 {
    announced(framing).map_or(limit, |bytes| bytes.min(limit))
}

/// What is still to come of a body that announces its length.
fn rest(framing: &BodyFraming, here: usize) -> Option<u64> {
    announced(framing).map(|bytes| bytes - here as u64)
}

fn announced(framing: &BodyFraming) -> Option<u64> {
    match framing {
        BodyFraming::Length(bytes) | BodyFraming::UpTo(bytes) => Some(*bytes),
        _ => None,
    }
}

/// What the end of the connection, in order or not, means for a body that is not complete by itself.
fn ended(framing: &BodyFraming, broken: bool) -> Option<Truncated> {
    match framing {
        BodyFraming::Close | BodyFraming::UpTo(_) if broken => Some(Truncated::Disconnect),
        BodyFraming::Close | BodyFraming::UpTo(_) | BodyFraming::Empty => None,
        BodyFraming::Chunked(chunks) if chunks.is_past_last_chunk() => None,
        BodyFraming::Chunked(_) | BodyFraming::Length(_) => Some(Truncated::Disconnect),
    }
}

/// The media type in lower case without parameters; empty when none is named.
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
