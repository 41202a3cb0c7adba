//! Merging runs: sixteen of a level become one of the next, on a thread beside the crawl.
//!
//! A merge reads its sources, which never change, and writes the file of its target; nobody sees it before it is whole, and
//! nothing of it is in the database: a crash, or a frontier that is closed, loses the work and nothing else. Then the
//! target takes the place of its sources in one transaction, and their files are removed when that is durable. On the way
//! a link that its site has consumed is dropped, and so is a link that an earlier run brought already. What was consumed is
//! asked of the database as last committed, before the target has its place: a crash that takes the one back takes the
//! other back, too, and finds the sources.
//!
//! A link is moved once a level, and a level has one merge under way at most: there are as many threads as ripe levels. Whoever
//! brings runs faster than they are merged waits when so many are there that the number of runs would have no bound.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use super::inbox::Inbox;
use super::link_run_cursor::LinkRunCursor;
use super::link_run_file::{LinkRunFile, LinkRunWriter};
use super::link_runs::LinkRun;
use super::schema;
use super::store::Store;
use super::store_error::StoreError;
use super::unique::Unique;
use crate::codec::Packer;

/// Runs of a level that make one of the next.
pub(super) const FAN: usize = if cfg!(test) { 8 } else { 16 };
/// Runs of a level for which its merge under way is waited for: a multiple of [`FAN`], because runs may be small, a merge large
/// and the disk slow.
const LATE: usize = 4 * FAN;
/// Sites whose marks are read at a time.
const WINDOW: usize = 256;

/// A merge under way. To drop it ends it; its file is rubbish then.
#[derive(Debug)]
pub(super) struct Merge {
    level: i64,
    /// Number of the target and newest run in it.
    target: i64,
    last: i64,
    sources: Vec<i64>,
    files: Vec<PathBuf>,
    unwanted: Arc<AtomicBool>,
    /// Ends with the whole file; with none when it was unwanted.
    thread: Option<JoinHandle<Result<Option<LinkRunFile>, StoreError>>>,
}

impl Drop for Merge {
    fn drop(&mut self) {
        self.unwanted.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nobody wants to know what became of it.
            let _ = thread.join();
        }
    }
}

impl Inbox {
    /// Whether merges are under way, or ought to be.
    pub(super) fn is_merging(&self) -> bool {
        !self.merges.is_empty() || self.ripe_level().is_some()
    }

    /// Whether [`Inbox::merge`] would do anything now.
    pub(super) fn wants_merge(&self) -> bool {
        self.ripe_level().is_some() || self.merges.iter().any(Merge::is_over)
    }

    /// The lowest level with enough whole runs that nothing is done with, and no merge under way.
    fn ripe_level(&self) -> Option<i64> {
        let highest = self.runs.iter().map(|run| run.level).max()?;
        (0..=highest).find(|level| {
            self.merges.iter().all(|merge| merge.level != *level)
                && self.resting(*level).count() >= FAN
        })
    }

    fn resting(&self, level: i64) -> impl Iterator<Item = &LinkRun> {
        self.runs.iter().filter(move |run| {
            run.level == level
                && run.upto.is_none()
                && !self
                    .merges
                    .iter()
                    .any(|merge| merge.sources.contains(&run.id))
        })
    }

    /// Takes what is merged and begins what is ripe, inside a transaction. Waits for a merge that is late, and with `all` for
    /// every one.
    pub(super) fn merge(&mut self, store: &Store, all: bool) -> Result<(), StoreError> {
        loop {
            let is_late = |merge: &Merge| self.resting(merge.level).count() >= LATE;
            let over = |merge: &Merge| all || merge.is_over() || is_late(merge);
            if let Some(place) = self.merges.iter().position(over) {
                let mut merge = self.merges.remove(place);
                let file = merge.end()?;
                self.replace(store, &merge, file)?;
                continue;
            }
            let Some(level) = self.ripe_level() else {
                return Ok(());
            };
            if !self.start(store, level)? {
                return Ok(());
            }
        }
    }

    /// False when there is no thread to be had: there may be one later.
    fn start(&mut self, store: &Store, level: i64) -> Result<bool, StoreError> {
        let runs: Vec<&LinkRun> = self.resting(level).take(FAN).collect();
        let sources = runs.iter().map(|run| run.id).collect();
        let last = runs.iter().map(|run| run.last).max().unwrap_or(0);
        let files: Vec<LinkRunFile> = runs.iter().filter_map(|run| run.file.clone()).collect();
        let paths = files.iter().map(|file| file.path().to_owned()).collect();
        // A number that is used for nothing else; the row comes when the run is whole.
        let target = store.run_create(0)?.id;
        store.run_delete(target)?;
        let unwanted = Arc::new(AtomicBool::new(false));
        let (database, path) = (store.path.clone(), store.run_path(target));
        let stop = Arc::clone(&unwanted);
        let thread = std::thread::Builder::new()
            .name("frontier-merge".to_owned())
            .spawn(move || Work::begin(&database, &path, files)?.finish(&stop));
        let Ok(thread) = thread else {
            return Ok(false);
        };
        self.merges.push(Merge {
            level,
            target,
            last,
            sources,
            files: paths,
            unwanted,
            thread: Some(thread),
        });
        Ok(true)
    }

