//! Duplicate test for the links of one site.

use crate::seen::Seen;

/// Set of keys that is reused for many sites. Up to [`Unique::MAX_LISTED`] keys are kept in a list and compared one by
/// one; more keys are kept in a hash table. Most sites have few keys, so most sites do not pay for creating a hash
/// table.
#[derive(Debug, Default)]
pub(crate) struct Unique {
    list: Vec<u64>,
    table: Option<Seen>,
}

impl Unique {
    const MAX_LISTED: usize = 24;

    /// Empty the set, and prepare it for about this number of keys.
    pub(crate) fn begin(&mut self, keys: usize) {
        self.list.clear();
        self.table =
            (keys > Self::MAX_LISTED).then(|| Seen::with_capacity_and_hasher(keys, <_>::default()));
    }

    /// Add a key. Returns false if it is already in the set.
    pub(crate) fn is_new(&mut self, key: u64) -> bool {
        if let Some(table) = &mut self.table {
            return table.insert(key);
        }
        if self.list.contains(&key) {
            return false;
        }
        self.list.push(key);
        if self.list.len() > Self::MAX_LISTED {
            self.table = Some(self.list.drain(..).collect());
        }
        true
    }
}
