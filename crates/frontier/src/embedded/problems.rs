//! Problem sites (table `problems`): sites whose last visit was ended by a fault of the crawler (Viuva Negra 5.2).

use aranha_url::SiteKey;

use super::Embedded;
use super::store::Store;
use super::store_error::StoreError;
use crate::ProblemSite;

impl Embedded {
    /// End the lease of a visit that failed. Returns false if the lease is lost.
    pub(super) fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, StoreError> {
        let id = lease as i64;
        let Some(key) = self.store.lease_site(id)? else {
            return Ok(false);
        };
        self.store.lease_delete(id)?;
        self.leased = self.leased.saturating_sub(1);
        self.store.problem_write(key, now, problem)?;
        self.problems.insert(key);
        if let Some(before) = self.store.site(key)? {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(due);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        Ok(true)
    }

    /// Make problem sites due at `due`, if they are due later.
    pub(super) fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), StoreError> {
        for key in sites {
            if let Some(before) = self.store.site(key.0 as i64)? {
                let mut row = before.clone();
                row.free = row.free.min(due);
                row.schedule(now, self.store.horizon);
                self.save(&before, &row)?;
            }
        }
        Ok(())
    }

    /// Record that a visit of this site has ended in order.
    pub(super) fn end_problem(&mut self, site: i64) -> Result<(), StoreError> {
        if self.problems.remove(&site) {
            self.store
                .run("DELETE FROM problems WHERE site = ?1", [site])?;
        }
        Ok(())
    }
}

impl Store {
    fn problem_write(&self, site: i64, now: i64, problem: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO problems VALUES (?1, 1, ?2, ?3) ON CONFLICT DO UPDATE SET faults = faults + 1, \
             time = excluded.time, problem = excluded.problem",
            (site, now, problem),
        )?;
        Ok(())
    }

    /// All problem sites, the latest fault first. Databases of a layout before 6 have none.
    pub(super) fn problems_read(&self) -> Result<Vec<ProblemSite>, StoreError> {
        let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'problems'";
        if self.first(table, [], |_| Ok(()))?.is_none() {
            return Ok(Vec::new());
        }
        self.all(
            "SELECT key, name, faults, time, problem FROM problems JOIN sites ON key = site ORDER BY time DESC, key",
            [],
            |row| {
                Ok(ProblemSite {
                    key: SiteKey(row.get::<_, i64>(0)? as u64),
                    site: row.get(1)?,
                    faults: row.get(2)?,
                    time: row.get(3)?,
                    problem: row.get(4)?,
                })
            },
        )
    }
}
