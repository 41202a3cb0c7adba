//! A frontier that is watched: every call goes through to the real one, and how long each site handed out had waited is
//! written down.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aranha_frontier::{
    CheckIn, CheckedIn, Claim, Claimed, Embedded, Explanation, Frontier, FrontierError,
    FrontierStatus, Lease, LeaseLost, Outside, Seed, Seeded, SiteFacts,
};
use aranha_url::{CanonUrl, SiteKey};

use crate::Waits;
use crate::waits::Turn;

/// The embedded frontier, with somebody looking over its shoulder.
#[derive(Debug)]
pub struct Watched {
    inner: Embedded,
    waits: Arc<Mutex<Waits>>,
    /// Seeds that had their first visit.
    seeds: HashSet<SiteKey>,
}

impl Watched {
    /// The waits go to `waits`, which outlives this frontier.
    pub fn new(inner: Embedded, waits: Arc<Mutex<Waits>>) -> Watched {
        lock(&waits).begin();
        Watched {
            inner,
            waits,
            seeds: HashSet::new(),
        }
    }
}

/// What was written down.
pub(crate) fn lock(waits: &Mutex<Waits>) -> MutexGuard<'_, Waits> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Frontier for Watched {
    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.inner.seed(now, seeds)
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        self.inner.make_due(now, seeds)
    }

    fn make_all_due(&mut self, now: i64, source: u8) -> Result<(), FrontierError> {
        self.inner.make_all_due(now, source)
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

    fn check_out(
        &mut self,
        now: i64,
        node: &str,
        room: usize,
    ) -> Result<Vec<Lease>, FrontierError> {
        let leases = self.inner.check_out(now, node, room)?;
        let turns: Vec<Turn> = leases
            .iter()
            .map(|lease| Turn {
                due: lease.due,
                is_first: lease.seed && self.seeds.insert(lease.site_key),
            })
            .collect();
        lock(&self.waits).hand_out(now, room, &turns);
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

    fn release_all(&mut self, now: i64, node: &str) -> Result<u64, FrontierError> {
        self.inner.release_all(now, node)
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

    fn tidy(&mut self, now: i64, budget: Duration) -> Result<bool, FrontierError> {
        self.inner.tidy(now, budget)
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.inner.flush(now)
    }
}
