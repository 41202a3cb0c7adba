//! Check-out: chooses due sites.

use super::Embedded;
use crate::Lease;
use crate::sites::checkout::{MAX_RECLAIMED, MIN_FLUSH_INTERVAL, examined};
use crate::store_error::StoreError;

/// While no site is due, a check-out writes gathered links to a link run, so that their sites become due. It makes at
/// most `MAX_FLUSH_STEPS` steps, each of which writes `FLUSH_LINKS` links.
const FLUSH_LINKS: usize = if cfg!(test) { 2 } else { 2000 };
const MAX_FLUSH_STEPS: usize = 10;

impl Embedded {
    pub(super) fn lease_due_sites(
        &mut self,
        now: i64,
        room: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        for lease in self.core.store.tables.leases_expired(now, MAX_RECLAIMED)? {
            self.core.reclaim(now, lease)?;
        }
        let horizon = self.core.store.horizon;
        if std::mem::take(&mut self.horizon_changed) {
            self.core.store.tables.sites_reschedule(now, horizon)?;
        }
        let mut leases = Vec::new();
        let mut budget = examined(room);
        let mut flush_steps = MAX_FLUSH_STEPS;
        while leases.len() < room && budget > 0 {
            let count = (room - leases.len()).min(budget).min(512);
            let sites = self.core.store.tables.sites_due(now, horizon, count)?;
            if sites.is_empty() {
                if flush_steps == 0 || !self.should_flush(now, leases.is_empty()) {
                    break;
                }
                flush_steps -= 1;
                self.flush_step(now)?;
            }
            budget -= sites.len();
            for site in sites {
                leases.extend(self.core.lease_site(now, &site)?);
            }
        }
        Ok(leases)
    }

    /// Write some of the gathered links to a link run, so that their sites become due.
    fn flush_step(&mut self, now: i64) -> Result<(), StoreError> {
        let core = &mut self.core;
        if !core.inbox.is_writing() {
            core.inbox.begin_run(&core.store)?;
            self.last_flush = Some(now);
        }
        core.inbox
            .write(&core.store, &mut core.totals, now, FLUSH_LINKS)
    }

    /// Whether to write gathered links now. True while a link run is being written. Otherwise gathered links are
    /// written when `MIN_FLUSH_INTERVAL` has passed since the last flush, or at once if no site is leased or due.
    fn should_flush(&self, now: i64, no_leases: bool) -> bool {
        let recent = self
            .last_flush
            .is_some_and(|last| now.saturating_sub(last).abs() < MIN_FLUSH_INTERVAL);
        let (inbox, leased) = (&self.core.inbox, self.core.leased);
        inbox.is_writing() || inbox.gathered() > 0 && (!recent || (no_leases && leased == 0))
    }
}
