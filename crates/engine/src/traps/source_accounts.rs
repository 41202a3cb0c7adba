//! Limits the number of hosts that do not answer to which one site may link. Otherwise a single site could flood the
//! resolver and the visits with such hosts.
//!
//! Each site that links to new hosts (a source) has an account, which counts the first visits to these hosts. A source
//! may link to `thresholds.dead_hosts` hosts that do not answer. For each host that answers, [`HOSTS_PER_LIVE_HOST`]
//! more are allowed. A host counts as dead until its first visit ends, so that a page with thousands of dead links does
//! not start thousands of look-ups at the same time. When the account of a source is used up, its further hosts are
//! visited later, or as soon as another site links to them. First visits to the hosts of seeds are not counted.
//!
//! The accounts are in memory only. Each crawl starts with empty accounts, and the counts are halved every day.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aranha_url::SiteKey;

/// For each host that answered, its source may link to this number of further hosts that do not answer.
const HOSTS_PER_LIVE_HOST: u32 = 8;
/// Number of different sites to which one visit may always link, unless the account of its site is used up.
const MAX_LINKED_SITES: usize = 10_000;
/// Maximum number of accounts. When it is reached, all accounts without a visit under way are dropped.
const MAX_ACCOUNTS: usize = 64 << 10;
/// Time after which the counts of an account are halved, in milliseconds: one day.
const HALF_LIFE_MS: i64 = 24 * 3600 * 1000;
/// Minimum wait of a host, in milliseconds, if too many first visits on the account of its source are under way.
const MIN_WAIT_MS: i64 = 1000;
/// Waiting hosts of one source are tried again one after another, at most this number of them per second.
const WAITS_PER_SECOND: i64 = 500;

/// The accounts of all sources.
#[derive(Debug, Default)]
pub(crate) struct SourceAccounts(Mutex<HashMap<SiteKey, Account>>);

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Hosts that answered.
    live: u32,
    /// Hosts without an address, and hosts that did not answer.
    dead: u32,
    /// Hosts whose first visit is under way.
    under_way: u32,
    /// Hosts that wait because too many first visits are under way.
    waiting: i64,
    /// When the counts were last halved, unix milliseconds.
    halved: i64,
}

impl Account {
    fn allowance(&self, max_dead: u32) -> u32 {
        max_dead.saturating_add(self.live.saturating_mul(HOSTS_PER_LIVE_HOST))
    }

    fn is_overdrawn(&self, max_dead: u32) -> bool {
        self.dead >= self.allowance(max_dead)
    }

    fn halve_daily(&mut self, now: i64) {
        if self.halved == 0 {
            self.halved = now;
        }
        while now.saturating_sub(self.halved) >= HALF_LIFE_MS {
            self.halved += HALF_LIFE_MS;
            self.live /= 2;
            self.dead /= 2;
            if self.live + self.dead == 0 {
                self.halved = now;
            }
        }
    }
}

/// The first visit to a host, on the account of its source. If this value is dropped without a call of
/// [`FirstVisit::end`], the account does not count the visit.
#[derive(Debug)]
pub(crate) struct FirstVisit {
    accounts: Arc<SourceAccounts>,
    source: SiteKey,
}

impl FirstVisit {
    /// Ends the first visit. `is_live`: whether the host answered.
    pub(crate) fn end(self, is_live: bool) {
        self.accounts.change(self.source, |account| {
            let count = if is_live {
                &mut account.live
            } else {
                &mut account.dead
            };
            *count = count.saturating_add(1);
        });
    }
}

impl Drop for FirstVisit {
    fn drop(&mut self) {
        self.accounts.change(self.source, |account| {
            account.under_way = account.under_way.saturating_sub(1);
            if account.under_way == 0 {
                account.waiting = 0;
            }
        });
    }
}

