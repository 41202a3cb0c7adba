//! Counters of hostile sites: how often something was requested.
//!
//! Honest sites need no state. Some hazards do, such as a server that is busy twice and then responds, or a name whose
//! address changes between two questions.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Counters by name, shared by all servers of a lab.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<HashMap<String, u64>>);

impl Memory {
    /// Increments the counter and returns its previous value.
    pub(crate) fn count(&self, key: &str) -> u64 {
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
