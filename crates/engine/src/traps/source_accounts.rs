//! Accounts of the sites that bring in new hosts, so that no single site can flood the resolver and the visits with
//! hosts that do not answer.
//!
//! The first visit to a host is on the account of the site that linked to it, its source. A source may bring in
//! `thresholds.dead_hosts` hosts that do not answer, and [`HOSTS_PER_LIVE_HOST`] more for each host that does. Hosts
//! whose first visit is under way count as dead until it ends, so that a page with thousands of dead links does not
//! start thousands of look-ups at once. A host that its source cannot afford is visited later, or as soon as another
//! site links to it. Seeds are on nobody's account.
//!
//! The accounts are in memory only. Each crawl opens them anew, and every day half of the counts is forgotten.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aranha_url::SiteKey;

/// Number of further hosts that a source may bring in for each of its hosts that answered.
const HOSTS_PER_LIVE_HOST: u32 = 8;
/// Number of different sites that a visit may link to before the account of its site limits them.
const MAX_LINKED_SITES: usize = 10_000;
/// Maximum number of accounts. When it is reached, all are dropped, except those with visits under way.
const MAX_ACCOUNTS: usize = 64 << 10;
/// Time after which half of the counts of an account is forgotten, in milliseconds: one day.
const HALF_LIFE_MS: i64 = 24 * 3600 * 1000;
/// Minimum wait of a host until first visits of other hosts from its source have ended, in milliseconds.
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

/// The first visit to a host, on the account of its source. If it is dropped without a result, the account forgets it.
#[derive(Debug)]
pub(crate) struct FirstVisit {
    accounts: Arc<SourceAccounts>,
    source: SiteKey,
}

impl FirstVisit {
    /// Ends the first visit. `is_live`: the host answered.
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
    /// Begins the first visit to a host, on the account of the first of its sources that can afford it. `max_dead`:
    /// `thresholds.dead_hosts`. `Err`: no source can afford the visit now; the error is the time of the next attempt.
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

    /// Number of different sites that one visit to `source` may link to; 0 if the source brought in too many dead hosts.
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

    /// Begins first visits of sites that `A` links to, until the account of `A` cannot pay for another. Returns them.
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
        // Half of the dead hosts is forgotten after a day.
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
