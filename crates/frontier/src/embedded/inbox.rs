//! The inboxes of all sites: gathers links and writes them as link runs, in steps between other work.
//!
//! Links are gathered ([`Gather`]) until there are enough for a link run. Then they are sorted by site and written in
//! steps of a few thousand links. Each step creates the rows of new sites and makes idle sites due, in the transaction
//! of its caller. The file itself is not part of a transaction. After a crash, a file that was not complete and synced
//! is written again from the journal. Merging is in `merge.rs`.

use std::path::PathBuf;

use super::SqliteStore;
use super::link_run_file::LinkRunWriter;
use super::link_runs::LinkRun;
use super::merge::Merge;
use super::sites_with_inbox::SitesWithInbox;
use super::tables::Sqlite;
use crate::codec::BlockBuffer;
use crate::links::gather::{Gather, GatherPosition};
use crate::links::outbox::Outbox;
use crate::links::run_link::RunLink;
use crate::sites;
use crate::sites::tables::Tables as _;
use crate::sites::totals::Totals;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;
use crate::{External, Options, Outside};

/// Minimum number of links that a check-in writes to the link run in progress. It is small in tests, so that link runs
/// stay incomplete for some time.
const MIN_STEP: usize = if cfg!(test) { 1 } else { 500 };
/// Number of entries in the cache of sites with an inbox, 8 bytes each.
const CACHED_SITES: usize = if cfg!(test) { 8 } else { 1 << 21 };

/// A link run that is being written.
#[derive(Debug)]
struct RunInProgress {
    /// Its links, sorted by site.
    gather: Gather,
    /// Index of the next link to write.
    next: usize,
    /// Number of the link run.
    run: i64,
    file: LinkRunWriter,
}

/// Gathered links and link runs.
#[derive(Debug)]
pub(crate) struct Inbox {
    outbox: Outbox,
    in_progress: Option<RunInProgress>,
    /// Empty buffer with the allocated memory of the last link run. It is reused for the next one, so that memory use
    /// stays constant.
    spare: Gather,
    pub(super) runs: Vec<LinkRun>,
    pub(super) merges: Vec<Merge>,
    /// Files of merged link runs, removed when the merge is durable.
    pub(super) obsolete_files: Vec<PathBuf>,
    pub(super) receiving_sites: SitesWithInbox,
    unique: Unique,
    run_links: usize,
}

impl Inbox {
    pub(super) fn new(options: &Options) -> Inbox {
        Inbox {
            outbox: Outbox::new(options),
            in_progress: None,
            spare: Gather::default(),
            runs: Vec::new(),
            merges: Vec::new(),
            obsolete_files: Vec::new(),
            receiving_sites: SitesWithInbox::new(CACHED_SITES),
            unique: Unique::default(),
            run_links: options.run_links.max(1),
        }
    }

    /// Read the state from disk, after opening and after a failed transaction.
    pub(super) fn reload(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        self.outbox.recent.clear();
        self.receiving_sites.clear();
        self.merges.clear();
        self.in_progress = None;
        self.runs = store.runs_read()?;
        store.runs_open(&mut self.runs)?;
        self.remove_unnamed_files(store)?;
        let mut after = 0;
        if let Some(run) = self.runs.iter().find(|run| run.upto.is_some()) {
            let mut gather = store.journal_read(0, run.journal)?;
            gather.links.sort_unstable();
            after = run.journal;
            let upto = run.upto.unwrap_or(i64::MIN);
            let next = gather.links.partition_point(|entry| entry.site <= upto);
            let mut progress = RunInProgress {
                gather,
                next: 0,
                run: run.id,
                file: LinkRunWriter::create(&store.run_path(run.id))?,
            };
            // A transaction has already made the sites of these links due. Only the file is written again.
            while progress.next < next {
                let range = progress.next_site();
                progress.write(store, range, &mut self.unique)?;
            }
            self.in_progress = Some(progress);
        }
        self.outbox.gather = store.journal_read(after, i64::MAX)?;
        Ok(())
    }

