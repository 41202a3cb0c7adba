//! The current scope of a collection, for commands that run for days: `squid` and `listen`.
//!
//! Configuration, black list and seeds are reloaded when their files change. Reloading takes at most about 5%
//! of the running time. All files are opened for reading only, so a crawl may run at the same time. If the collection
//! cannot be read, no URL is accepted.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_engine::{Collection as Folder, Config};
use aranha_url::{CanonUrl, Canonicaliser, Scope};

use crate::collection_reader::CollectionReader;
use crate::error::CommandError;
use crate::shared_args::CollectionArg;

/// Minimum time between two checks of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The scope is always reloaded after this time, because the configuration may name black list files outside the
/// collection, and changes of these files are not detected.
const MAX_AGE: Duration = Duration::from_mins(1);

/// The pause between reloads is at least this number times the duration of the last reload.
const RELOAD_COST_FACTOR: u32 = 20;

/// The scope of a collection, reloaded when its files change.
pub(crate) struct LiveScope {
    collection: CollectionArg,
    snapshot: Result<ScopeSnapshot, String>,
    stamps: Vec<FileStamp>,
    checked: Instant,
    loaded: Instant,
    load_time: Duration,
}

/// Inode, length and modification time (seconds and nanoseconds) of a file. If the stamp differs, the file has changed.
/// `None` if the file does not exist.
type FileStamp = Option<(u64, u64, i64, i64)>;

/// The scope from the last time that the files were loaded.
pub(crate) struct ScopeSnapshot {
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    scope: Scope,
}

impl ScopeSnapshot {
    fn load(collection: &CollectionArg) -> Result<Self, CommandError> {
        let collection = CollectionReader::open(collection)?;
        let scope = collection.scope()?;
        Ok(Self {
            config: collection.config,
            canon: collection.canon,
            scope,
        })
    }

    /// Whether a page is in scope. The depth of the page is not known here, and is assumed to be 1, as for a link on a
    /// seed.
    pub(crate) fn accepts(&self, url: &CanonUrl) -> bool {
        self.scope.judge(url, 1).inside
    }
}

impl LiveScope {
    pub(crate) fn new(collection: &CollectionArg) -> Self {
        let now = Instant::now();
        let mut scope = Self {
            collection: collection.clone(),
            snapshot: Err(String::new()),
            stamps: Vec::new(),
            checked: now,
            loaded: now,
            load_time: Duration::ZERO,
        };
        scope.load(scope.stamps());
        scope
    }

    /// The current scope, or the reason why the collection cannot be read.
    pub(crate) fn current(&mut self) -> Result<&ScopeSnapshot, &str> {
        // While the collection cannot be read, check more often, because it may be created at any moment.
        let interval = if self.snapshot.is_ok() {
            CHECK_INTERVAL
        } else {
            CHECK_INTERVAL / 10
        };
        if self.checked.elapsed() >= interval.max(self.load_time * RELOAD_COST_FACTOR) {
            self.checked = Instant::now();
            let stamps = self.stamps();
            if stamps != self.stamps || self.loaded.elapsed() >= MAX_AGE {
                self.load(stamps);
            }
        }
        self.snapshot.as_ref().map_err(String::as_str)
    }

    fn load(&mut self, stamps: Vec<FileStamp>) {
        let start = Instant::now();
        self.snapshot =
            ScopeSnapshot::load(&self.collection).map_err(|error| error.sentence().to_owned());
        self.stamps = stamps;
        self.load_time = start.elapsed();
        self.loaded = Instant::now();
    }

    fn stamps(&self) -> Vec<FileStamp> {
        let folder = Folder::at(&self.collection.folder);
        let mut wal = folder.frontier().into_os_string();
        wal.push("-wal");
        let files = [
            folder.configuration(),
            folder.blacklist(),
            folder.frontier(),
            PathBuf::from(wal),
        ];
        let stamp = |path: PathBuf| {
            let file = fs::metadata(path).ok()?;
            Some((file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
        };
        files.into_iter().map(stamp).collect()
    }
}