    /// The target takes the place of its sources.
    fn replace(
        &mut self,
        store: &Store,
        merge: &Merge,
        file: LinkRunFile,
    ) -> Result<(), StoreError> {
        let run = LinkRun {
            id: merge.target,
            level: merge.level + 1,
            last: merge.last,
            journal: 0,
            upto: None,
            file: Some(file),
        };
        store.run_insert(&run)?;
        for id in &merge.sources {
            store.run_delete(*id)?;
        }
        self.doomed.extend_from_slice(&merge.files);
        self.runs.retain(|run| !merge.sources.contains(&run.id));
        self.runs.push(run);
        self.runs.sort_by_key(|run| (run.last, run.id));
        Ok(())
    }
}

impl Merge {
    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of it.
    fn end(&mut self) -> Result<LinkRunFile, StoreError> {
        let thread = self.thread.take().expect("a merge ends once");
        let broken = || StoreError::damaged("merge into run", self.target);
        thread.join().map_err(|_| broken())??.ok_or_else(broken)
    }
}

/// What a merge's thread has in hand. It reads the database beside the crawl.
struct Work {
    store: Store,
    cursors: Vec<LinkRunCursor>,
    writer: LinkRunWriter,
    consumed: Consumed,
    unique: Unique,
}

impl Work {
    fn begin(
        database: &Path,
        target: &Path,
        sources: Vec<LinkRunFile>,
    ) -> Result<Work, StoreError> {
        let packer = Packer::new().map_err(StoreError::at_file(database))?;
        let store = Store::new(schema::open_reader(database)?, packer, database.to_owned());
        let cursors = sources
            .into_iter()
            .map(|file| LinkRunCursor::new(&store.packer, file));
        Ok(Work {
            cursors: cursors.collect::<Result<_, _>>()?,
            writer: LinkRunWriter::create(target)?,
            store,
            consumed: Consumed::default(),
            unique: Unique::default(),
        })
    }

    /// Moves all links; none when that is no longer wanted.
    fn finish(mut self, unwanted: &AtomicBool) -> Result<Option<LinkRunFile>, StoreError> {
        while !unwanted.load(Relaxed) {
            let Some(site) = self.cursors.iter().filter_map(LinkRunCursor::site).min() else {
                return self.writer.finish(&self.store.packer).map(Some);
            };
            self.take(site, unwanted)?;
        }
        Ok(None)
    }

    /// Move the links of one site, as long as that is wanted.
    fn take(&mut self, site: i64, unwanted: &AtomicBool) -> Result<(), StoreError> {
        let consumed = self.consumed.of(&self.store, site)?;
        let several = self
            .cursors
            .iter()
            .filter(|cursor| cursor.site() == Some(site))
            .count()
            > 1;
        if several {
            let links = |cursor: &LinkRunCursor| cursor.links().len();
            let here = self.cursors.iter().filter(|c| c.site() == Some(site));
            self.unique.begin(here.map(links).sum());
        }
        let packer = &self.store.packer;
        // The older sources first: links are in the order of their runs.
        for cursor in &mut self.cursors {
            while cursor.site() == Some(site) && !unwanted.load(Relaxed) {
                for link in cursor.links() {
                    if link.run > consumed && (!several || self.unique.is_new(link.key.0)) {
                        self.writer.push(packer, site, &link)?;
                    }
                }
                cursor.advance(packer)?;
            }
        }
        Ok(())
    }
}

/// Which run each site has consumed, read in the order of their keys, some at a time.
#[derive(Debug, Default)]
struct Consumed {
    window: Vec<(i64, i64)>,
    next: usize,
}

impl Consumed {
    fn of(&mut self, store: &Store, site: i64) -> Result<i64, StoreError> {
        if self.window.last().is_none_or(|(last, _)| *last < site) {
            self.window = store.sites_consumed(site, WINDOW)?;
            self.next = 0;
        }
        while let Some((key, consumed)) = self.window.get(self.next) {
            if *key >= site {
                return Ok(if *key == site { *consumed } else { 0 });
            }
            self.next += 1;
        }
        Ok(0)
    }
}
