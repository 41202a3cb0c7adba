//! The inbox: from gathered links to runs, in steps beside the crawl.
//!
//! Links are gathered ([`Gather`]) until there are enough for a run; then the batch is sorted by site and written in steps
//! of a few thousand links. A site named for the first time gets its row there, and a site with nothing to do becomes due,
//! inside a transaction that is made anyway; the file itself needs none, because the journal can make it anew until it
//! is whole and synced. Merging is in `merge.rs`.

use std::path::PathBuf;

use aranha_url::PathKey;

use super::gather::{Gather, Mark, Recent, Sent, SitesWithInbox};
use super::link_run_file::LinkRunWriter;
use super::link_runs::LinkRun;
use super::merge::Merge;
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use super::totals::{Count, Totals};
use super::unique::Unique;
use crate::codec::BlockBuffer;
use crate::{External, Hop, Options, Outside, Pending};

/// Links of a run that a check-in writes at least; few in tests, so that they see runs half written.
const LEAST: usize = if cfg!(test) { 1 } else { 500 };
/// Sites that are known to wait for a visit already; 8 bytes each.
const WAITING: usize = if cfg!(test) { 8 } else { 1 << 21 };

/// A batch that is being written as a run.
#[derive(Debug)]
struct Frozen {
    /// Sorted by site.
    gather: Gather,
    /// Next link in `gather.links`.
    next: usize,
    /// The run, by number.
    run: i64,
    file: LinkRunWriter,
}

/// The inbox's memory.
#[derive(Debug)]
pub(super) struct Inbox {
    gather: Gather,
    frozen: Option<Frozen>,
    /// Empty, with the memory of the last batch: two batches take turns, so that memory is the same all the time and
    /// not a saw.
    spare: Gather,
    pub(super) runs: Vec<LinkRun>,
    pub(super) merges: Vec<Merge>,
    /// Files that the database no longer names; removed when that is durable.
    pub(super) doomed: Vec<PathBuf>,
    recent: Recent,
    pub(super) waiting: SitesWithInbox,
    unique: Unique,
    policy: External,
    home: PathKey,
    run_links: usize,
}

impl Inbox {
    pub(super) fn new(options: &Options) -> Inbox {
        Inbox {
            gather: Gather::default(),
            frozen: None,
            spare: Gather::default(),
            runs: Vec::new(),
            merges: Vec::new(),
            doomed: Vec::new(),
            recent: Recent::new(options.recent_links),
            waiting: SitesWithInbox::new(WAITING),
            unique: Unique::default(),
            policy: options.external_links,
            home: PathKey::of("/"),
            run_links: options.run_links.max(1),
        }
    }

    /// Take up what is on disk: after opening, and after a transaction that failed.
    pub(super) fn reload(&mut self, store: &Store) -> Result<(), StoreError> {
        self.recent.clear();
        self.waiting.clear();
        self.merges.clear();
        self.frozen = None;
        self.runs = store.runs_read()?;
        store.runs_open(&mut self.runs)?;
        self.remove_rubbish(store)?;
        let mut after = 0;
        if let Some(run) = self.runs.iter().find(|run| run.upto.is_some()) {
            let mut gather = store.journal_read(0, run.journal)?;
            gather.links.sort_unstable();
            after = run.journal;
            let upto = run.upto.unwrap_or(i64::MIN);
            let next = gather.links.partition_point(|sent| sent.site <= upto);
            let mut frozen = Frozen {
                gather,
                next: 0,
                run: run.id,
                file: LinkRunWriter::create(&store.run_path(run.id))?,
            };
            // These were announced; the file is made anew.
            while frozen.next < next {
                let range = frozen.next_site();
                frozen.write(store, range, &mut self.unique)?;
            }
            self.frozen = Some(frozen);
        }
        self.gather = store.journal_read(after, i64::MAX)?;
        Ok(())
    }

    /// Remove files that the database does not name.
    fn remove_rubbish(&mut self, store: &Store) -> Result<(), StoreError> {
        let runs = &self.runs;
        let is_named = |path: &PathBuf| runs.iter().any(|run| store.run_path(run.id) == *path);
        // They are rubbish like others, and their numbers may be given out again.
        self.doomed.clear();
        let folder = store.runs_folder();
        let fault = StoreError::at_file(&folder);
        std::fs::create_dir_all(&folder).map_err(&fault)?;
        let mut rubbish = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(&fault)? {
            let path = entry.map_err(&fault)?.path();
            if !is_named(&path) {
                rubbish.push(path);
            }
        }
        if !rubbish.is_empty() {
            // The last state that is durable may name them yet.
            store.sync()?;
        }
        for path in rubbish {
            std::fs::remove_file(&path).map_err(StoreError::at_file(&path))?;
        }
        Ok(())
    }

