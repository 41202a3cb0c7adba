//! Blocking and unblocking sites.

use aranha_url::SiteKey;

use super::core::Core;
use super::site_row::SiteRow;
use super::tables::Tables;
use crate::NoveltyCounters;
use crate::store_error::StoreError;

impl<T: Tables> Core<T> {
    /// Block or unblock a site. Returns false if it was already in that state. Blocking an unknown site creates its
    /// row.
    pub(crate) fn set_blocked(
        &mut self,
        now: i64,
        name: &str,
        blocked: bool,
    ) -> Result<bool, StoreError> {
        let key = SiteKey::of(name).0 as i64;
        let Some(before) = self.store.tables.site(key)? else {
            if blocked {
                let mut row = SiteRow::new(key, name, &format!("https://{name}"), 0);
                row.blocked = true;
                self.store.site_insert(&row)?;
                self.totals.site(None, &row);
            }
            return Ok(blocked);
        };
        let mut row = before.clone();
        row.blocked = blocked;
        if !blocked {
            self.clear_blocked(&mut row)?;
        }
        row.schedule(now, self.store.horizon);
        self.save(&before, &row)?;
        Ok(before.blocked != blocked)
    }

    /// Clear the reason of the block in the facts of the site, and the counters that led to it.
    fn clear_blocked(&mut self, row: &mut SiteRow) -> Result<(), StoreError> {
        let mut facts = self.store.facts_read(row)?;
        if facts.blocked.take().is_some() {
            facts.novelty = NoveltyCounters::default();
            facts.counters.duplicates = 0;
            self.store.facts_write(row, &facts, &mut self.block)?;
        }
        Ok(())
    }
}
