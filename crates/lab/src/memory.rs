//! The little that hostile sites remember: how often each thing was asked for.
//!
//! Honest answers are pure; a server that is busy twice and then relents, or a name whose address changes
//! between two questions, is not. Only hazards that need it write here, under few keys.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Counters by name, shared by all servers of a lab.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<HashMap<String, u64>>);

impl Memory {
    /// Counts one more and tells how many there were before.
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
