//! Remembers links that were sent recently, so that a popular link is not sent again and again.

/// Hash table without collision handling: a new link overwrites an older one in its slot. An overwritten link may be
/// sent again, as a duplicate in an inbox. No link is lost.
#[derive(Debug)]
pub(crate) struct RecentLinks {
    slots: Vec<u64>,
    /// Whether a link was added since the table was created.
    used: bool,
}

impl RecentLinks {
    pub(crate) fn new(links: usize) -> RecentLinks {
        RecentLinks {
            slots: vec![0; links.next_power_of_two()],
            used: false,
        }
    }

    /// Empty the table. An unused table is not written to, because the operating system has not yet assigned physical
    /// memory to its zeroed pages. For a small crawl it never assigns most of it.
    pub(crate) fn clear(&mut self) {
        if self.used {
            *self = RecentLinks::new(self.slots.len());
        }
    }

    /// Add a link. Returns false if it was sent recently.
    pub(crate) fn insert(&mut self, site: u64, path: u64) -> bool {
        let hash = (site ^ path.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let slot = (hash >> 32) as usize & (self.slots.len() - 1);
        self.used = true;
        std::mem::replace(&mut self.slots[slot], hash) != hash
    }
}
