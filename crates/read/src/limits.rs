//! How much time, memory and text one document may take.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits for one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum time for reading. A PDF file whose pages take longer is read up to the page that exceeds three quarters
    /// of this time.
    pub time: Duration,
    /// Maximum memory of the worker process in bytes, in addition to what it has when it starts.
    pub memory: u64,
    /// Maximum bytes of text. Readers stop when they have more.
    pub max_text: usize,
    /// Maximum number of links.
    pub max_links: usize,
}

impl Limits {
    /// Maximum bytes to which one part of a document may be decompressed: a quarter of the memory.
    pub(crate) fn max_part(&self) -> u64 {
        self.memory / 4
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(20),
            memory: 1 << 30,
            max_text: 4 << 20,
            max_links: 20_000,
        }
    }
}
