//! Merges sixteen link runs of a level into one link run of the next level, on a separate thread.
//!
//! A merge thread reads the files of the sixteen sources, which never change, and writes the file of the target. When
//! that file is complete, one transaction replaces the sources by the target in the database. So a crash or a close
//! during a merge loses only the work of the merge. The files of the sources are removed when that transaction is
//! durable.
//!
//! The merge drops links that their site has consumed, and links that an older source contains too. The thread reads
//! the newest consumed link run of each site from the last committed state, which may not be durable yet. If a crash
//! undoes that state, it also undoes the later transaction that replaced the sources, so the dropped links still exist
//! in the sources.
//!
//! A link is copied once per level, and each level has at most one merge at a time. If link runs are written faster
//! than they are merged, check-ins wait for the merge, so that the number of link runs is bounded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use super::SqliteStore;
use super::connection;
use super::inbox::Inbox;
use super::link_run_cursor::LinkRunCursor;
use super::link_run_file::{LinkRunFile, LinkRunWriter};
use super::link_runs::LinkRun;
use super::tables::Sqlite;
use crate::codec::Packer;
use crate::links::consumed::Consumed;
use crate::sites::store::Store;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;

/// Number of link runs of a level that are merged into one link run of the next level.
pub(super) const RUNS_PER_MERGE: usize = if cfg!(test) { 8 } else { 16 };
/// Maximum number of link runs of a level that wait to be merged. At this number, check-ins wait until the merge of the
/// level ends. The number is several times [`RUNS_PER_MERGE`], because many small link runs may be written while one
/// large merge runs on a slow disk.
const MAX_UNMERGED: usize = 4 * RUNS_PER_MERGE;
/// Number of sites whose newest consumed link run is read by one query.
const SITES_PER_QUERY: usize = 256;

/// A merge in progress. Dropping it stops the thread and leaves a file that the database does not list.
#[derive(Debug)]
pub(super) struct Merge {
    level: i64,
    /// Number of the target.
    target: i64,
    /// Newest link run of level 0 whose links the target contains.
    last: i64,
    sources: Vec<i64>,
    files: Vec<PathBuf>,
    stop: Arc<AtomicBool>,
    /// The thread returns the complete file, or `None` if it was stopped.
    thread: Option<JoinHandle<Result<Option<LinkRunFile>, StoreError>>>,
}

impl Drop for Merge {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // The result of a stopped merge is not needed.
            let _ = thread.join();
        }
    }
}

impl Inbox {
    /// Whether a merge is in progress or should begin.
    pub(super) fn is_merging(&self) -> bool {
        !self.merges.is_empty() || self.mergeable_level().is_some()
    }

    /// Whether [`Inbox::merge`] has something to do without waiting.
    pub(super) fn has_merge_work(&self) -> bool {
        self.mergeable_level().is_some() || self.merges.iter().any(Merge::is_finished)
    }

    /// The lowest level with enough link runs and no merge in progress.
    fn mergeable_level(&self) -> Option<i64> {
        let highest = self.runs.iter().map(|run| run.level).max()?;
        (0..=highest).find(|level| {
            self.merges.iter().all(|merge| merge.level != *level)
                && self.unmerged(*level).count() >= RUNS_PER_MERGE
        })
    }

    /// The complete link runs of a level that are not being merged.
    fn unmerged(&self, level: i64) -> impl Iterator<Item = &LinkRun> {
        self.runs.iter().filter(move |run| {
            run.level == level
                && run.upto.is_none()
                && !self
                    .merges
                    .iter()
                    .any(|merge| merge.sources.contains(&run.id))
        })
    }

    /// Apply finished merges to the database and start new ones. The caller must have begun a transaction. Waits for a
    /// merge if the level of its sources has too many link runs. If `all` is true, waits for every merge.
    pub(super) fn merge(&mut self, store: &SqliteStore, all: bool) -> Result<(), StoreError> {
        loop {
            let is_late = |merge: &Merge| self.unmerged(merge.level).count() >= MAX_UNMERGED;
            let is_next = |merge: &Merge| all || merge.is_finished() || is_late(merge);
            if let Some(index) = self.merges.iter().position(is_next) {
                let mut merge = self.merges.remove(index);
                let file = merge.wait()?;
                self.replace(store, &merge, file)?;
                continue;
            }
            let Some(level) = self.mergeable_level() else {
                return Ok(());
            };
            if !self.start(store, level)? {
                return Ok(());
            }
        }
    }

