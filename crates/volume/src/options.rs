//! The section `[volume]` of the configuration.

use std::{num::NonZero, thread::available_parallelism};

use serde::{Deserialize, Serialize};

use crate::Compression;

/// How volumes are written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// First part of every file name.
    pub prefix: String,
    /// Number of this machine among the nodes of the crawl; part of every [`crate::VolumeId`]. 0 on a single machine.
    #[serde(skip)]
    pub node: u32,
    /// A file is closed and the next one begun when it has grown to this size (or to 200,000 exchanges).
    #[serde(with = "aranha_units::size")]
    pub roll_size: u64,
    /// How records are packed. Most tools read gzip only.
    pub compression: Compression,
    /// For gzip 1 (fast) to 12 (small), by libdeflate's scale; for zstd 1 to 22.
    pub level: i32,
    /// Threads that hash and compress; one more writes. 0: as many as the machine's cores and the level ask for.
    pub threads: usize,
    /// Whether the same payload again becomes a revisit record.
    pub dedupe: bool,
    /// Payloads shorter than this are stored again: a revisit record would not be smaller.
    pub dedupe_minimum: usize,
    /// Memory for the filters of the duplicate index, in bytes. With less, more look-ups go to the disk.
    #[serde(with = "aranha_units::size")]
    pub dedupe_memory: usize,
    /// Exchanges waiting to be written may hold this many bytes; then `append` waits.
    #[serde(with = "aranha_units::size")]
    pub queue_size: u64,
    /// Whether request records are written.
    pub request_records: bool,
    /// Whether metadata records are written.
    pub metadata_records: bool,
    /// Fields of the warcinfo record at the beginning of every file: operator, software, robots …
    #[serde(skip)]
    pub warcinfo: Vec<(String, String)>,
}

impl Options {
    /// Threads that hash and compress. At the fast levels that is less than half of what a page costs: more threads than half
    /// of the cores get in each other's way, and in that of those that fetch and read.
    pub(crate) fn packers(&self) -> usize {
        let cores = || available_parallelism().map_or(1, NonZero::get);
        let fast = match self.compression {
            Compression::Gzip => self.level <= 1,
            Compression::Zstd => self.level <= 3,
        };
        match self.threads {
            0 if fast => cores().div_ceil(2),
            0 => cores(),
            threads => threads,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: "aranha".to_owned(),
            node: 0,
            roll_size: 1_000_000_000,
            compression: Compression::Gzip,
            level: 1,
            threads: 0,
            dedupe: true,
            dedupe_minimum: 256,
            dedupe_memory: 64 << 20,
            queue_size: 8 << 20,
            request_records: true,
            metadata_records: true,
            warcinfo: Vec::new(),
        }
    }
}
