//! The threads that hash, ask for duplicates and compress. As many as [`crate::Options::threads`]; each takes the next
//! exchange from the queue and sends its records to the writer under a ticket.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::duplicates::DuplicateIndex;
use crate::record::id::RecordIds;
use crate::record::revisit::{Original, OriginalName, Revisit};
use crate::write::encoder::{Companions, Draft, Encoder};
use crate::write::state::WriteState;
use crate::write::writer::{TicketedWrite, WriteRequest};
use crate::{Exchange, Stored, VolumeError};

/// Exchanges that a worker takes at once, at most.
const BATCH: usize = 8;
/// How long a worker that found a single exchange waits for more.
const GATHERING: Duration = Duration::from_millis(1);

/// An exchange in the queue.
#[derive(Debug)]
pub(crate) struct QueuedExchange {
    pub(crate) exchange: Exchange,
    pub(crate) reply: oneshot::Sender<Result<Stored, VolumeError>>,
    pub(crate) room: OwnedSemaphorePermit,
}

/// What a worker needs.
pub(crate) struct Worker {
    pub(crate) shared: Arc<WriteState>,
    pub(crate) duplicates: Arc<DuplicateIndex>,
    pub(crate) ids: Arc<RecordIds>,
    pub(crate) encoder: Encoder,
    pub(crate) companions: Companions,
    pub(crate) minimum: usize,
    pub(crate) parcels: Sender<TicketedWrite>,
}

impl Worker {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self, jobs: &Mutex<Receiver<QueuedExchange>>) {
        let mut taken = Vec::with_capacity(BATCH);
        loop {
            take(&jobs.lock().expect("no panic while held"), &mut taken);
            if taken.is_empty() {
                return;
            }
            for job in taken.drain(..) {
                if let Err(error) = self.shared.alive() {
                    let _ = job.reply.send(Err(error)); // nobody has to wait for it
                    continue;
                }
                self.process(&job.exchange, job.reply, job.room);
            }
        }
    }

    fn process(
        &mut self,
        exchange: &Exchange,
        reply: oneshot::Sender<Result<Stored, VolumeError>>,
        room: OwnedSemaphorePermit,
    ) {
        let mut draft = Draft::new(exchange, self.ids.next(), self.minimum);
        draft.revisit = exchange
            .not_modified
            .map(|earlier| Revisit::not_modified(&self.duplicates.volumes, &earlier, &draft.url));
        let candidate = self.candidate(&draft);
        let mut ticket = Ticket {
            number: 0,
            parcels: &self.parcels,
            parcel: None,
        };
        match &candidate {
            Some(candidate) => {
                let key = draft.payload.key;
                let claim = self.duplicates.claim(key, candidate, &exchange.payload);
                ticket.number = claim.ticket;
                draft.revisit = claim.original.map(Revisit::same_payload);
            }
            None => ticket.number = self.duplicates.ticket(),
        }
        if let Some(revisit) = &draft.revisit {
            tracing::trace!(url = %draft.url, original = %revisit.original.url, "stored as revisit record");
        }
        let encoded = self.encoder.exchange(&draft, self.companions, &self.ids);
        let original = candidate.filter(|_| draft.revisit.is_none());
        ticket.parcel = Some(Box::new(WriteRequest {
            encoded,
            original,
            reply,
            room,
        }));
    }

    /// What later duplicates would refer to, when this payload takes part in the search.
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
            place: OnceLock::new(),
        }))
    }
}

/// Takes the next jobs, and none only when the queue is closed and empty. Whoever takes holds the queue while waiting: the
/// other workers wait behind it. Few at a time, so that they have something to do, too; and when there is but one, some
/// more are waited for, which wakes nobody when they come.
fn take(jobs: &Receiver<QueuedExchange>, taken: &mut Vec<QueuedExchange>) {
    taken.extend(jobs.recv());
    taken.extend(jobs.try_iter().take(BATCH - 1));
    if taken.len() == 1 {
        std::thread::sleep(GATHERING);
        taken.extend(jobs.try_iter().take(BATCH - 1));
    }
}

/// A place in the order of writing. Sent when dropped, come what may: the writer waits for every ticket.
struct Ticket<'worker> {
    number: u64,
    parcels: &'worker Sender<TicketedWrite>,
    parcel: Option<Box<WriteRequest>>,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // The writer outlives the workers, unless it panicked; then the receipts say that the archive is closed.
        let _ = self.parcels.send((self.number, self.parcel.take()));
    }
}
