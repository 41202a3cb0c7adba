//! Groups of check-ins that may be sent twice, and nodes that continue the work of an earlier process.
//!
//! A node numbers its groups. The transaction that stores a group also writes the group's number to the table `taken`.
//! So a node that does not know whether a group was stored can send the group again. The next process that uses the
//! folder can do so too, because it takes over the leases of this node.

use super::Postgres;
use super::tables::OwnLease;
use crate::sites::checkout::AbandonedLease;
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{CheckIn, CheckedIn, LeaseLost};

impl Postgres {
    /// Whether an earlier call has stored the current group. If not, write its number.
    pub(super) fn was_stored_before(&self) -> Result<bool, StoreError> {
        let Some(number) = self.group else {
            return Ok(false);
        };
        let tables = &self.core.store.tables;
        let sql = "UPDATE taken SET number = $2 WHERE node = $1 AND number < $2";
        Ok(tables.connection.run(sql, &[&tables.node.get(), &number])? == 0)
    }

    /// End the leases of check-ins that were stored before. Their visits did not get the replies, so they cannot go on.
    pub(super) fn end_leases_of(
        &mut self,
        now: i64,
        batch: &[CheckIn],
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        let free = self.after_pause(now);
        let mut replies = Vec::with_capacity(batch.len());
        for entry in batch {
            let lease = entry.lease;
            replies.push(Err(LeaseLost { lease }));
            let id = lease as i64;
            if let Some(site) = self.core.store.tables.lease_site(id)? {
                // The visit may just have sent a request.
                let since = free;
                self.core.reclaim(now, AbandonedLease { id, site, since })?;
            }
        }
        Ok(replies)
    }

    /// The earliest time of the next request to a site or address whose last request may have been sent just now.
    pub(super) fn after_pause(&self, now: i64) -> i64 {
        now + self.settings.pause.as_millis() as i64
    }

    /// Take the leases of a node whose process has ended. Returns the number of its newest stored group.
    pub(super) fn take_leases_of(&mut self, node: i64, now: i64) -> Result<i64, StoreError> {
        let (expires, free) = (self.core.expiry(now), self.after_pause(now));
        let tables = &self.core.store.tables;
        let own = tables.node.get();
        let mut old = node;
        let is_alive = loop {
            let sql = "SELECT successor, alive FROM nodes WHERE node = $1 FOR UPDATE";
            let Some(row) = tables.connection.first(sql, &[&old])? else {
                return Ok(0);
            };
            // An earlier successor may have ended too.
            match row.try_get::<_, Option<i64>>(0)? {
                Some(successor) if successor != own => old = successor,
                _ => break row.try_get::<_, bool>(1)? && old != own,
            }
        };
        let number = tables.number(
            "SELECT coalesce(max(number), 0) FROM taken WHERE node = $1",
            &[&old],
        )?;
        let sql = "UPDATE taken SET number = greatest(number, $2) WHERE node = $1";
        tables.connection.run(sql, &[&own, &number])?;
        if !is_alive {
            return Ok(number);
        }
        let sql = "UPDATE sites SET node = $2, free = greatest(free, $3) WHERE key IN \
                   (SELECT key FROM sites WHERE node = $1 ORDER BY key FOR UPDATE) RETURNING key, lease, since, gate";
        let rows = tables.connection.query(sql, &[&old, &own, &free])?;
        for row in &rows {
            let lease = OwnLease {
                site: row.try_get(0)?,
                since: row.try_get(2)?,
                expires,
                gate: row.try_get(3)?,
            };
            tables.leases.borrow_mut().set(row.try_get(1)?, Some(lease));
        }
        tables.orphan_gates(old, free)?;
        tables.fold_totals(old)?;
        let sql = "UPDATE nodes SET alive = false, successor = $2 WHERE node = $1";
        tables.connection.run(sql, &[&old, &own])?;
        tracing::info!(
            node = old,
            sites = rows.len(),
            "the leases of an earlier process were taken over"
        );
        Ok(number)
    }
}