impl SourceAccounts {
    /// Begins the first visit to a host. The visit is on the account of the first of the `sources` whose account is not
    /// used up. `max_dead`: `thresholds.dead_hosts`. If all accounts are used up, the error is the time of the next
    /// attempt.
    pub(crate) fn begin(
        self: &Arc<Self>,
        sources: &[SiteKey],
        max_dead: u32,
        now: i64,
    ) -> Result<FirstVisit, i64> {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= MAX_ACCOUNTS {
            accounts.retain(|_, account| account.under_way > 0);
        }
        let mut next = i64::MAX;
        for &source in sources {
            let account = accounts.entry(source).or_default();
            account.halve_daily(now);
            if account.dead.saturating_add(account.under_way) < account.allowance(max_dead) {
                account.under_way += 1;
                return Ok(FirstVisit {
                    accounts: Arc::clone(self),
                    source,
                });
            }
            let wait = if account.is_overdrawn(max_dead) {
                HALF_LIFE_MS
            } else {
                account.waiting += 1;
                MIN_WAIT_MS + account.waiting * 1000 / WAITS_PER_SECOND
            };
            next = next.min(now.saturating_add(wait));
        }
        Err(next)
    }

    /// Number of different sites to which one visit to `source` may link; 0 if `source` has linked to too many dead
    /// hosts.
    pub(crate) fn max_linked_sites(&self, source: SiteKey, max_dead: u32) -> usize {
        let accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match accounts.get(&source) {
            None => MAX_LINKED_SITES,
            Some(account) if account.is_overdrawn(max_dead) => 0,
            Some(account) => {
                let earned = account.live.saturating_mul(HOSTS_PER_LIVE_HOST);
                MAX_LINKED_SITES.saturating_add(earned as usize)
            }
        }
    }

    fn change(&self, source: SiteKey, change: impl FnOnce(&mut Account)) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get_mut(&source) {
            change(account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SiteKey = SiteKey(1);
    const B: SiteKey = SiteKey(2);
    const NOW: i64 = 1_000_000;

    /// Begins first visits to sites to which `A` links, until the account of `A` is used up. Returns these visits.
    fn begin_all(accounts: &Arc<SourceAccounts>) -> Vec<FirstVisit> {
        std::iter::from_fn(|| accounts.begin(&[A], 10, NOW).ok()).collect()
    }

    #[test]
    fn a_source_of_dead_hosts_gets_no_further_visits() {
        let accounts = Arc::<SourceAccounts>::default();
        let visits = begin_all(&accounts);
        assert_eq!(visits.len(), 10);
        assert!(accounts.max_linked_sites(A, 10) >= MAX_LINKED_SITES);
        assert!(accounts.begin(&[A], 10, NOW).unwrap_err() < NOW + 2 * MIN_WAIT_MS);
        for visit in visits {
            visit.end(false);
        }
        assert_eq!(accounts.max_linked_sites(A, 10), 0);
        assert_eq!(
            accounts.begin(&[A], 10, NOW).unwrap_err(),
            NOW + HALF_LIFE_MS
        );
        // Another site links to the same host.
        assert!(accounts.begin(&[A, B], 10, NOW).is_ok());
        // The number of dead hosts is halved after a day.
        assert!(accounts.begin(&[A], 10, NOW + HALF_LIFE_MS).is_ok());
        assert!(accounts.max_linked_sites(A, 10) >= MAX_LINKED_SITES);
    }

    #[test]
    fn live_hosts_extend_the_account() {
        let accounts = Arc::<SourceAccounts>::default();
        let mut total = 0;
        for _ in 0..4 {
            let visits = begin_all(&accounts);
            total += visits.len();
            // Every second host answers.
            for (number, visit) in visits.into_iter().enumerate() {
                visit.end(number % 2 == 0);
            }
        }
        assert!(total > 1000, "{total}");
        assert!(accounts.max_linked_sites(A, 10) >= MAX_LINKED_SITES);
    }

    #[test]
    fn a_visit_without_result_is_forgotten() {
        let accounts = Arc::<SourceAccounts>::default();
        drop(begin_all(&accounts));
        assert_eq!(begin_all(&accounts).len(), 10);
    }
}