    /// What the last durable transaction left without a name.
    pub(super) fn remove_doomed(&mut self) {
        for path in self.doomed.drain(..) {
            // A file that stays is removed when the frontier is next opened.
            let _ = std::fs::remove_file(path);
        }
    }

    /// The batch that is being written, for sites that look for their links.
    pub(super) fn written(&self) -> Option<&Gather> {
        self.frozen.as_ref().map(|frozen| &frozen.gather)
    }

    /// Links not yet to be found in a run.
    pub(super) fn gathered(&self) -> usize {
        let frozen = self.frozen.as_ref();
        self.gather.links.len() + frozen.map_or(0, |frozen| frozen.gather.links.len() - frozen.next)
    }

    /// Where the next link will be: to be given to [`Inbox::journal`].
    pub(super) fn mark(&self) -> Mark {
        self.gather.mark()
    }

    /// How much was gathered since then.
    pub(super) fn bytes_since(&self, mark: Mark) -> usize {
        self.gather.bytes_since(mark)
    }

    /// Take links to other sites, but for those sent lately.
    pub(super) fn send(&mut self, links: &[Outside], totals: &mut Totals) {
        let before = self.gather.links.len();
        for link in links {
            let key = match self.policy {
                External::HomePage => self.home,
                External::DeepLink | External::Combined => link.path_key,
            };
            if self.recent.note(link.site_key.0, key.0) {
                self.gather.push(link, self.policy, self.home);
            }
        }
        totals.add(Count::Links, links.len() as i64);
        totals.add(Count::Sent, (self.gather.links.len() - before) as i64);
    }

    /// Take a link as it is, whatever the policy and however recent: a seed of a site that is being visited.
    pub(super) fn send_seed(&mut self, link: &Outside) {
        self.gather.push(link, External::DeepLink, self.home);
    }

    /// Make what was sent since `mark` durable with this transaction.
    pub(super) fn journal(
        &mut self,
        store: &Store,
        mark: Mark,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        store.journal_append(&mut self.gather, mark, block)
    }

    /// Keep pace: write as much of a run as the crawl brings, twice over, so that one batch is on disk before the next
    /// is full.
    pub(super) fn pace(
        &mut self,
        store: &Store,
        totals: &mut Totals,
        now: i64,
        links: usize,
    ) -> Result<(), StoreError> {
        if self.gather.is_full(self.run_links) {
            self.write(store, totals, now, usize::MAX)?;
            self.freeze(store)?;
        }
        let pace = if cfg!(test) { links / 2 } else { 2 * links };
        self.write(store, totals, now, pace + LEAST)
    }

    /// Write everything gathered.
    pub(super) fn flush(
        &mut self,
        store: &Store,
        totals: &mut Totals,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(store, totals, now, usize::MAX)?;
        self.freeze(store)?;
        self.write(store, totals, now, usize::MAX)
    }

    /// Whether a run is being written.
    pub(super) fn is_writing(&self) -> bool {
        self.frozen.is_some()
    }

    /// Sort what was gathered; from here on it is written as a run.
    pub(super) fn freeze(&mut self, store: &Store) -> Result<(), StoreError> {
        if self.gather.links.is_empty() {
            return Ok(());
        }
        let next = std::mem::take(&mut self.spare);
        let mut gather = std::mem::replace(&mut self.gather, next);
        // By site, and by offset within: the order of arrival.
        gather.links.sort_unstable();
        let run = store.run_create(gather.journal)?;
        self.frozen = Some(Frozen {
            gather,
            next: 0,
            run: run.id,
            file: LinkRunWriter::create(&store.run_path(run.id))?,
        });
        self.runs.push(run);
        Ok(())
    }