    /// Remove files in the folder of link runs that the database does not list.
    fn remove_unnamed_files(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        let runs = &self.runs;
        let is_named = |path: &PathBuf| runs.iter().any(|run| store.run_path(run.id) == *path);
        // These files are removed below, unless the database still lists them. The list is cleared, because after a
        // rollback the number of a link run can be used again. The new file with that number must not be removed.
        self.obsolete_files.clear();
        let folder = store.runs_folder();
        let at_folder = StoreError::at_file(&folder);
        std::fs::create_dir_all(&folder).map_err(&at_folder)?;
        let mut unnamed = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(&at_folder)? {
            let path = entry.map_err(&at_folder)?.path();
            if !is_named(&path) {
                unnamed.push(path);
            }
        }
        if !unnamed.is_empty() {
            // Before the sync, the last durable state of the database may still list these files.
            store.tables.sync()?;
        }
        for path in unnamed {
            std::fs::remove_file(&path).map_err(StoreError::at_file(&path))?;
        }
        Ok(())
    }

    /// Remove the files that the last durable state of the database no longer lists.
    pub(super) fn remove_obsolete_files(&mut self) {
        for path in self.obsolete_files.drain(..) {
            // A file that cannot be removed now is removed when the frontier is next opened.
            let _ = std::fs::remove_file(path);
        }
    }

    /// The links of the link run that is being written.
    pub(super) fn links_in_progress(&self) -> Option<&Gather> {
        self.in_progress.as_ref().map(|progress| &progress.gather)
    }

    /// Number of links that are in no link run yet.
    pub(super) fn gathered(&self) -> usize {
        let run = self.in_progress.as_ref();
        self.outbox.gather.links.len() + run.map_or(0, |run| run.gather.links.len() - run.next)
    }

    /// Position of the next link, for [`Inbox::journal`].
    pub(super) fn position(&self) -> GatherPosition {
        self.outbox.gather.position()
    }

    /// Number of bytes gathered since `start`.
    pub(super) fn bytes_since(&self, start: GatherPosition) -> usize {
        self.outbox.gather.bytes_since(start)
    }

    /// Write the links that were gathered since `start` to the journal.
    pub(super) fn journal(
        &mut self,
        store: &SqliteStore,
        start: GatherPosition,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        store.journal_append(&mut self.outbox.gather, start, block)
    }

    /// Write the next links of the link run in progress. Writes twice as many links as were just gathered (`links`), so
    /// that the link run is complete before there are enough links for the next one.
    pub(super) fn write_in_pace(
        &mut self,
        store: &SqliteStore,
        totals: &mut Totals,
        now: i64,
        links: usize,
    ) -> Result<(), StoreError> {
        if self.outbox.gather.is_full(self.run_links) {
            self.write(store, totals, now, usize::MAX)?;
            self.begin_run(store)?;
        }
        let step = if cfg!(test) { links / 2 } else { 2 * links };
        self.write(store, totals, now, step + MIN_STEP)
    }

    /// Write all gathered links.
    pub(super) fn flush(
        &mut self,
        store: &SqliteStore,
        totals: &mut Totals,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(store, totals, now, usize::MAX)?;
        self.begin_run(store)?;
        self.write(store, totals, now, usize::MAX)
    }

    /// Whether a link run is being written.
    pub(super) fn is_writing(&self) -> bool {
        self.in_progress.is_some()
    }

    /// Sort the gathered links and begin to write them as a link run.
    pub(super) fn begin_run(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        if self.outbox.gather.links.is_empty() {
            return Ok(());
        }
        let next = std::mem::take(&mut self.spare);
        let mut gather = std::mem::replace(&mut self.outbox.gather, next);
        // The order is by site, then by position, which is the order of arrival.
        gather.links.sort_unstable();
        let run = store.run_create(gather.journal)?;
        self.in_progress = Some(RunInProgress {
            gather,
            next: 0,
            run: run.id,
            file: LinkRunWriter::create(&store.run_path(run.id))?,
        });
        self.runs.push(run);
        Ok(())
    }

