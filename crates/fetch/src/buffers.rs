//! The buffers of large answers, used again.
//!
//! An answer's buffer is taken by a network thread and dropped by the archive's, a moment later and in another order. What
//! the allocator makes of that is fresh memory for nearly every large page, which the system clears first: half of all
//! page faults of a crawl (docs/decisions/0009-where-the-processor-goes.md). So a few of each size are kept here until
//! the next answer needs one.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::memory::FREE as MOST;

/// The smallest buffer that is kept; smaller ones the allocator has at hand. The largest is that of the largest answer that
/// needs no share of the memory: to one that does, room is given to measure.
const LEAST: usize = 64 << 10;

/// Two sizes to each doubling, so that no more than a third of a buffer stays empty.
const SIZES: usize = 2 * (MOST / LEAST).ilog2() as usize + 1;

/// Bytes that are kept of each size: seven megabytes in all.
const KEPT: usize = 1 << 20;

/// Those of the process.
pub(crate) static BUFFERS: Buffers = Buffers::new();

/// Buffers that wait for the next answer, by their sizes.
pub(crate) struct Buffers(Mutex<[Vec<Vec<u8>>; SIZES]>);

impl Buffers {
    const fn new() -> Self {
        Self(Mutex::new([const { Vec::new() }; SIZES]))
    }

    /// An empty buffer with at least this much room.
    pub(crate) fn take(&self, room: usize) -> Vec<u8> {
        let Some((place, size)) = size(room) else {
            return Vec::with_capacity(room);
        };
        let kept = self.lock()[place].pop();
        kept.unwrap_or_else(|| Vec::with_capacity(size))
    }

    /// Takes a buffer back, if it is of a size that is kept and there are not enough of them.
    pub(crate) fn give_back(&self, mut buffer: Vec<u8>) {
        let Some((place, size)) = size(buffer.capacity()) else {
            return;
        };
        if buffer.capacity() == size {
            buffer.clear();
            let kept = &mut self.lock()[place];
            if kept.len() < KEPT / size {
                kept.push(buffer);
            }
        }
    }

    /// What a buffer holds; it comes back when nobody needs that any more.
    pub(crate) fn lend(&'static self, buffer: Vec<u8>) -> Bytes {
        if size(buffer.capacity()).is_none() {
            return buffer.into();
        }
        Bytes::from_owner(Lent {
            buffer,
            owner: self,
        })
    }

    fn lock(&self) -> MutexGuard<'_, [Vec<Vec<u8>>; SIZES]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Lent {
    buffer: Vec<u8>,
    owner: &'static Buffers,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.owner.give_back(mem::take(&mut self.buffer));
    }
}

/// The smallest size that has this room, and its place among the sizes.
fn size(room: usize) -> Option<(usize, usize)> {
    if room <= LEAST / 4 * 3 || room > MOST {
        return None;
    }
    let double = room.next_power_of_two();
    let place = 2 * (double / LEAST).ilog2() as usize;
    if room <= double / 4 * 3 {
        Some((place - 1, double / 4 * 3))
    } else {
        Some((place, double))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_place() {
        assert_eq!(size(LEAST / 4 * 3), None);
        assert_eq!(size(LEAST), Some((0, LEAST)));
        assert_eq!(size(LEAST + 1), Some((1, LEAST / 2 * 3)));
        assert_eq!(size(MOST), Some((SIZES - 1, MOST)));
        assert_eq!(size(MOST + 1), None);
        for room in (LEAST / 4 * 3 + 1..=MOST).step_by(61) {
            let (place, taken) = size(room).unwrap();
            assert!(room <= taken && taken / 3 * 2 <= room, "{room}: {taken}");
            assert_eq!(size(taken), Some((place, taken)));
        }
    }

    #[test]
    fn a_buffer_is_used_again_when_all_of_its_answer_is_dropped() {
        static OWN: Buffers = Buffers::new();
        let mut buffer = OWN.take(MOST - 1);
        assert_eq!(buffer.capacity(), MOST);
        buffer.extend_from_slice(b"answer");
        let place = buffer.as_ptr();
        let answer = OWN.lend(buffer);
        let part = answer.slice(1..3);
        drop(answer);
        let other = OWN.take(MOST);
        assert_ne!(other.as_ptr(), place, "a part of it is still there");
        assert_eq!(part, b"ns"[..]);
        drop(part);
        let again = OWN.take(MOST);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        for _ in 0..9 {
            OWN.give_back(Vec::with_capacity(MOST));
        }
        assert_eq!(OWN.lock()[SIZES - 1].len(), KEPT / MOST);
    }
}
