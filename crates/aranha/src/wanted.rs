//! What a collection wants at this moment, for programs that hear of pages for days: `squid` and `listen`.
//!
//! Configuration, black list and seeds are read again when their files have changed, but reading never takes more than a
//! twentieth of the time. Everything is opened for reading only, beside a crawl or without one. A collection that cannot be
//! read wants nothing: what nobody can judge is not written down.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_engine::{Collection as Folder, Config};
use aranha_url::{CanonUrl, Canonicaliser, Scope};

use crate::archived::Archived;
use crate::collection::Collection;
use crate::complaint::Complaint;

/// Files are looked at this often at most.
const LOOK: Duration = Duration::from_secs(1);

/// Lists that the configuration names have no mark: everything is read again after this.
const STALE: Duration = Duration::from_mins(1);

/// Pause between readings, in readings.
const EASE: u32 = 20;

/// A collection's wishes, kept up to date.
pub(crate) struct Wanted {
    collection: Collection,
    wishes: Result<Wishes, String>,
    marks: Vec<Mark>,
    looked: Instant,
    read: Instant,
    cost: Duration,
}

/// By which a file that has changed is known; `None`: it is not there.
type Mark = Option<(u64, u64, i64, i64)>;

/// What is wanted.
pub(crate) struct Wishes {
    pub(crate) config: Config,
    pub(crate) canon: Canonicaliser,
    scope: Scope,
}

impl Wishes {
    fn read(collection: &Collection) -> Result<Self, Complaint> {
        let archived = Archived::open(collection)?;
        let scope = archived.scope()?;
        Ok(Self {
            config: archived.config,
            canon: archived.canon,
            scope,
        })
    }

    /// Whether a page that is known by hearsay, no seed and one link from one at best, is in scope.
    pub(crate) fn want(&self, url: &CanonUrl) -> bool {
        self.scope.judge(url, 1).inside
    }
}

impl Wanted {
    /// Reads for the first time.
    pub(crate) fn new(collection: &Collection) -> Self {
        let now = Instant::now();
        let mut wanted = Self {
            collection: collection.clone(),
            wishes: Err(String::new()),
            marks: Vec::new(),
            looked: now,
            read: now,
            cost: Duration::ZERO,
        };
        wanted.read(wanted.marks());
        wanted
    }

    /// What is wanted now, or why that cannot be known.
    pub(crate) fn wishes(&mut self) -> Result<&Wishes, &str> {
        // What is not there yet may come at any moment.
        let look = if self.wishes.is_ok() { LOOK } else { LOOK / 10 };
        if self.looked.elapsed() >= look.max(self.cost * EASE) {
            self.looked = Instant::now();
            let marks = self.marks();
            if marks != self.marks || self.read.elapsed() >= STALE {
                self.read(marks);
            }
        }
        self.wishes.as_ref().map_err(String::as_str)
    }

    fn read(&mut self, marks: Vec<Mark>) {
        let begun = Instant::now();
        self.wishes =
            Wishes::read(&self.collection).map_err(|complaint| complaint.sentence().to_owned());
        self.marks = marks;
        self.cost = begun.elapsed();
        self.read = Instant::now();
    }

    fn marks(&self) -> Vec<Mark> {
        let folder = Folder::at(&self.collection.folder);
        let mut log = folder.frontier().into_os_string();
        log.push("-wal");
        let files = [
            folder.configuration(),
            folder.blacklist(),
            folder.frontier(),
            PathBuf::from(log),
        ];
        let mark = |path: PathBuf| {
            let file = fs::metadata(path).ok()?;
            Some((file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
        };
        files.into_iter().map(mark).collect()
    }
}
