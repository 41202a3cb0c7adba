//! The second part of a large body: it is received in blocks and written to a temporary file (`http/spool.rs`).

use std::{io, mem, path::Path};

use bytes::Bytes;
use tokio::{io::AsyncRead, time::Instant};
use tracing::debug;

use super::{ReadOutcome, ResponseReader, announced_length, capped, into_bytes, truncation_at_end};
use crate::{
    Failure, Options, ResponseRemark, Truncated,
    http::{
        chunks::ChunkStep,
        framing::ResponseFraming,
        spool::{Spool, SpoolBlock, SpooledBody},
    },
    limits::memory_budget::{MAX_UNBUDGETED, MAX_UNPOOLED, MemoryBudget},
};

/// Maximum size of the part of a body that stays in memory. For a text it is `max_decoded` if that is larger, because
/// the page reader reads texts up to that size.
const MAX_IN_MEMORY: u64 = 32 << 20;

/// The bytes beyond the part in memory are written to the file in blocks of about this size.
const BLOCK_SIZE: usize = 1 << 20;

/// How many bytes of a body stay in memory. The maximum is the half of the memory budget that received bodies share.
/// Without a folder for large bodies there is no maximum.
pub(super) fn max_in_memory(options: &Options, memory: &MemoryBudget, media_type: &str) -> u64 {
    if options.spool_folder.is_none() {
        return u64::MAX;
    }
    let is_text = media_type.is_empty()
        || media_type.starts_with("text/")
        || ["xml", "json"].iter().any(|part| media_type.contains(part));
    let max_read = if is_text {
        MAX_IN_MEMORY.max(options.max_decoded)
    } else {
        MAX_IN_MEMORY
    };
    max_read.clamp(
        MAX_UNBUDGETED as u64,
        memory.max_wire().max(MAX_UNBUDGETED as u64),
    )
}

/// A large body after its last byte.
pub(super) struct LargeBody {
    /// The head and the part of the body that stays in memory.
    pub(super) response: Bytes,
    /// The part of the body in memory, without transfer coding.
    pub(super) payload: Bytes,
    pub(super) spooled: SpooledBody,
    pub(super) truncated: Option<Truncated>,
    /// Whether bytes beyond the end of the body were received.
    pub(super) has_extra: bool,
}

impl<S: AsyncRead + Unpin> ResponseReader<'_, S> {
    /// Receives the rest of a body whose first part fills the buffer.
    pub(super) async fn receive_large(
        &mut self,
        framing: &mut ResponseFraming,
        head_length: usize,
        max_body: u64,
        folder: &Path,
        remarks: &mut Vec<ResponseRemark>,
    ) -> Result<LargeBody, Failure> {
        let block = Vec::with_capacity(BLOCK_SIZE + MAX_UNPOOLED);
        let response = into_bytes(mem::replace(&mut self.buffer, block), self.memory);
        self.max_size = BLOCK_SIZE;
        let wire = response.slice(head_length..);
        debug!(bytes = wire.len(), "the body continues in a file");
        let started = Instant::now();
        let mut spool = Spool::create(folder)
            .await
            .map_err(|error| disk_failure(&error))?;
        // An incomplete chunk-size line is parsed again together with the bytes that follow it.
        let (parsed, payload) = match framing {
            ResponseFraming::Chunked(chunks) => {
                let payload = chunks.payload(&wire);
                (chunks.rebase(), Some(payload))
            }
            _ => (wire.len(), None),
        };
        self.buffer.extend_from_slice(&wire[parsed..]);
        let first = SpoolBlock {
            wire: wire.slice(..parsed),
            payload: payload.clone(),
        };
        spool
            .append(first)
            .await
            .map_err(|error| disk_failure(&error))?;
        self.timer.postpone(started.elapsed());
        let (end, truncated) = self
            .read_large(framing, max_body, &mut spool, remarks)
            .await?;
        let has_extra = truncated.is_none() && self.buffer.len() > end;
        self.write_block(&mut spool, framing, Some(end)).await?;
        let spooled = spool.finish();
        Ok(LargeBody {
            spooled: spooled.ok_or_else(|| disk_failure(&io::ErrorKind::BrokenPipe.into()))?,
            payload: payload.unwrap_or(wire),
            response,
            truncated,
            has_extra,
        })
    }

    /// Reads until the body ends or a limit is reached, and writes full blocks. Returns how many bytes of the last
    /// block, which is still in the buffer, belong to the body.
    async fn read_large(
        &mut self,
        framing: &mut ResponseFraming,
        max_body: u64,
        spool: &mut Spool,
        remarks: &mut Vec<ResponseRemark>,
    ) -> Result<(usize, Option<Truncated>), Failure> {
        loop {
            let (written, received) = (spool.length(), self.buffer.len());
            let allowed = capped(received, max_body.saturating_sub(written));
            let mut broken = None;
            let end = match framing {
                ResponseFraming::Empty => Some(0),
                ResponseFraming::Length(bytes) | ResponseFraming::UpTo(bytes) => {
                    let rest = bytes.saturating_sub(written);
                    (received as u64 >= rest).then_some(rest as usize)
                }
                ResponseFraming::Close => None,
                ResponseFraming::Chunked(chunks) => match chunks.advance(&self.buffer[..allowed]) {
                    ChunkStep::More => None,
                    ChunkStep::Done(end) => Some(end),
                    ChunkStep::Broken => {
                        remarks.push(ResponseRemark::BrokenChunks);
                        broken = Some(Truncated::Unspecified);
                        Some(allowed)
                    }
                },
            };
            if end.unwrap_or(received) > allowed {
                return Ok((allowed, Some(Truncated::Length)));
            }
            if let Some(end) = end {
                return Ok((end, broken));
            }
            if received >= BLOCK_SIZE {
                self.write_block(spool, framing, None).await?;
                continue;
            }
            let rest = announced_length(framing).map(|length| length - written - received as u64);
            match self.read(rest).await {
                ReadOutcome::Bytes => {}
                ReadOutcome::Late => return Ok((received, Some(Truncated::Time))),
                ReadOutcome::End => return Ok((received, truncation_at_end(framing, false))),
                ReadOutcome::Broken => return Ok((received, truncation_at_end(framing, true))),
            }
        }
    }

    /// Writes bytes of the buffer to the file: the first `end` bytes, or all that were parsed. The other bytes stay in
    /// the buffer. The time for writing does not count against the server.
    async fn write_block(
        &mut self,
        spool: &mut Spool,
        framing: &mut ResponseFraming,
        end: Option<usize>,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let (parsed, payload) = match framing {
            ResponseFraming::Chunked(chunks) => {
                let payload = chunks.take_payload(&self.buffer);
                (chunks.rebase(), Some(payload.into()))
            }
            _ => (self.buffer.len(), None),
        };
        let length = end.unwrap_or(parsed);
        let mut next = Vec::with_capacity(BLOCK_SIZE + MAX_UNPOOLED);
        next.extend_from_slice(&self.buffer[length..]);
        let mut wire = mem::replace(&mut self.buffer, next);
        wire.truncate(length);
        let block = SpoolBlock {
            wire: wire.into(),
            payload,
        };
        spool
            .append(block)
            .await
            .map_err(|error| disk_failure(&error))?;
        self.timer.postpone(started.elapsed());
        Ok(())
    }
}

fn disk_failure(error: &io::Error) -> Failure {
    Failure::Disk {
        full: matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
        reason: error.to_string(),
    }
}
