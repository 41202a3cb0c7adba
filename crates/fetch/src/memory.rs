//! One budget of memory over all answers under way (invariant 8).
//!
//! Small answers are free: their number is bounded by the number of fetches. One that grows over [`FREE`] waits until the
//! length that it announces, or else its whole limit, fits the budget, and keeps its share until the answer is dropped. The wire and the decoders have a half
//! each; who waits for the second half never holds up one who waits for the first, so nobody waits in a circle.
//!
//! A decoder has a window of its own beside its output, up to 16 MiB of it (brotli; RFC 7932, 9.1): large bodies are
//! decoded by as many threads as there are cores, however many wait.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Bytes of a body that need no share.
pub(crate) const FREE: usize = 512 << 10;

/// Shares are counted in this many bytes.
const UNIT: u64 = 4 << 10;

/// A part of the budget; given back when dropped.
pub(crate) type Share = OwnedSemaphorePermit;

/// The budget.
#[derive(Debug)]
pub(crate) struct Memory {
    wire: Half,
    decoded: Half,
    decoders: Semaphore,
}

#[derive(Debug)]
struct Half {
    units: u32,
    left: Arc<Semaphore>,
}

impl Half {
    fn new(bytes: u64) -> Half {
        let units = (bytes / UNIT).clamp(1, u64::from(u32::MAX >> 4)) as u32;
        Half {
            units,
            left: Arc::new(Semaphore::new(units as usize)),
        }
    }

    /// Waits for room for `bytes`, or for the whole of it where that is less. May be cancelled.
    async fn share(&self, bytes: u64) -> Share {
        let units = bytes.div_ceil(UNIT).clamp(1, u64::from(self.units)) as u32;
        let share = Arc::clone(&self.left).acquire_many_owned(units).await;
        share.expect("the budget is never closed")
    }
}

impl Memory {
    pub(crate) fn new(bytes: u64) -> Memory {
        Memory {
            wire: Half::new(bytes / 2),
            decoded: Half::new(bytes / 2),
            decoders: Semaphore::new(available_parallelism().map_or(1, NonZero::get)),
        }
    }

    /// For a body on the wire that may grow to so many bytes.
    pub(crate) async fn wire(&self, bytes: u64) -> Share {
        self.wire.share(bytes).await
    }

    /// For a decoded body that may grow to so many bytes.
    pub(crate) async fn decoded(&self, bytes: u64) -> Share {
        self.decoded.share(bytes).await
    }

    /// For a decoder on a thread of its own. Held while it works, and for nothing that waits.
    pub(crate) async fn decoder(&self) -> SemaphorePermit<'_> {
        let permit = self.decoders.acquire().await;
        permit.expect("the budget is never closed")
    }
}