    /// Write the next links of the link run in progress, approximately `links` of them.
    pub(super) fn write(
        &mut self,
        store: &SqliteStore,
        totals: &mut Totals,
        now: i64,
        links: usize,
    ) -> Result<(), StoreError> {
        let Some(mut progress) = self.in_progress.take() else {
            return Ok(());
        };
        let stop = progress.next.saturating_add(links);
        let index = self
            .runs
            .iter()
            .position(|run| run.id == progress.run)
            .expect("a link run in progress is in the list");
        let mut block = BlockBuffer::default();
        while progress.next < stop.min(progress.gather.links.len()) {
            let range = progress.next_site();
            let site = progress.gather.links[range.start].site;
            if self.make_site_due(store, totals, now, &progress, &range, &mut block)? {
                progress.write(store, range, &mut self.unique)?;
            } else {
                progress.next = range.end;
            }
            self.runs[index].upto = Some(site);
        }
        let run = &mut self.runs[index];
        if progress.next == progress.gather.links.len() {
            run.upto = None;
            run.journal = 0;
            run.file = Some(progress.file.finish(&store.packer)?);
            store.journal_delete(progress.gather.journal)?;
            progress.gather.clear();
            self.spare = progress.gather;
        } else {
            self.in_progress = Some(progress);
        }
        store.run_update(&self.runs[index])
    }

    /// Make the site of these links due, and create its row if it is new. Returns false if the policy drops the links.
    fn make_site_due(
        &mut self,
        store: &SqliteStore,
        totals: &mut Totals,
        now: i64,
        run: &RunInProgress,
        range: &std::ops::Range<usize>,
        block: &mut BlockBuffer,
    ) -> Result<bool, StoreError> {
        let entry = &run.gather.links[range.start];
        let site = entry.site;
        let has_inbox = if self.receiving_sites.has(site) {
            Some(true)
        } else {
            store.tables.site_inbox(site)?
        };
        // The home page policy drops links to known sites, except seeds and claims.
        if has_inbox.is_some()
            && self.outbox.policy == External::HomePage
            && !run.gather.has_request(&run.gather.links[range.clone()])
        {
            return Ok(false);
        }
        if has_inbox != Some(true) {
            let before = store.tables.site(site)?;
            let mut row = if let Some(row) = &before {
                row.clone()
            } else {
                store.new_site(now, run.run, (&run.gather, entry), &self.outbox, block)?
            };
            row.receive_links(now, store.horizon);
            match &before {
                Some(_) => store.site_update(&row)?,
                None => store.site_insert(&row)?,
            }
            totals.site(before.as_ref(), &row);
        }
        self.receiving_sites.insert(site);
        Ok(true)
    }
}

impl sites::tables::Inbox<Sqlite> for Inbox {
    fn send(&mut self, links: &[Outside], totals: &mut Totals) {
        self.outbox.send(links, totals);
    }

    fn send_unfiltered(&mut self, link: &Outside) {
        self.outbox.send_unfiltered(link);
    }

    fn read(
        &mut self,
        store: &SqliteStore,
        site: i64,
        consumed: i64,
        visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        store.inbox_walk(&self.runs, self.links_in_progress(), site, consumed, visit)
    }

    fn on_read(&mut self, site: i64) {
        self.receiving_sites.remove(site);
    }
}

impl RunInProgress {
    /// The links of the next site.
    fn next_site(&self) -> std::ops::Range<usize> {
        let rest = &self.gather.links[self.next..];
        let site = rest[0].site;
        let same = rest.iter().take_while(|entry| entry.site == site).count();
        self.next..self.next + same
    }

    /// Append the links of one site to the file, without duplicates.
    fn write(
        &mut self,
        store: &SqliteStore,
        range: std::ops::Range<usize>,
        unique: &mut Unique,
    ) -> Result<(), StoreError> {
        self.next = range.end;
        unique.begin(range.len());
        for entry in &self.gather.links[range] {
            if unique.is_new(entry.key) {
                let link = self
                    .gather
                    .read(entry)
                    .ok_or_else(|| StoreError::damaged("journal before run", self.run))?;
                let link = link.link(self.run, entry.key);
                self.file.push(&store.packer, entry.site, &link)?;
            }
        }
        Ok(())
    }
}
