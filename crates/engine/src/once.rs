//! Which of a page's hashes are there for the first time: its words, its links.
//!
//! A table made for one page, at most half full, and a hash lies where its last bits say or behind: cheaper than to sort
//! what a page repeats.

/// Hashes met so far. Hashes must be spread evenly, which those of text are.
pub(crate) struct Once {
    /// A power of two; 0 is an empty place.
    places: Vec<u64>,
}

impl Once {
    /// For so many hashes at most.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            places: vec![0; (2 * most).next_power_of_two()],
        }
    }

    /// Whether this hash was not met before. 0 and 1 are taken for one.
    #[inline]
    pub(crate) fn is_first(&mut self, hash: u64) -> bool {
        let hash = hash.max(1);
        let last = self.places.len() - 1;
        let mut at = hash as usize & last;
        while self.places[at] != 0 {
            if self.places[at] == hash {
                return false;
            }
            at = (at + 1) & last;
        }
        self.places[at] = hash;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn each_is_first_once(hashes in proptest::collection::vec(1..40_u64, 0..60), high in 0..3_u32) {
            let (mut once, mut known) = (Once::new(hashes.len()), HashSet::new());
            for hash in hashes {
                // Some differ in their upper bits alone, and all want the same place.
                let hash = hash << (20 * high);
                proptest::prop_assert_eq!(once.is_first(hash), known.insert(hash));
            }
        }
    }

    #[test]
    fn none_at_all_and_zero() {
        let mut once = Once::new(0);
        assert_eq!(once.places.len(), 1);
        once = Once::new(1);
        assert!(once.is_first(0));
        assert!(!once.is_first(0));
    }
}
