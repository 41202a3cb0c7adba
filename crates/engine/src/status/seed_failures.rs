//! Seeds that could not be fetched. The first failure of a seed in a crawl is reported at once, with the reason. Later
//! failures of this seed are not reported.

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

/// The failed seeds of a crawl, as hashes.
#[derive(Debug, Default)]
pub(crate) struct SeedFailures(Mutex<Failed>);

#[derive(Debug, Default)]
struct Failed {
    first: Option<SeedFailure>,
    seeds: HashSet<(u64, u64)>,
}

impl SeedFailures {
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