    /// Start a merge. Returns false if no thread can be created now.
    fn start(&mut self, store: &SqliteStore, level: i64) -> Result<bool, StoreError> {
        let runs: Vec<&LinkRun> = self.unmerged(level).take(RUNS_PER_MERGE).collect();
        let sources = runs.iter().map(|run| run.id).collect();
        let last = runs.iter().map(|run| run.last).max().unwrap_or(0);
        let files: Vec<LinkRunFile> = runs.iter().filter_map(|run| run.file.clone()).collect();
        let paths = files.iter().map(|file| file.path().to_owned()).collect();
        // Reserve a number. The row is inserted when the file is complete.
        let target = store.run_create(0)?.id;
        store.run_delete(target)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (database, path) = (store.tables.path.clone(), store.run_path(target));
        let thread_stop = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("frontier-merge".to_owned())
            .spawn(move || MergeWork::begin(&database, &path, files)?.finish(&thread_stop));
        let Ok(thread) = thread else {
            return Ok(false);
        };
        self.merges.push(Merge {
            level,
            target,
            last,
            sources,
            files: paths,
            stop,
            thread: Some(thread),
        });
        Ok(true)
    }

    /// Replace the sources by the target, in the database and in the list of link runs.
    fn replace(
        &mut self,
        store: &SqliteStore,
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
        self.obsolete_files.extend_from_slice(&merge.files);
        self.runs.retain(|run| !merge.sources.contains(&run.id));
        self.runs.push(run);
        self.runs.sort_by_key(|run| (run.last, run.id));
        Ok(())
    }
}

impl Merge {
    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Wait for the thread. Returns the complete file.
    fn wait(&mut self) -> Result<LinkRunFile, StoreError> {
        let thread = self.thread.take().expect("a merge is waited for once");
        let failed = || StoreError::damaged("merge into run", self.target);
        thread.join().map_err(|_| failed())??.ok_or_else(failed)
    }
}

/// The state of a merge thread. It has its own read-only connection.
struct MergeWork {
    store: SqliteStore,
    cursors: Vec<LinkRunCursor>,
    writer: LinkRunWriter,
    consumed: Consumed,
    unique: Unique,
}

impl MergeWork {
    fn begin(
        database: &Path,
        target: &Path,
        sources: Vec<LinkRunFile>,
    ) -> Result<MergeWork, StoreError> {
        let packer = Packer::new().map_err(StoreError::at_file(database))?;
        let db = connection::open_reader(database)?;
        let store = Store::new(Sqlite::new(db, database.to_owned(), String::new()), packer);
        let cursors = sources
            .into_iter()
            .map(|file| LinkRunCursor::new(&store.packer, file));
        Ok(MergeWork {
            cursors: cursors.collect::<Result<_, _>>()?,
            writer: LinkRunWriter::create(target)?,
            store,
            consumed: Consumed::default(),
            unique: Unique::default(),
        })
    }

    /// Copy all links. Returns `None` if the merge was stopped.
    fn finish(mut self, stop: &AtomicBool) -> Result<Option<LinkRunFile>, StoreError> {
        while !stop.load(Relaxed) {
            let Some(site) = self.cursors.iter().filter_map(LinkRunCursor::site).min() else {
                return self.writer.finish(&self.store.packer).map(Some);
            };
            self.copy_site(site, stop)?;
        }
        Ok(None)
    }

    /// Copy the links of one site, unless the merge is stopped.
    fn copy_site(&mut self, site: i64, stop: &AtomicBool) -> Result<(), StoreError> {
        let tables = &self.store.tables;
        let read = |from| tables.sites_consumed(from, SITES_PER_QUERY);
        let consumed = self.consumed.of(site, read)?;
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
        // The cursors are in order of the age of their link runs, oldest first. So the links of a site stay in that
        // order.
        for cursor in &mut self.cursors {
            while cursor.site() == Some(site) && !stop.load(Relaxed) {
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
