//! The worker threads: they take exchanges from the queue, hash the payload, look for a duplicate, and encode and
//! compress the records. [`crate::Options::threads`] sets their number.
//!
//! The duplicate index gives every exchange a ticket number. The writer appends exchanges in the order of their
//! tickets.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::duplicates::DuplicateIndex;
use crate::record::id::RecordIds;
use crate::record::revisit::{Original, OriginalName, Revisit};
use crate::write::encoder::{Companions, Draft, Encoder};
use crate::write::pack::PackedResponse;
use crate::write::state::WriteState;
use crate::write::writer::{TicketedWrite, WriteRequest};
use crate::{Exchange, Stored, VolumeError};

/// Maximum number of exchanges that a worker takes from the queue at once.
const MAX_BATCH: usize = 8;
/// A worker that found only one exchange waits for this time, so that more exchanges can arrive.
const BATCH_DELAY: Duration = Duration::from_millis(1);

/// An exchange in the queue.
#[derive(Debug)]
pub(crate) struct QueuedExchange {
    pub(crate) exchange: Exchange,
    /// The response record, if the body is in a file.
    pub(crate) packed: Option<Box<PackedResponse>>,
    pub(crate) reply: oneshot::Sender<Result<Stored, VolumeError>>,
    /// The part of the queue size that the exchange takes.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// One worker thread.
pub(crate) struct Worker {
    pub(crate) state: Arc<WriteState>,
    pub(crate) duplicates: Arc<DuplicateIndex>,
    pub(crate) ids: Arc<RecordIds>,
    pub(crate) encoder: Encoder,
    pub(crate) companions: Companions,
    /// The value of [`crate::Options::dedupe_minimum`].
    pub(crate) dedupe_minimum: usize,
    pub(crate) writer: Sender<TicketedWrite>,
}

impl Worker {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self, queue: &Mutex<Receiver<QueuedExchange>>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        loop {
            take_batch(&queue.lock().expect("lock is not poisoned"), &mut batch);
            if batch.is_empty() {
                return;
            }
            for queued in batch.drain(..) {
                if let Err(error) = self.state.ensure_not_failed() {
                    let _ = queued.reply.send(Err(error)); // the receipt may have been dropped
                    continue;
                }
                self.process(&queued.exchange, queued.packed, queued.reply, queued.permit);
            }
        }
    }

    fn process(
        &mut self,
        exchange: &Exchange,
        packed: Option<Box<PackedResponse>>,
        reply: oneshot::Sender<Result<Stored, VolumeError>>,
        permit: OwnedSemaphorePermit,
    ) {
        let changed = match packed {
            Some(_) => None,
            None => exchange.with_stored_length(),
        };
        let exchange = changed.as_ref().unwrap_or(exchange);
        let mut draft = match &packed {
            Some(packed) => Draft::of_large(exchange, packed.id, packed.payload.clone()),
            None => Draft::new(exchange, self.ids.next(), self.dedupe_minimum),
        };
        draft.revisit = exchange
            .not_modified
            .map(|earlier| Revisit::not_modified(&self.duplicates.volumes, &earlier, &draft.url));
        let candidate = self.candidate(&draft);
        let mut ticket = Ticket {
            number: 0,
            writer: &self.writer,
            request: None,
        };
        match &candidate {
            Some(candidate) => {
                let key = draft.payload.key;
                let claim = self.duplicates.claim(key, candidate, &exchange.payload);
                ticket.number = claim.ticket;
                draft.revisit = claim.original.map(Revisit::same_payload);
            }
            None => ticket.number = self.duplicates.take_ticket(),
        }
        if let Some(revisit) = &draft.revisit {
            tracing::trace!(url = %draft.url, original = %revisit.original.url, "stored as revisit record");
        }
        let encoded = self
            .encoder
            .exchange(&draft, self.companions, &self.ids, packed);
        let original = candidate.filter(|_| draft.revisit.is_none());
        ticket.request = Some(Box::new(WriteRequest {
            encoded,
            original,
            reply,
            permit,
        }));
    }

    /// The original for later duplicates, if this payload is stored. `None` if the payload is excluded from duplicate
    /// detection.
    fn candidate(&self, draft: &Draft<'_>) -> Option<Arc<Original>> {
        if !self.duplicates.enabled() || draft.revisit.is_some() {
            return None;
        }
        let form = draft.payload.form?;
        Some(Arc::new(Original {
            name: OriginalName::Written {
                id: draft.id,
                time_ms: draft.exchange.time_ms,
            },
            url: draft.url.clone(),
            digest: draft.payload.stored?,
            form,
            position: OnceLock::new(),
        }))
    }
}

/// Waits for the next exchanges. The batch stays empty only if the queue is closed and empty.
///
/// The caller holds the lock of the queue while it waits, so the other workers wait for the lock. Batches are small, so
/// that every worker gets some exchanges. If the batch has only one exchange, the worker sleeps for [`BATCH_DELAY`].
/// Exchanges that arrive in this time do not wake a thread, which saves processor time.
fn take_batch(queue: &Receiver<QueuedExchange>, batch: &mut Vec<QueuedExchange>) {
    batch.extend(queue.recv());
    batch.extend(queue.try_iter().take(MAX_BATCH - 1));
    if batch.len() == 1 {
        std::thread::sleep(BATCH_DELAY);
        batch.extend(queue.try_iter().take(MAX_BATCH - 1));
    }
}

/// A position in the order of writing. The ticket is sent to the writer when it is dropped, even if a panic drops it,
/// because the writer waits for every ticket number.
struct Ticket<'worker> {
    number: u64,
    writer: &'worker Sender<TicketedWrite>,
    request: Option<Box<WriteRequest>>,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // This fails only if the writer panicked. Then the receipts resolve to `VolumeError::Closed`.
        let _ = self.writer.send((self.number, self.request.take()));
    }
}
