//! The end of a node: it leaves, or another node declares it dead.

use std::time::Duration;

use super::tables::ClusterTables;
use crate::sites::checkout::{AbandonedLease, MAX_RECLAIMED};
use crate::sites::core::Core;
use crate::store_error::StoreError;

/// The earliest time of the next request to a site or address whose last request may have been sent just now.
pub(crate) fn after_pause(now: i64, pause: Duration) -> i64 {
    now + pause.as_millis() as i64
}

impl<T: ClusterTables> Core<T> {
    /// Declare a node dead, and give its sites back. Returns the number of sites.
    pub(crate) fn bury(&mut self, now: i64, dead: i64, pause: Duration) -> Result<u64, StoreError> {
        let tables = &self.store.tables;
        tables.end_node(dead, None)?;
        let sites = tables.sites_of(dead)?;
        tracing::warn!(node = dead, sites = sites.len(), "a node is dead");
        // The node may have sent a request to any of its sites just before it ended.
        let free = after_pause(now, pause);
        let count = sites.len() as u64;
        for before in sites {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(free);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        self.store.tables.orphan_gates(dead, free)?;
        self.store.tables.fold_totals(dead)?;
        Ok(count)
    }

    /// End the leases of this node that have expired.
    pub(crate) fn end_expired(&mut self, now: i64) -> Result<(), StoreError> {
        let tables = &self.store.tables;
        let expired = tables.own_leases().borrow().expired(now, MAX_RECLAIMED);
        let sites: Vec<i64> = expired.iter().map(|lease| lease.site).collect();
        tables.lock_sites(&sites)?;
        for lease in expired {
            self.reclaim(now, lease)?;
        }
        Ok(())
    }

    /// Release all leases of this node. Their sites are due at `free` at the earliest.
    pub(crate) fn release_own(&mut self, now: i64, free: i64) -> Result<u64, StoreError> {
        let tables = &self.store.tables;
        let leases = tables.own_leases().borrow().expired(i64::MAX, usize::MAX);
        let sites: Vec<i64> = leases.iter().map(|lease| lease.site).collect();
        tables.lock_sites(&sites)?;
        for lease in &leases {
            let since = lease.since.max(free);
            self.reclaim(now, AbandonedLease { since, ..*lease })?;
        }
        Ok(leases.len() as u64)
    }
}
