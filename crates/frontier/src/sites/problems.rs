//! Problem sites (table `problems`): sites whose last visit was ended by a fault of the crawler (Viuva Negra 5.2).

use aranha_url::SiteKey;

use super::core::Core;
use super::tables::Tables;
use crate::store_error::StoreError;

impl<T: Tables> Core<T> {
    /// End the lease of a visit that failed. Returns false if the lease is lost.
    pub(crate) fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, StoreError> {
        let id = lease as i64;
        let Some(key) = self.store.tables.lease_site(id)? else {
            return Ok(false);
        };
        self.store.tables.lease_delete(id)?;
        let before = self.store.tables.site(key)?;
        if before.as_ref().is_some_and(|site| site.lease != Some(id)) {
            return Ok(false);
        }
        self.leased = self.leased.saturating_sub(1);
        self.store.tables.problem_write(key, now, problem)?;
        if let Some(before) = before {
            let mut row = before.clone();
            row.lease = None;
            row.free = row.free.max(due);
            row.schedule(now, self.store.horizon);
            self.save(&before, &row)?;
        }
        Ok(true)
    }

    /// Make problem sites due at `due`, if they are due later.
    pub(crate) fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), StoreError> {
        for key in sites {
            if let Some(before) = self.store.tables.site(key.0 as i64)? {
                let mut row = before.clone();
                row.free = row.free.min(due);
                row.schedule(now, self.store.horizon);
                self.save(&before, &row)?;
            }
        }
        Ok(())
    }
}
