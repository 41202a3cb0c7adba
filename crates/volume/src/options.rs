//! The `[volume]` section of the configuration.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use serde::{Deserialize, Serialize};

use crate::s3::address::StoreAddress;
use crate::{Compression, VolumeError};

/// How volumes are written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// First part of every volume's file name.
    pub prefix: String,
    /// Number of this machine among the nodes of the crawl; part of every [`crate::VolumeId`]. 0 on a single machine.
    #[serde(skip)]
    pub node: u32,
    /// Where volumes go: absolute paths of local folders, and addresses of object stores
    /// (`s3://BUCKET/PREFIX?endpoint=URL&region=NAME`). Without a local folder, volumes are written to `archive/`.
    /// Every closed volume is copied to the first store that works.
    pub stores: Vec<String>,
    /// Whether the local file of a volume is kept when an object store has confirmed its copy.
    pub keep_local: bool,
    /// A volume is closed when it reaches this size in bytes, or 200,000 exchanges.
    #[serde(with = "aranha_units::size")]
    pub roll_size: u64,
    /// Compression of the records. Most tools read gzip only.
    pub compression: Compression,
    /// Compression level: 1 to 12 for gzip (levels of libdeflate), 1 to 22 for zstd. Higher levels are slower and give
    /// smaller files.
    pub level: i32,
    /// Number of threads that hash and compress. 0 means one thread per core, or one per two cores at the fast
    /// compression levels. Two more threads write and finish volumes.
    pub threads: usize,
    /// Whether a payload that is already stored becomes a revisit record.
    pub dedupe: bool,
    /// Payloads shorter than this many bytes are always stored, because a revisit record would not save space.
    pub dedupe_minimum: usize,
    /// Memory for the filters of the duplicate index, in bytes. With less memory, more look-ups read the disk.
    #[serde(with = "aranha_units::size")]
    pub dedupe_memory: usize,
    /// Maximum size of the queued exchanges in bytes. `append` waits while the queue is full.
    #[serde(with = "aranha_units::size")]
    pub queue_size: u64,
    /// Whether request records are written.
    pub request_records: bool,
    /// Whether metadata records are written.
    pub metadata_records: bool,
    /// Fields of the warcinfo record at the beginning of every volume, for example operator, software, robots.
    #[serde(skip)]
    pub warcinfo: Vec<(String, String)>,
}

/// The value of [`Options::stores`], by kind.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Local folders for new volumes.
    pub(crate) folders: Vec<PathBuf>,
    /// Addresses of object stores.
    pub(crate) stores: Vec<String>,
}

/// Checks an entry of [`Options::stores`]. The error is a description of the problem.
pub fn check_store(entry: &str) -> Result<(), String> {
    if entry.contains("://") {
        return StoreAddress::parse(entry).map(drop);
    }
    if Path::new(entry).is_absolute() {
        Ok(())
    } else {
        Err("it is neither an absolute path nor an address like s3://BUCKET".to_owned())
    }
}

impl Options {
    /// The folders and stores for volumes.
    pub(crate) fn places(&self) -> Result<Places, VolumeError> {
        let mut places = Places::default();
        for entry in &self.stores {
            check_store(entry).map_err(|problem| VolumeError::Store {
                store: entry.clone(),
                problem,
            })?;
            if entry.contains("://") {
                places.stores.push(entry.clone());
            } else {
                places.folders.push(PathBuf::from(entry));
            }
        }
        Ok(places)
    }

    /// Number of threads that hash and compress. At the fast levels, hashing and compressing take less than half of the
    /// processor time per page, so half of the cores are left for fetching and parsing.
    pub(crate) fn worker_threads(&self) -> usize {
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
            stores: Vec::new(),
            keep_local: true,
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
