//! Recognises repeated words or links of one page by their hashes.
//!
//! Uses a hash table with linear probing that is created for one page and is at most half full. This is faster than
//! sorting the hashes.

/// A set of hashes. They must be evenly distributed.
pub(crate) struct SeenHashes {
    /// The length is a power of two. 0 marks an empty slot.
    slots: Vec<u32>,
    count: usize,
}

impl SeenHashes {
    /// Creates a set with room for `expected` hashes.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            slots: vec![0; (2 * expected).next_power_of_two()],
            count: 0,
        }
    }

    /// Adds a hash. Returns true if it is new. 0 and 1 count as the same hash.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u32) -> bool {
        let hash = hash.max(1);
        let at = self.slot(hash);
        if self.slots[at] == hash {
            return false;
        }
        self.slots[at] = hash;
        self.count += 1;
        if 2 * self.count > self.slots.len() {
            self.grow();
        }
        true
    }

    /// The slot of a hash, or the empty slot where it belongs.
    #[inline]
    fn slot(&self, hash: u32) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at] != 0 && self.slots[at] != hash {
            at = (at + 1) & last;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![0; 4 * self.slots.len()];
        for hash in std::mem::replace(&mut self.slots, larger) {
            let at = self.slot(hash);
            self.slots[at] = hash;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn each_hash_is_new_once(hashes in proptest::collection::vec(1..90_u32, 0..200), high in 0..3_u32, expected in 0..60_usize) {
            let (mut seen, mut known) = (SeenHashes::new(expected), HashSet::new());
            for hash in hashes {
                // If `high` is above 0, the hashes differ only in their upper bits, so many of them have the same slot.
                let hash = hash << (12 * high);
                proptest::prop_assert_eq!(seen.insert(hash), known.insert(hash));
            }
        }
    }

    #[test]
    fn zero_is_a_hash() {
        let mut seen = SeenHashes::new(0);
        assert!(seen.insert(0));
        assert!(!seen.insert(0));
        assert!(seen.insert(2));
    }
}
