//! A frontier that passes every call to another frontier, and records how long each checked-out site has waited.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aranha_frontier::{
    CheckIn, CheckedIn, Claim, Claimed, Explanation, Fence, Frontier, FrontierError,
    FrontierStatus, GateClaim, Lease, LeaseLost, Outside, PageRecord, ProblemSite, RecordBatch,
    RecordCursor, Rediscovered, Seed, Seeded, SharedCrawl, SiteFacts, SiteSettings, VisitOrder,
};
use aranha_url::{CanonUrl, PathKey, SiteKey};

use crate::wait_audit::{CheckedOutSite, WaitAudit};

/// A frontier with a [`WaitAudit`].
pub struct AuditedFrontier {
    inner: Box<dyn Frontier>,
    waits: Arc<Mutex<WaitAudit>>,
    /// Seed sites that this crawl has checked out.
    visited_seeds: HashSet<SiteKey>,
}

impl std::fmt::Debug for AuditedFrontier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditedFrontier")
    }
}

impl AuditedFrontier {
    /// Starts the audit of a new crawl. The waits of this crawl are added to `waits`, which has the waits of the
    /// earlier crawls.
    pub fn new(inner: Box<dyn Frontier>, waits: Arc<Mutex<WaitAudit>>) -> AuditedFrontier {
        lock(&waits).on_crawl_start();
        AuditedFrontier {
            inner,
            waits,
            visited_seeds: HashSet::new(),
        }
    }
}

pub(crate) fn lock(waits: &Mutex<WaitAudit>) -> MutexGuard<'_, WaitAudit> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Frontier for AuditedFrontier {
    fn may_be_away(&self) -> bool {
        self.inner.may_be_away()
    }

    fn shared(&mut self) -> Option<&mut dyn SharedCrawl> {
        self.inner.shared()
    }

    fn fence(&self) -> Option<Arc<Fence>> {
        self.inner.fence()
    }

    fn claim_gate(&mut self, now: i64, address: IpAddr) -> Result<GateClaim, FrontierError> {
        self.inner.claim_gate(now, address)
    }

    fn give_gates_back(&mut self, now: i64, addresses: &[IpAddr]) -> Result<(), FrontierError> {
        self.inner.give_gates_back(now, addresses)
    }

    fn check_in_each(
        &mut self,
        now: i64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.inner.check_in_each(now, batch)
    }

    fn check_in_group(
        &mut self,
        now: i64,
        number: u64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.inner.check_in_group(now, number, batch)
    }

    fn take_over(&mut self, now: i64, node: u64) -> Result<u64, FrontierError> {
        self.inner.take_over(now, node)
    }

    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.inner.seed(now, seeds)
    }

    fn set_seed_settings(
        &mut self,
        now: i64,
        settings: &[SiteSettings],
    ) -> Result<(), FrontierError> {
        self.inner.set_seed_settings(now, settings)
    }

    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        self.inner.seed_settings()
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        self.inner.make_due(now, seeds)
    }

    fn make_all_due(&mut self, now: i64, order: &VisitOrder) -> Result<i64, FrontierError> {
        self.inner.make_all_due(now, order)
    }

    fn end_order(&mut self) -> Result<(), FrontierError> {
        self.inner.end_order()
    }

    fn bring_revisits_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
    ) -> Result<(), FrontierError> {
        self.inner.bring_revisits_forward(now, until, visited_by)
    }

    fn read_records(
        &self,
        cursor: &mut RecordCursor,
    ) -> Result<Option<RecordBatch>, FrontierError> {
        self.inner.read_records(cursor)
    }

    fn rediscover(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, FrontierError> {
        self.inner.rediscover(now, site, found)
    }

    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError> {
        self.inner.claim(now, claims, weigh)
    }

    fn revisit_until(&mut self, horizon: i64) {
        self.inner.revisit_until(horizon);
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.inner.seeds()
    }

    fn check_out(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, FrontierError> {
        let leases = self.inner.check_out(now, room)?;
        let sites: Vec<CheckedOutSite> = leases
            .iter()
            .map(|lease| CheckedOutSite {
                due: lease.due,
                is_first_visit_of_seed: lease.seed && self.visited_seeds.insert(lease.site_key),
            })
            .collect();
        lock(&self.waits).on_check_out(now, room, &sites);
        Ok(leases)
    }

    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.inner.check_in(now, batch)
    }

    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError> {
        self.inner.renew(now, leases)
    }

    fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, FrontierError> {
        self.inner.end_failed_visit(now, lease, problem, due)
    }

    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.inner.problem_sites()
    }

    fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), FrontierError> {
        self.inner.bring_problem_sites_forward(now, sites, due)
    }

    fn release_all(&mut self, now: i64) -> Result<u64, FrontierError> {
        self.inner.release_all(now)
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        self.inner.status(now)
    }

    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        self.inner.explain(url)
    }

    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.inner.block(now, site)
    }

    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.inner.unblock(now, site)
    }

    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        self.inner.refetch(now, site, pages)
    }

    fn adopt(
        &mut self,
        now: i64,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, FrontierError> {
        self.inner.adopt(now, site, origin, records)
    }

    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        self.inner.tidy(now, budget)
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.inner.flush(now)
    }
}
