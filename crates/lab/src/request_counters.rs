//! Counters of hostile sites: how often a URL was requested or a name was looked up.
//!
//! Honest sites have no state. Some hazards need state, such as a server that refuses the first two requests for a
//! page, or a name whose address changes after the first query.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Counters by key, shared by all servers of a lab.
#[derive(Debug, Default)]
pub(crate) struct RequestCounters(Mutex<HashMap<String, u64>>);

impl RequestCounters {
    /// Increments the counter of `key` and returns its previous value.
    pub(crate) fn increment(&self, key: &str) -> u64 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    pub(crate) fn clear(&self) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clear();
    }
}
