//! Check-in: stores the results of visits, many check-ins in one transaction.
//!
//! The check-ins of a batch become durable together or not at all.

use super::Embedded;
use crate::links::gather::GatherPosition;
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, LeaseLost};

/// A journal entry ends when its links have this many bytes. The limit is small in tests, so that a batch has several
/// entries.
const JOURNAL_ENTRY: usize = if cfg!(test) { 200 } else { 64 << 20 };

impl Embedded {
    pub(super) fn store_check_ins(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let mut start = self.core.inbox.position();
        let (mut links, mut written) = (0, 0);
        let mut replies = Vec::with_capacity(batch.size_hint().0);
        for entry in batch {
            let lease = entry.lease;
            let outside = entry.outside.len();
            let reply = self.core.store_check_in(now, entry)?;
            if reply.is_some() {
                links += outside;
            }
            replies.push(reply.ok_or(LeaseLost { lease }));
            // The size of a batch is not limited, so its links may need several journal entries.
            if self.core.inbox.bytes_since(start) >= JOURNAL_ENTRY {
                self.write_links(now, start, links - written)?;
                (start, written) = (self.core.inbox.position(), links);
            }
        }
        self.write_links(now, start, links - written)?;
        self.core.inbox.merge(&self.core.store, false)?;
        Ok(replies)
    }

    /// Write the links that were gathered since `start` to the journal. Then write the next part of the link run in
    /// progress. `links` is the number of links in the check-ins since `start`. That part grows with this number.
    pub(super) fn write_links(
        &mut self,
        now: i64,
        start: GatherPosition,
        links: usize,
    ) -> Result<(), StoreError> {
        let core = &mut self.core;
        core.inbox.journal(&core.store, start, &mut core.block)?;
        core.inbox
            .write_in_pace(&core.store, &mut core.totals, now, links)
    }
}
