//! The first of equal keys among the links of one site.

use crate::seen::Seen;

/// Few keys are compared one by one: emptying a set costs what it once held, and most sites have few.
#[derive(Debug, Default)]
pub(super) struct Unique {
    few: Vec<u64>,
    many: Option<Seen>,
}

impl Unique {
    const FEW: usize = 24;

    /// For about so many keys.
    pub(super) fn begin(&mut self, keys: usize) {
        self.few.clear();
        self.many =
            (keys > Self::FEW).then(|| Seen::with_capacity_and_hasher(keys, <_>::default()));
    }

    pub(super) fn is_new(&mut self, key: u64) -> bool {
        if let Some(many) = &mut self.many {
            return many.insert(key);
        }
        if self.few.contains(&key) {
            return false;
        }
        self.few.push(key);
        if self.few.len() > Self::FEW {
            self.many = Some(self.few.drain(..).collect());
        }
        true
    }
}
