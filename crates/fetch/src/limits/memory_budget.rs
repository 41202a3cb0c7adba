//! The memory budget that all responses in flight share (invariant 8), and the pool of their buffers.
//!
//! Responses of up to [`MAX_UNBUDGETED`] bytes need no share of the budget, because the number of concurrent fetches
//! limits their memory. A larger response waits for a share of the size of its announced length, or of its size limit
//! if no length is announced. It keeps the share until it is dropped. Half of the budget is for bodies as received, and
//! half for decoded bodies. A fetch that holds a share of the first half may wait for a share of the second half, but
//! never the reverse. So fetches cannot deadlock.
//!
//! In addition to its output, a decoder needs up to 16 MiB of memory (brotli's sliding window; RFC 7932, 9.1).
//! Therefore the number of large bodies that are decoded at the same time is at most the number of cores.
//!
//! Buffers of more than [`MAX_UNPOOLED`] bytes are reused. The kernel clears new memory page by page, which took as
//! long as reading the response (docs/decisions/0009-where-the-processor-goes.md).

use std::{
    mem,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Bodies up to this many bytes need no share of the budget. Larger bodies and buffers are called *large*.
pub(crate) const MAX_UNBUDGETED: usize = 512 << 10;

/// The size of a share is rounded up to a multiple of this.
const UNIT: u64 = 4 << 10;

/// Buffers up to this many bytes are not pooled. Buffers between this size and [`MAX_UNBUDGETED`] are called *medium*.
/// Their capacity is a multiple of this size, so that other responses can use them.
pub(crate) const MAX_UNPOOLED: usize = 64 << 10;

/// Maximum bytes in the pool of large buffers.
const LARGE_POOL_SIZE: usize = 8 << 20;

/// Maximum bytes in the pool of medium buffers.
const MEDIUM_POOL_SIZE: usize = 4 << 20;

/// Maximum capacity of a pooled buffer. A larger buffer is freed after use.
const MAX_POOLED: usize = LARGE_POOL_SIZE / 2;

/// A share of the budget. It is released when dropped.
pub(crate) type MemoryShare = OwnedSemaphorePermit;

/// The memory budget of all fetches.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    wire: BudgetPool,
    decoded: BudgetPool,
    decoders: Semaphore,
    large_buffers: Arc<BufferPool>,
    medium_buffers: Arc<BufferPool>,
}

#[derive(Debug)]
struct BudgetPool {
    units: u32,
    available: Arc<Semaphore>,
}

impl BudgetPool {
    fn new(bytes: u64) -> BudgetPool {
        let units = (bytes / UNIT).clamp(1, u64::from(u32::MAX >> 4)) as u32;
        BudgetPool {
            units,
            available: Arc::new(Semaphore::new(units as usize)),
        }
    }

    /// Waits for a share of `bytes` bytes. If `bytes` is more than this pool has, waits until the whole pool is free.
    /// Cancel-safe.
    async fn acquire(&self, bytes: u64) -> MemoryShare {
        let units = bytes.div_ceil(UNIT).clamp(1, u64::from(self.units)) as u32;
        let share = Arc::clone(&self.available).acquire_many_owned(units).await;
        share.expect("the budget is never closed")
    }
}

impl MemoryBudget {
    pub(crate) fn new(bytes: u64) -> MemoryBudget {
        MemoryBudget {
            wire: BudgetPool::new(bytes / 2),
            decoded: BudgetPool::new(bytes / 2),
            decoders: Semaphore::new(available_parallelism().map_or(1, NonZero::get)),
            large_buffers: Arc::default(),
            medium_buffers: Arc::default(),
        }
    }

    /// The pool for buffers of this size.
    fn pool(&self, size: usize) -> &Arc<BufferPool> {
        if size > MAX_UNBUDGETED {
            &self.large_buffers
        } else {
            &self.medium_buffers
        }
    }

    /// An empty buffer with a capacity of at least `size`, from the pool if possible.
    pub(crate) fn buffer(&self, size: usize) -> Vec<u8> {
        if size <= MAX_UNPOOLED {
            return Vec::with_capacity(size);
        }
        let is_large = size > MAX_UNBUDGETED;
        // If the buffer were larger, it would be more than half empty, and the response would be copied out of it.
        let max_capacity = if is_large { usize::MAX } else { 2 * size };
        let pooled = self.pool(size).take(size, max_capacity);
        pooled.unwrap_or_else(|| {
            let rounded = size.next_multiple_of(MAX_UNPOOLED);
            Vec::with_capacity(if is_large { size } else { rounded })
        })
    }

    /// Returns an unused buffer to its pool.
    pub(crate) fn recycle(&self, buffer: Vec<u8>) {
        if buffer.capacity() > MAX_UNPOOLED {
            self.pool(buffer.capacity()).put(buffer);
        }
    }

    /// The contents of a buffer. The buffer returns to its pool when the last reference is dropped.
    pub(crate) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        let pool = Arc::clone(self.pool(buffer.capacity()));
        Bytes::from_owner(PooledBuffer { buffer, pool })
    }

    /// The size of the half of the budget that received bodies share.
    pub(crate) fn max_wire(&self) -> u64 {
        u64::from(self.wire.units) * UNIT
    }

    /// Waits for a share for a received body of up to `bytes` bytes.
    pub(crate) async fn wire(&self, bytes: u64) -> MemoryShare {
        self.wire.acquire(bytes).await
    }

    /// Waits for a share for a decoded body of up to `bytes` bytes.
    pub(crate) async fn decoded(&self, bytes: u64) -> MemoryShare {
        self.decoded.acquire(bytes).await
    }

    /// Waits for a permit to decode on a blocking thread. The caller drops it when the decoder ends.
    pub(crate) async fn decoder(&self) -> SemaphorePermit<'_> {
        let permit = self.decoders.acquire().await;
        permit.expect("the budget is never closed")
    }
}

