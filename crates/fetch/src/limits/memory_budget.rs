//! One budget of memory over all answers under way (invariant 8).
//!
//! Small answers are free: their number is bounded by the number of fetches. One that grows over [`FREE`] waits until the
//! length that it announces, or else its whole limit, fits the budget, and keeps its share until the answer is dropped. The wire and the decoders have a half
//! each; who waits for the second half never holds up one who waits for the first, so nobody waits in a circle.
//!
//! A decoder has a window of its own beside its output, up to 16 MiB of it (brotli; RFC 7932, 9.1): large bodies are
//! decoded by as many threads as there are cores, however many wait.
//!
//! The buffers of all but small answers are used again: fresh memory is cleared by the system first, page by page, which took as long
//! as reading the answer (docs/decisions/0009-where-the-processor-goes.md).

use std::{
    mem,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Bytes of a body that need no share.
pub(crate) const FREE: usize = 512 << 10;

/// Shares are counted in this many bytes.
const UNIT: u64 = 4 << 10;

/// Larger buffers are used again, and medium ones are made in multiples of this, so that others fit them.
pub(crate) const LENT: usize = 64 << 10;

/// Bytes of buffers that are kept for the next large answers, of over [`FREE`], and for the next medium ones.
const SPARE: usize = 8 << 20;
const SPARE_MEDIUM: usize = 4 << 20;

/// The largest buffer that is kept.
const LARGEST_SPARE: usize = SPARE / 2;

/// A part of the budget; given back when dropped.
pub(crate) type Share = OwnedSemaphorePermit;

/// The budget.
#[derive(Debug)]
pub(crate) struct Memory {
    wire: Half,
    decoded: Half,
    decoders: Semaphore,
    spares: Arc<Spares>,
    medium: Arc<Spares>,
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
            spares: Arc::default(),
            medium: Arc::default(),
        }
    }

    /// Where buffers of this size are kept.
    fn shelf(&self, size: usize) -> &Arc<Spares> {
        if size > FREE {
            &self.spares
        } else {
            &self.medium
        }
    }

    /// An empty buffer with at least so much room.
    pub(crate) fn buffer(&self, room: usize) -> Vec<u8> {
        if room <= LENT {
            return Vec::with_capacity(room);
        }
        // A medium answer would not be left in one that is more than half empty.
        let most = if room > FREE { usize::MAX } else { 2 * room };
        let spare = self.shelf(room).take(room, most);
        spare.unwrap_or_else(|| {
            let medium = room.next_multiple_of(LENT);
            Vec::with_capacity(if room > FREE { room } else { medium })
        })
    }

    /// Keeps a buffer that is not needed any more, if it is of a size that others need.
    pub(crate) fn take_back(&self, buffer: Vec<u8>) {
        if buffer.capacity() > LENT {
            self.shelf(buffer.capacity()).put(buffer);
        }
    }

    /// What a buffer holds that is kept for another answer when nobody needs this one any more.
    pub(crate) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        let spares = Arc::clone(self.shelf(buffer.capacity()));
        Bytes::from_owner(Lent { buffer, spares })
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

/// Buffers of answers that are gone, the smallest first.
#[derive(Debug, Default)]
struct Spares(Mutex<Vec<Vec<u8>>>);

impl Spares {
    /// The smallest that has so much room, and no more than `most`.
    fn take(&self, room: usize, most: usize) -> Option<Vec<u8>> {
        let mut spares = self.lock();
        let place = spares.iter().position(|spare| spare.capacity() >= room)?;
        (spares[place].capacity() <= most).then(|| spares.remove(place))
    }

    /// Keeps a buffer. Where they become too many, those go that serve the fewest answers: of the large ones the smallest, of the
    /// medium ones the largest.
    fn put(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() > LARGEST_SPARE {
            return;
        }
        buffer.clear();
        let mut spares = self.lock();
        let size = buffer.capacity();
        let place = spares.partition_point(|spare| spare.capacity() < size);
        spares.insert(place, buffer);
        let is_large = size > FREE;
        let most = if is_large { SPARE } else { SPARE_MEDIUM };
        while spares.iter().map(Vec::capacity).sum::<usize>() > most {
            let goes = if is_large { 0 } else { spares.len() - 1 };
            spares.remove(goes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer in a buffer that comes back.
struct Lent {
    buffer: Vec<u8>,
    spares: Arc<Spares>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.spares.put(mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_used_again_when_all_of_its_answer_is_dropped() {
        let memory = Memory::new(1 << 30);
        let mut buffer = memory.buffer(2 * FREE);
        buffer.extend_from_slice(b"answer");
        let place = buffer.as_ptr();
        let answer = memory.lend(buffer);
        let part = answer.slice(1..3);
        drop(answer);
        let other = memory.buffer(FREE + 1);
        assert_ne!(other.as_ptr(), place, "a part of it is still there");
        assert_eq!(part, b"ns"[..]);
        drop(part);
        let medium = memory.buffer(FREE);
        assert_eq!(medium.capacity(), FREE, "it is for larger ones");
        let larger = memory.buffer(2 * FREE + 1);
        assert_ne!(larger.as_ptr(), place, "too small for that");
        let again = memory.buffer(FREE + 1);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }

    #[test]
    fn medium_buffers_have_a_shelf_of_their_own() {
        let memory = Memory::new(1 << 30);
        assert_eq!(memory.buffer(LENT).capacity(), LENT);
        let buffer = memory.buffer(LENT + 1);
        let place = buffer.as_ptr();
        assert_eq!(buffer.capacity(), 2 * LENT, "so that others fit it");
        drop(memory.lend(buffer));
        drop(memory.lend(memory.buffer(FREE + 1)));
        let other = memory.buffer(LENT - 1 + 3 * LENT);
        assert_ne!(other.as_ptr(), place, "too small");
        let again = memory.buffer(2 * LENT);
        assert_eq!(again.as_ptr(), place);
        drop(memory.lend(memory.buffer(FREE)));
        assert_eq!(
            memory.buffer(FREE / 2 - 1).capacity(),
            FREE / 2,
            "too large"
        );
        let many: Vec<_> = (0..20).map(|_| memory.lend(memory.buffer(FREE))).collect();
        drop(many);
        let kept: usize = memory.medium.lock().iter().map(Vec::capacity).sum();
        assert_eq!(kept, SPARE_MEDIUM);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let memory = Memory::new(1 << 30);
        drop(memory.lend(Vec::with_capacity(LARGEST_SPARE + 1)));
        assert!(memory.spares.lock().is_empty());
        for megabytes in [1, 3, 2, 4, 1, 4] {
            drop(memory.lend(Vec::with_capacity(megabytes << 20)));
            let kept: usize = memory.spares.lock().iter().map(Vec::capacity).sum();
            assert!(kept <= SPARE, "{kept}");
        }
        let kept: Vec<_> = memory.spares.lock().iter().map(Vec::capacity).collect();
        assert_eq!(kept, [4 << 20, 4 << 20], "the largest serve most answers");
    }
}
