//! The calls of the interface ([`Frontier`]), in terms of transactions.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aranha_url::{CanonUrl, PathKey, SiteKey};

use super::totals::Overview;
use super::{OTHERS_POLL, Postgres};
use crate::fence::Fence;
use crate::shared::SharedCrawl;
use crate::sites::checkout::MIN_FLUSH_INTERVAL;
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{
    CheckIn, CheckedIn, Claim, Claimed, Explanation, Frontier, FrontierError, FrontierStatus,
    GateClaim, Lease, LeaseLost, Outside, PageRecord, ProblemSite, RecordBatch, RecordCursor,
    Rediscovered, Seed, Seeded, SiteFacts, SiteSettings, VisitOrder,
};

impl Frontier for Postgres {
    fn may_be_away(&self) -> bool {
        true
    }

    fn shared(&mut self) -> Option<&mut dyn SharedCrawl> {
        Some(self)
    }

    fn fence(&self) -> Option<Arc<Fence>> {
        Some(self.heartbeat.fence())
    }

    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.transact(now, |engine, now| {
            engine.insert_seeds(now, seeds)?;
            engine.core.add_seeds(now, seeds)
        })
    }

    fn set_seed_settings(
        &mut self,
        now: i64,
        settings: &[SiteSettings],
    ) -> Result<(), FrontierError> {
        self.transact(now, |engine, _| engine.core.set_seed_settings(settings))
    }

    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        self.read(|store| store.tables.seed_settings(None))
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        let keys: Vec<i64> = seeds.iter().map(|seed| seed.site_key.0 as i64).collect();
        self.transact(now, |engine, now| {
            engine.core.store.tables.lock_sites(&keys)?;
            let free = engine.earliest_visit(now)?;
            engine.core.make_sites_due(now, seeds, free)
        })
    }

    fn make_all_due(&mut self, now: i64, order: &VisitOrder) -> Result<i64, FrontierError> {
        let began = self.transact(now, |engine, now| engine.core.begin_order(now, order))?;
        let free = self.transact(now, |engine, now| engine.earliest_visit(now))?;
        self.in_steps(now, |core, now, after| {
            core.make_next_sites_due(now, order, began, free, after)
        })?;
        Ok(began - self.shift.get())
    }

    fn end_order(&mut self) -> Result<(), FrontierError> {
        self.transact(self.last_now, |engine, _| {
            // An order ends only when no node has a visit left.
            if engine.core.store.tables.others_hold_leases()? {
                return Ok(());
            }
            engine.core.store.end_order()
        })
    }

    fn bring_revisits_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
    ) -> Result<(), FrontierError> {
        let caller = now;
        self.in_steps(now, |core, now, after| {
            let until = until.saturating_add(now - caller);
            core.bring_next_sites_forward(now, until, visited_by, after)
        })
    }

    fn read_records(
        &self,
        cursor: &mut RecordCursor,
    ) -> Result<Option<RecordBatch>, FrontierError> {
        self.read(|store| store.records_after(cursor))
    }

    fn rediscover(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, FrontierError> {
        self.transact(now, |engine, now| {
            engine.core.admit_rediscovered(now, site, found)
        })
    }

    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError> {
        let keys = claims.iter().map(|(link, _)| link.site_key.0 as i64);
        let keys: Vec<i64> = keys.collect();
        let caller = now;
        self.transact(now, |engine, now| {
            engine.core.store.tables.lock_sites(&keys)?;
            // A claim whose time has passed on the caller's clock must not be in the future on the clock of the
            // database.
            let mut claims = claims.to_vec();
            let past = claims.iter_mut().filter(|(_, claim)| claim.at <= caller);
            past.for_each(|(_, claim)| claim.at = claim.at.min(now));
            engine.core.apply_claims(now, &claims, weigh)
        })
    }

    fn revisit_until(&mut self, horizon: i64) {
        self.core.store.horizon = horizon.saturating_add(self.shift.get());
        (self.horizon, self.horizon_changed) = (Some(horizon), true);
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.read(|store| store.tables.seeds())
    }

    fn check_out(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, FrontierError> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let leases = self.with_leases_kept(now, |engine| engine.check_out_sites(now, room));
        let mut leases = leases?;
        for lease in &mut leases {
            lease.due -= self.shift.get();
            lease.expires -= self.shift.get();
        }
        tracing::debug!(sites = leases.len(), room, "check-out");
        Ok(leases)
    }

    fn claim_gate(&mut self, now: i64, address: IpAddr) -> Result<GateClaim, FrontierError> {
        self.claim_one_gate(now, address)
    }

    fn give_gates_back(&mut self, now: i64, addresses: &[IpAddr]) -> Result<(), FrontierError> {
        Postgres::give_gates_back(self, now, addresses)
    }

    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Some(batch);
        self.with_leases_kept(now, |engine| {
            engine.transact(now, |engine, now| {
                // The first try consumes the check-ins, because copying them would cost as much as storing them.
                let batch = batch.take().ok_or(StoreError::Interrupted)?;
                engine.store_check_ins(now, batch)
            })
        })
    }

    fn check_in_group(
        &mut self,
        now: i64,
        number: u64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.group = Some(number as i64);
        let replies = self.check_in(now, batch.collect());
        self.group = None;
        replies
    }

    fn take_over(&mut self, now: i64, node: u64) -> Result<u64, FrontierError> {
        let number = self.transact(now, |engine, now| {
            let pause = engine.settings.pause;
            engine.core.take_leases_of(node as i64, now, pause)
        })?;
        Ok(number as u64)
    }

    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError> {
        self.transact(now, |engine, now| {
            let expires = engine.core.expiry(now);
            let mut lost = Vec::new();
            for lease in leases {
                let tables = &engine.core.store.tables;
                if !tables.lease_renew(*lease as i64, expires)? {
                    lost.push(LeaseLost { lease: *lease });
                }
            }
            Ok(lost)
        })
    }

    fn release_all(&mut self, now: i64) -> Result<u64, FrontierError> {
        self.transact(now, |engine, now| engine.core.release_own(now, i64::MIN))
    }

    fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, FrontierError> {
        self.transact(now, |engine, now| {
            let due = due + engine.shift.get();
            engine.core.end_failed_visit(now, lease, problem, due)
        })
    }

    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.read(|store| store.tables.problems())
    }

    fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), FrontierError> {
        let keys: Vec<i64> = sites.iter().map(|site| site.0 as i64).collect();
        self.transact(now, |engine, now| {
            let due = due + engine.shift.get();
            engine.core.store.tables.lock_sites(&keys)?;
            engine.core.bring_problem_sites_forward(now, sites, due)
        })
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let overview = self.read(|store| store.tables.read_status(store.horizon))?;
        let Overview {
            mut status,
            is_announced,
            others_hold_leases,
        } = overview;
        let shift = self.shift.get();
        let mut due_by = |time: i64| {
            status.next_due = Some(status.next_due.map_or(time, |due| due.min(time)));
        };
        if others_hold_leases {
            // A check-in of another node may bring work at any time.
            due_by(now + shift + OTHERS_POLL);
        }
        if status.links_gathered > 0 || !is_announced {
            let flush = match self.last_flush {
                Some(last) if self.core.leased > 0 => last.saturating_add(MIN_FLUSH_INTERVAL),
                _ => now + shift,
            };
            due_by(flush);
        }
        status.next_due = status.next_due.map(|due| due - shift);
        status.next_revisit = status.next_revisit.map(|due| due - shift);
        Ok(status)
    }

    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        self.read(|store| store.explain(url))
    }

    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(now, |engine, now| engine.core.set_blocked(now, site, true))
    }

    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(now, |engine, now| engine.core.set_blocked(now, site, false))
    }

    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        self.transact(now, |engine, now| {
            engine.core.refetch_pages(now, site, pages)
        })
    }

    fn adopt(
        &mut self,
        now: i64,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, FrontierError> {
        self.transact(now, |engine, now| {
            engine.core.adopt_pages(now, site, origin, records)
        })
    }

    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        if budget.is_zero() {
            return Ok(false);
        }
        self.with_leases_kept(now, |engine| engine.sort_and_merge(now, budget))
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.with_leases_kept(now, |engine| engine.sort_links(now, true, true))
    }
}
