//! Seeds that could not be fetched, and where seeds redirect. The first failure of a seed in a crawl is reported at once,
//! with the reason. Later failures of this seed are not reported.
//!
//! If a seed redirects, the target counts as the seed: if it cannot be fetched, that is reported too.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A seed that could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedFailure {
    /// URL of the seed.
    pub url: String,
    /// Why it could not be fetched.
    pub reason: String,
}

/// The failed seeds of a crawl and the targets of redirected seeds, as hashes.
#[derive(Debug, Default)]
pub(crate) struct SeedFailures(Mutex<Failed>);

#[derive(Debug, Default)]
struct Failed {
    first: Option<SeedFailure>,
    seeds: HashSet<(u64, u64)>,
    /// The targets of redirects of seeds.
    targets: HashSet<(u64, u64)>,
    /// Number of redirects that seeds, or the targets of their redirects, returned.
    redirects: u64,
}

impl SeedFailures {
    /// Counts a redirect of a seed. `target`: hashes of site and path of its target.
    pub(crate) fn add_redirect(&self, target: (u64, u64)) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.redirects += 1;
        failed.targets.insert(target);
    }

    /// Whether a seed redirects to the page with these hashes of site and path.
    pub(crate) fn is_target(&self, key: (u64, u64)) -> bool {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.targets.contains(&key)
    }

    /// Number of redirects that seeds, or the targets of their redirects, returned.
    pub(crate) fn redirects(&self) -> u64 {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.redirects
    }

    /// Remembers a failure. `key`: the hashes of the seed's site and path. Returns false if the seed has already failed
    /// in this crawl.
    pub(crate) fn add(&self, key: (u64, u64), failure: &SeedFailure) -> bool {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.first.get_or_insert_with(|| failure.clone());
        failed.seeds.insert(key)
    }

    /// The first failure.
    pub(crate) fn first(&self) -> Option<SeedFailure> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.first.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_reported_once_and_the_first_one_is_kept() {
        let failures = SeedFailures::default();
        let failure = |url: &str| SeedFailure {
            url: url.to_owned(),
            reason: "time-out".to_owned(),
        };
        assert!(failures.add((1, 1), &failure("a")));
        assert!(failures.add((1, 2), &failure("b")));
        assert!(!failures.add((1, 1), &failure("a")));
        assert_eq!(failures.first().unwrap().url, "a");
    }
}