/// Free buffers, sorted by capacity.
#[derive(Debug, Default)]
struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    /// Takes the smallest buffer with a capacity of at least `size`. `None` if its capacity exceeds `max_capacity`.
    fn take(&self, size: usize, max_capacity: usize) -> Option<Vec<u8>> {
        let mut buffers = self.lock();
        let index = buffers.iter().position(|free| free.capacity() >= size)?;
        (buffers[index].capacity() <= max_capacity).then(|| buffers.remove(index))
    }

    /// Adds a buffer. If the pool becomes too large, frees the buffers that the fewest responses can use. In the
    /// pool of large buffers these are the smallest ones, in the pool of medium buffers the largest ones.
    fn put(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() > MAX_POOLED {
            return;
        }
        buffer.clear();
        let mut buffers = self.lock();
        let size = buffer.capacity();
        let index = buffers.partition_point(|free| free.capacity() < size);
        buffers.insert(index, buffer);
        let is_large = size > MAX_UNBUDGETED;
        let max_size = if is_large {
            LARGE_POOL_SIZE
        } else {
            MEDIUM_POOL_SIZE
        };
        while buffers.iter().map(Vec::capacity).sum::<usize>() > max_size {
            let evicted = if is_large { 0 } else { buffers.len() - 1 };
            buffers.remove(evicted);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer in use. Dropping it returns the buffer to its pool.
struct PooledBuffer {
    buffer: Vec<u8>,
    pool: Arc<BufferPool>,
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.put(mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_reused_after_the_last_slice_of_its_response_is_dropped() {
        let memory = MemoryBudget::new(1 << 30);
        let mut buffer = memory.buffer(2 * MAX_UNBUDGETED);
        buffer.extend_from_slice(b"answer");
        let start = buffer.as_ptr();
        let response = memory.lend(buffer);
        let slice = response.slice(1..3);
        drop(response);
        let other = memory.buffer(MAX_UNBUDGETED + 1);
        assert_ne!(other.as_ptr(), start, "a slice of it is still in use");
        assert_eq!(slice, b"ns"[..]);
        drop(slice);
        let medium = memory.buffer(MAX_UNBUDGETED);
        assert_eq!(medium.capacity(), MAX_UNBUDGETED, "another pool");
        let larger = memory.buffer(2 * MAX_UNBUDGETED + 1);
        assert_ne!(larger.as_ptr(), start, "the buffer is too small");
        let again = memory.buffer(MAX_UNBUDGETED + 1);
        assert_eq!((again.as_ptr(), again.len()), (start, 0));
    }

    #[test]
    fn medium_buffers_have_their_own_pool() {
        let memory = MemoryBudget::new(1 << 30);
        assert_eq!(memory.buffer(MAX_UNPOOLED).capacity(), MAX_UNPOOLED);
        let buffer = memory.buffer(MAX_UNPOOLED + 1);
        let start = buffer.as_ptr();
        assert_eq!(buffer.capacity(), 2 * MAX_UNPOOLED, "rounded up");
        drop(memory.lend(buffer));
        drop(memory.lend(memory.buffer(MAX_UNBUDGETED + 1)));
        let other = memory.buffer(MAX_UNPOOLED - 1 + 3 * MAX_UNPOOLED);
        assert_ne!(other.as_ptr(), start, "the buffer is too small");
        let again = memory.buffer(2 * MAX_UNPOOLED);
        assert_eq!(again.as_ptr(), start);
        drop(memory.lend(memory.buffer(MAX_UNBUDGETED)));
        assert_eq!(
            memory.buffer(MAX_UNBUDGETED / 2 - 1).capacity(),
            MAX_UNBUDGETED / 2,
            "the pooled buffer is too large"
        );
        let many: Vec<_> = (0..20)
            .map(|_| memory.lend(memory.buffer(MAX_UNBUDGETED)))
            .collect();
        drop(many);
        let kept: usize = memory.medium_buffers.lock().iter().map(Vec::capacity).sum();
        assert_eq!(kept, MEDIUM_POOL_SIZE);
    }

    #[test]
    fn the_pool_of_large_buffers_is_bounded() {
        let memory = MemoryBudget::new(1 << 30);
        drop(memory.lend(Vec::with_capacity(MAX_POOLED + 1)));
        assert!(memory.large_buffers.lock().is_empty());
        for megabytes in [1, 3, 2, 4, 1, 4] {
            drop(memory.lend(Vec::with_capacity(megabytes << 20)));
            let kept: usize = memory.large_buffers.lock().iter().map(Vec::capacity).sum();
            assert!(kept <= LARGE_POOL_SIZE, "{kept}");
        }
        let kept: Vec<_> = memory
            .large_buffers
            .lock()
            .iter()
            .map(Vec::capacity)
            .collect();
        assert_eq!(kept, [4 << 20, 4 << 20], "the smallest are freed first");
    }
}
