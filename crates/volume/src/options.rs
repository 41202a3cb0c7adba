//! The section `[volume]` of the configuration.

use serde::{Deserialize, Serialize};

use crate::Compression;

/// How volumes are written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// First part of every file name.
    pub prefix: String,
    /// A file is closed and the next one begun when it has grown to this size (or to 200,000 exchanges).
    #[serde(with = "aranha_url::size")]
    pub roll_size: u64,
    /// How records are packed. Most tools read gzip only.
    pub compression: Compression,
    /// For gzip 1 (fast) to 12 (small), by libdeflate's scale; for zstd 1 to 22.
    pub level: i32,
    /// Threads that hash and compress. One more writes.
    pub threads: usize,
    /// Whether the same payload again becomes a revisit record.
    pub dedupe: bool,
    /// Payloads shorter than this are stored again: a revisit record would not be smaller.
    pub dedupe_minimum: usize,
    /// Memory for the filters of the duplicate index, in bytes. With less, more look-ups go to the disk.
    #[serde(with = "aranha_url::size")]
    pub dedupe_memory: usize,
    /// Exchanges waiting to be written may hold this many bytes; then `append` waits.
    #[serde(with = "aranha_url::size")]
    pub queue_size: u64,
    /// Whether request records are written.
    pub request_records: bool,
    /// Whether metadata records are written.
    pub metadata_records: bool,
    /// Fields of the warcinfo record that heads every file: operator, software, robots …
    #[serde(skip)]
    pub warcinfo: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: "aranha".to_owned(),
            roll_size: 1_000_000_000,
            compression: Compression::Gzip,
            level: 1,
            threads: 2,
            dedupe: true,
            dedupe_minimum: 256,
            dedupe_memory: 64 << 20,
            queue_size: 64 << 20,
            request_records: true,
            metadata_records: true,
            warcinfo: Vec::new(),
        }
    }
}
