//! The leases on sites (table `leases`). Only one process writes. It releases all leases when it opens the collection,
//! because the process that held them is gone.

use rusqlite::Row;

use super::store::Store;
use super::store_error::StoreError;
use crate::LeaseEntry;

/// A lease that is ended by the frontier, because it expired or its node is gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct AbandonedLease {
    pub(super) id: i64,
    pub(super) site: i64,
    /// Time of the check-out.
    pub(super) since: i64,
}

impl AbandonedLease {
    fn read(row: &Row<'_>) -> rusqlite::Result<AbandonedLease> {
        Ok(AbandonedLease {
            id: row.get(0)?,
            site: row.get(1)?,
            since: row.get(2)?,
        })
    }
}

impl Store {
    pub(super) fn lease_insert(
        &self,
        site: i64,
        node: &str,
        now: i64,
        expires: i64,
    ) -> Result<i64, StoreError> {
        self.insert(
            "INSERT INTO leases (site, node, since, expires) VALUES (?1, ?2, ?3, ?4)",
            (site, node, now, expires),
        )
    }

    /// The site of a lease; `None` if the lease is lost.
    pub(super) fn lease_site(&self, id: i64) -> Result<Option<i64>, StoreError> {
        self.first("SELECT site FROM leases WHERE id = ?1", [id], |row| {
            row.get(0)
        })
    }

    /// Set the expiry. Returns false if the lease is lost.
    pub(super) fn lease_renew(&self, id: i64, expires: i64) -> Result<bool, StoreError> {
        let changed = self.run(
            "UPDATE leases SET expires = ?2 WHERE id = ?1",
            (id, expires),
        )?;
        Ok(changed > 0)
    }

    pub(super) fn lease_delete(&self, id: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM leases WHERE id = ?1", [id])?;
        Ok(())
    }

    pub(super) fn lease_entry(&self, id: i64) -> Result<Option<LeaseEntry>, StoreError> {
        self.first(
            "SELECT id, node, since, expires FROM leases WHERE id = ?1",
            [id],
            |row| {
                Ok(LeaseEntry {
                    id: row.get::<_, i64>(0)? as u64,
                    node: row.get(1)?,
                    since: row.get(2)?,
                    expires: row.get(3)?,
                })
            },
        )
    }

    /// Expired leases, the earliest expiry first.
    pub(super) fn leases_expired(
        &self,
        now: i64,
        count: usize,
    ) -> Result<Vec<AbandonedLease>, StoreError> {
        self.all(
            "SELECT id, site, since FROM leases WHERE expires <= ?1 ORDER BY expires LIMIT ?2",
            (now, count as i64),
            AbandonedLease::read,
        )
    }

    /// The leases of a node; with `None`, all leases.
    pub(super) fn leases_of(&self, node: Option<&str>) -> Result<Vec<AbandonedLease>, StoreError> {
        self.all(
            "SELECT id, site, since FROM leases WHERE ?1 IS NULL OR node = ?1",
            [node],
            AbandonedLease::read,
        )
    }
}
