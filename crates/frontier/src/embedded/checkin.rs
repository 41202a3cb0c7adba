//! Check-in: stores the results of visits, many check-ins in one transaction.
//!
//! The check-ins of a batch become durable together or not at all.

use super::Embedded;
use super::checkout::has_more;
use super::gather::GatherPosition;
use super::store_error::StoreError;
use crate::{CheckIn, CheckedIn, LeaseLost, Then};

/// A journal entry ends when its links have this many bytes. The limit is small in tests, so that a batch has several
/// entries.
const JOURNAL_ENTRY: usize = if cfg!(test) { 200 } else { 64 << 20 };

impl Embedded {
    pub(super) fn store_check_ins(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let mut start = self.inbox.position();
        let (mut links, mut written) = (0, 0);
        let mut replies = Vec::with_capacity(batch.size_hint().0);
        for entry in batch {
            let lease = entry.lease;
            let outside = entry.outside.len();
            let reply = self.store_check_in(now, entry)?;
            if reply.is_some() {
                links += outside;
            }
            replies.push(reply.ok_or(LeaseLost { lease }));
            // The size of a batch is not limited, so its links may need several journal entries.
            if self.inbox.bytes_since(start) >= JOURNAL_ENTRY {
                self.write_links(now, start, links - written)?;
                (start, written) = (self.inbox.position(), links);
            }
        }
        self.write_links(now, start, links - written)?;
        self.inbox.merge(&self.store, false)?;
        Ok(replies)
    }

    /// Write the links that were gathered since `start` to the journal. Then write the next part of the link run in progress. The more
    /// links the check-ins since `start` contained (`links`), the larger is this part.
    pub(super) fn write_links(
        &mut self,
        now: i64,
        start: GatherPosition,
        links: usize,
    ) -> Result<(), StoreError> {
        self.inbox.journal(&self.store, start, &mut self.block)?;
        self.inbox
            .write_in_pace(&self.store, &mut self.totals, now, links)
    }

    /// Store one check-in. Returns `None` if its lease is lost.
    fn store_check_in(
        &mut self,
        now: i64,
        entry: CheckIn,
    ) -> Result<Option<CheckedIn>, StoreError> {
        let id = entry.lease as i64;
        let Some(key) = self.store.lease_site(id)? else {
            return Ok(None);
        };
        let before = self
            .store
            .site(key)?
            .ok_or_else(|| StoreError::damaged("site of lease", id))?;
        let mut site = before.clone();
        let (store, block) = (&self.store, &mut self.block);
        store.pages_append(&mut site, &entry.done, block)?;
        store.later_append(&mut site, &entry.done, entry.later, block)?;
        store.later_claim(&mut site, &entry.claims, now, false, block)?;
        store.keys_append(&mut site, &entry.keys)?;
        store.queue_append(&mut site, &entry.overflow, block)?;
        if let Some(facts) = &entry.facts {
            store.facts_write(&mut site, facts, block)?;
        }
        self.totals.records(&entry.done);
        self.inbox.send(&entry.outside, &mut self.totals);

        let (keep_last, mut pages) = entry.window.into_parts();
        let mut reply = CheckedIn::default();
        match entry.then {
            Then::Keep { want } if !site.blocked => {
                let more = &mut reply.more;
                store.later_take(&mut site, now, want, more, block)?;
                let want = want - more.len();
                store.queue_take(&mut site, want, more, block)?;
                pages.extend_from_slice(more);
                reply.has_more = has_more(&site, now, store.horizon);
                reply.expires = self.expiry(now);
                self.store.lease_renew(id, reply.expires)?;
            }
            then => {
                match then {
                    Then::Release { due } => site.free = due,
                    Then::Block => site.blocked = true,
                    Then::Keep { .. } => {}
                }
                self.end_problem(key)?;
                reply.released = true;
                reply.expires = now;
                site.lease = None;
                self.leased = self.leased.saturating_sub(1);
                self.store.lease_delete(id)?;
            }
        }
        self.store.window_keep(&mut site, keep_last)?;
        self.store.window_push(&mut site, &pages, &mut self.block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(Some(reply))
    }
}
