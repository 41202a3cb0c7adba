//! Check-in: one atomic batch for each lease, many in one transaction.
//!
//! The order of the pieces does not matter to the disk: they become durable together or not at all.

use super::Embedded;
use super::checkout::has_more;
use super::gather::Mark;
use super::store_error::StoreError;
use crate::{CheckIn, CheckedIn, LeaseLost, Then};

/// Bytes of links in one journal entry, but for what one check-in brings; few in tests, so that they see several.
const BULK: usize = if cfg!(test) { 200 } else { 64 << 20 };

impl Embedded {
    pub(super) fn take_in(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let mut mark = self.inbox.mark();
        let (mut links, mut paced) = (0, 0);
        let mut answers = Vec::with_capacity(batch.size_hint().0);
        for entry in batch {
            let lease = entry.lease;
            let outside = entry.outside.len();
            let answer = self.take_one(now, entry)?;
            if answer.is_some() {
                links += outside;
            }
            answers.push(answer.ok_or(LeaseLost { lease }));
            // A group has no bound, what is kept in memory and in one journal entry has.
            if self.inbox.bytes_since(mark) >= BULK {
                self.write_links(now, mark, links - paced)?;
                (mark, paced) = (self.inbox.mark(), links);
            }
        }
        self.write_links(now, mark, links - paced)?;
        self.inbox.merge(&self.store, false)?;
        Ok(answers)
    }

    /// Make the links since `mark` durable with this transaction, and write as much of a run as they ask for.
    fn write_links(&mut self, now: i64, mark: Mark, links: usize) -> Result<(), StoreError> {
        self.inbox.journal(&self.store, mark, &mut self.block)?;
        self.inbox.pace(&self.store, &mut self.totals, now, links)
    }

    /// Store one entry; `None`: its lease is lost.
    fn take_one(&mut self, now: i64, entry: CheckIn) -> Result<Option<CheckedIn>, StoreError> {
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

        let (left, mut pages) = entry.window.into_parts();
        let mut answer = CheckedIn::default();
        match entry.then {
            Then::Keep { want } if !site.blocked => {
                let more = &mut answer.more;
                store.later_take(&mut site, now, want, more, block)?;
                let want = want - more.len();
                store.queue_take(&mut site, want, more, block)?;
                pages.extend_from_slice(more);
                answer.has_more = has_more(&site, now, store.horizon);
                answer.expires = self.expiry(now);
                self.store.lease_renew(id, answer.expires)?;
            }
            then => {
                match then {
                    Then::Release { due } => site.free = due,
                    Then::Block => site.blocked = true,
                    Then::Keep { .. } => {}
                }
                answer.released = true;
                answer.expires = now;
                site.lease = None;
                self.leased = self.leased.saturating_sub(1);
                self.store.lease_delete(id)?;
            }
        }
        self.store.window_keep(&mut site, left)?;
        self.store.window_push(&mut site, &pages, &mut self.block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(Some(answer))
    }
}
