//! Check-in: stores the results of a visit.

use super::checkout::has_more;
use super::core::Core;
use super::tables::{Inbox as _, Tables};
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, Then};

impl<T: Tables> Core<T> {
    /// Store one check-in. Returns `None` if its lease is lost.
    pub(crate) fn store_check_in(
        &mut self,
        now: i64,
        entry: CheckIn,
    ) -> Result<Option<CheckedIn>, StoreError> {
        let id = entry.lease as i64;
        let Some(key) = self.store.tables.lease_site(id)? else {
            return Ok(None);
        };
        let before = self
            .store
            .tables
            .site(key)?
            .ok_or_else(|| StoreError::damaged("site of lease", id))?;
        // Another node may have ended the lease, and given the site to another visit.
        if before.lease != Some(id) {
            self.store.tables.lease_delete(id)?;
            return Ok(None);
        }
        let mut site = before.clone();
        let (store, block) = (&self.store, &mut self.block);
        store.pages_append(&mut site, &entry.done, block)?;
        store.later_append(&mut site, &entry.done, entry.later, block)?;
        store.later_claim(&mut site, &entry.claims, now, false, block)?;
        store.keys_append(&mut site, &entry.keys)?;
        store.queue_append(&mut site, &entry.overflow, block)?;
        if let Some(facts) = &entry.facts {
            store.facts_write(&mut site, facts, block)?;
            let addresses = facts.addresses.as_ref();
            if let Some(address) = addresses.and_then(|addresses| addresses.list.first()) {
                store.tables.set_gate(key, *address);
            }
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
                self.store.tables.lease_renew(id, reply.expires)?;
            }
            then => {
                match then {
                    Then::Release { due } => site.free = due,
                    Then::Block => site.blocked = true,
                    Then::Keep { .. } => {}
                }
                self.store.tables.problem_end(key)?;
                reply.released = true;
                reply.expires = now;
                site.lease = None;
                self.leased = self.leased.saturating_sub(1);
                self.store.tables.lease_delete(id)?;
            }
        }
        self.store.window_keep(&mut site, keep_last)?;
        self.store.window_push(&mut site, &pages, &mut self.block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(Some(reply))
    }
}
