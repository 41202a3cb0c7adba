//! Which of a page's hashes are there for the first time: its words, its links.
//!
//! A table made for one page, at most half full, and a hash lies where its last bits say or behind: cheaper than to sort
//! what a page repeats.

/// Hashes met so far. They must be spread evenly, as those of text are.
pub(crate) struct Once {
    /// A power of two; 0 is an empty place.
    places: Vec<u32>,
    met: usize,
}

impl Once {
    /// For so many hashes without growing.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            places: vec![0; (2 * expected).next_power_of_two()],
            met: 0,
        }
    }

    /// Whether this hash was not met before. 0 and 1 are taken for one.
    #[inline]
    pub(crate) fn is_first(&mut self, hash: u32) -> bool {
        let hash = hash.max(1);
        let at = self.place(hash);
        if self.places[at] == hash {
            return false;
        }
        self.places[at] = hash;
        self.met += 1;
        if 2 * self.met > self.places.len() {
            self.grow();
        }
        true
    }

    /// Where the hash is, or would be.
    #[inline]
    fn place(&self, hash: u32) -> usize {
        let last = self.places.len() - 1;
        let mut at = hash as usize & last;
        while self.places[at] != 0 && self.places[at] != hash {
            at = (at + 1) & last;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![0; 4 * self.places.len()];
        for hash in std::mem::replace(&mut self.places, larger) {
            let at = self.place(hash);
            self.places[at] = hash;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn each_is_first_once(hashes in proptest::collection::vec(1..90_u32, 0..200), high in 0..3_u32, expected in 0..60_usize) {
            let (mut once, mut known) = (Once::new(expected), HashSet::new());
            for hash in hashes {
                // Some differ in their upper bits alone, and all want the same place.
                let hash = hash << (12 * high);
                proptest::prop_assert_eq!(once.is_first(hash), known.insert(hash));
            }
        }
    }

    #[test]
    fn zero_is_a_hash_too() {
        let mut once = Once::new(0);
        assert!(once.is_first(0));
        assert!(!once.is_first(0));
        assert!(once.is_first(2));
    }
}