    /// Write about `links` links of the run under way.
    pub(super) fn write(
        &mut self,
        store: &Store,
        totals: &mut Totals,
        now: i64,
        links: usize,
    ) -> Result<(), StoreError> {
        let Some(mut frozen) = self.frozen.take() else {
            return Ok(());
        };
        let stop = frozen.next.saturating_add(links);
        let place = self
            .runs
            .iter()
            .position(|run| run.id == frozen.run)
            .expect("a run under way is in the list");
        let mut block = BlockBuffer::default();
        while frozen.next < stop.min(frozen.gather.links.len()) {
            let range = frozen.next_site();
            let site = frozen.gather.links[range.start].site;
            if self.announce(store, totals, now, &frozen, &range, &mut block)? {
                frozen.write(store, range, &mut self.unique)?;
            } else {
                frozen.next = range.end;
            }
            self.runs[place].upto = Some(site);
        }
        let run = &mut self.runs[place];
        if frozen.next == frozen.gather.links.len() {
            run.upto = None;
            run.journal = 0;
            run.file = Some(frozen.file.finish(&store.packer)?);
            store.journal_delete(frozen.gather.journal)?;
            frozen.gather.clear();
            self.spare = frozen.gather;
        } else {
            self.frozen = Some(frozen);
        }
        store.run_update(&self.runs[place])
    }

    /// See to it that the site is among those that are due. False: its links are not wanted.
    fn announce(
        &mut self,
        store: &Store,
        totals: &mut Totals,
        now: i64,
        frozen: &Frozen,
        range: &std::ops::Range<usize>,
        block: &mut BlockBuffer,
    ) -> Result<bool, StoreError> {
        let damaged = || StoreError::damaged("journal before run", frozen.run);
        let sent = &frozen.gather.links[range.start];
        let site = sent.site;
        let is_waiting = if self.waiting.has(site) {
            Some(true)
        } else {
            store.site_inbox(site)?
        };
        // The home page policy drops links to known sites; what no page led to passes.
        if is_waiting.is_some() && self.policy == External::HomePage && !frozen.is_asked_for(range)
        {
            return Ok(false);
        }
        if is_waiting != Some(true) {
            let before = store.site(site)?;
            let mut row = if let Some(row) = &before {
                row.clone()
            } else {
                let first = frozen.gather.read(sent).ok_or_else(damaged)?;
                let mut row = SiteRow::new(site, first.name, &first.origin(), frozen.run - 1);
                if self.policy == External::Combined {
                    row.free = now;
                    let link = first.link(frozen.run, sent.key);
                    let (depth, hop, _, via) = link.fields().ok_or_else(damaged)?;
                    let home = self.home_page(depth, hop, via);
                    store.keys_append(&mut row, &[home.key])?;
                    store.queue_append(&mut row, &[home], block)?;
                }
                row
            };
            row.receive(now, store.horizon);
            match &before {
                Some(_) => store.site_update(&row)?,
                None => store.site_insert(&row)?,
            }
            totals.site(before.as_ref(), &row);
        }
        self.waiting.insert(site);
        Ok(true)
    }

    /// The home page of a new site, at the depth of the link that led there.
    fn home_page(&self, depth: u16, hop: Hop, via: &str) -> Pending {
        Pending {
            path: "/".to_owned(),
            key: self.home,
            depth,
            site_depth: 0,
            tries: 0,
            hop,
            via: via.to_owned(),
            past: None,
        }
    }
}

impl Frozen {
    /// The links of the next site.
    fn next_site(&self) -> std::ops::Range<usize> {
        let rest = &self.gather.links[self.next..];
        let site = rest[0].site;
        let same = rest.iter().take_while(|sent| sent.site == site).count();
        self.next..self.next + same
    }

    /// Append the links of one site to the file, each page once.
    fn write(
        &mut self,
        store: &Store,
        range: std::ops::Range<usize>,
        unique: &mut Unique,
    ) -> Result<(), StoreError> {
        self.next = range.end;
        unique.begin(range.len());
        for sent in &self.gather.links[range] {
            if unique.is_new(sent.key) {
                let link = self
                    .gather
                    .read(sent)
                    .ok_or_else(|| StoreError::damaged("journal before run", self.run))?;
                let link = link.link(self.run, sent.key);
                self.file.push(&store.packer, sent.site, &link)?;
            }
        }
        Ok(())
    }

    /// Whether there is a seed among them, or a page that a signal told of: those were found on no page.
    fn is_asked_for(&self, range: &std::ops::Range<usize>) -> bool {
        let is_asked_for = |sent: &Sent| {
            let link = self.gather.read(sent)?.link(self.run, sent.key);
            let (_, _, _, via) = link.fields()?;
            Some(via.is_empty())
        };
        self.gather.links[range.clone()]
            .iter()
            .any(|sent| is_asked_for(sent) == Some(true))
    }
}
