//! Groups of check-ins that may be sent twice, and nodes that continue the work of an earlier process.
//!
//! A node numbers its groups. The transaction that stores a group also stores the group's number. So a node that does not
//! know whether a group was stored can send the group again. The next process that uses the folder can do so too, because
//! it takes over the leases of this node.

use std::time::Duration;

use super::nodes::after_pause;
use super::tables::ClusterTables;
use crate::sites::checkout::AbandonedLease;
use crate::sites::core::Core;
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, LeaseLost};

impl<T: ClusterTables> Core<T> {
    /// End the leases of check-ins that were stored before. Their visits did not get the replies, so they cannot go on.
    pub(crate) fn end_leases_of(
        &mut self,
        now: i64,
        batch: &[CheckIn],
        pause: Duration,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let free = after_pause(now, pause);
        let mut replies = Vec::with_capacity(batch.len());
        for entry in batch {
            let lease = entry.lease;
            replies.push(Err(LeaseLost { lease }));
            let id = lease as i64;
            if let Some(site) = self.store.tables.lease_site(id)? {
                // The visit may just have sent a request.
                let since = free;
                self.reclaim(now, AbandonedLease { id, site, since })?;
            }
        }
        Ok(replies)
    }

    /// Take the leases of a node whose process has ended. Returns the number of its newest stored group.
    pub(crate) fn take_leases_of(
        &mut self,
        node: i64,
        now: i64,
        pause: Duration,
    ) -> Result<i64, StoreError> {
        let (expires, free) = (self.expiry(now), after_pause(now, pause));
        let tables = &self.store.tables;
        let own = tables.node();
        let mut old = node;
        let is_alive = loop {
            let Some((successor, alive)) = tables.node_state(old)? else {
                return Ok(0);
            };
            // An earlier successor may have ended too.
            match successor {
                Some(successor) if successor != own => old = successor,
                _ => break alive && old != own,
            }
        };
        let number = tables.newest_number(old)?;
        tables.take_number(number)?;
        if !is_alive {
            return Ok(number);
        }
        let leases = tables.move_leases(old, free, expires)?;
        let sites = leases.len();
        for (id, lease) in leases {
            tables.own_leases().borrow_mut().set(id, Some(lease));
        }
        tables.orphan_gates(old, free)?;
        tables.fold_totals(old)?;
        tables.end_node(old, Some(own))?;
        tracing::info!(
            node = old,
            sites,
            "the leases of an earlier process were taken over"
        );
        Ok(number)
    }
}
