//! The inbox: from gathered links to runs, in steps beside the crawl.
//!
//! Links are gathered ([`Gather`]) until there are enough for a run; then the batch is sorted by site and written in steps
//! of a few thousand links, each inside a transaction that is made anyway. A site named for the first time gets its row
//! there, and a site with nothing to do becomes due. Merging is in `merge.rs`.

use aranha_url::PathKey;

use super::fault::Fault;
use super::gather::{Gather, Recent};
use super::runs::{Link, RowWriter, Run};
use super::sites::SiteRow;
use super::store::Store;
use super::totals::{Count, Totals};
use crate::codec::{Block, put_str, put_varint};
use crate::seen::Seen;
use crate::{External, Options, Outside};

/// Links of a run that a check-in writes at least; few in tests, so that they see runs half written.
const LEAST: usize = if cfg!(test) { 1 } else { 500 };

/// A batch that is being written as a run.
#[derive(Debug)]
struct Frozen {
    gather: Gather,
    /// Next link in `gather.links`, which is sorted by site.
    next: usize,
    /// The run, by number.
    run: i64,
}

/// The inbox's memory.
#[derive(Debug)]
pub(super) struct Inbox {
    gather: Gather,
    frozen: Option<Frozen>,
    pub(super) runs: Vec<Run>,
    recent: Recent,
    writer: RowWriter,
    seen: Seen,
    policy: External,
    home: PathKey,
    run_links: usize,
}

impl Inbox {
    pub(super) fn new(options: &Options) -> Inbox {
        Inbox {
            gather: Gather::default(),
            frozen: None,
            runs: Vec::new(),
            recent: Recent::new(options.recent_links),
            writer: RowWriter::default(),
            seen: Seen::default(),
            policy: options.external,
            home: PathKey::of("/"),
            run_links: options.run_links.max(1),
        }
    }

    /// Take up what is on disk: after opening, and after a transaction that failed.
    pub(super) fn reload(&mut self, store: &Store) -> Result<(), Fault> {
        self.recent.clear();
        self.runs = store.runs_read()?;
        self.frozen = None;
        let mut after = 0;
        let building = self
            .runs
            .iter()
            .find(|run| run.level == 0 && run.upto.is_some());
        if let Some(run) = building {
            let mut gather = store.journal_read(0, run.journal)?;
            gather.links.sort_by_key(|(site, _)| *site);
            let upto = run.upto.unwrap_or(i64::MIN);
            let next = gather.links.partition_point(|(site, _)| *site <= upto);
            after = run.journal;
            self.frozen = Some(Frozen {
                gather,
                next,
                run: run.id,
            });
        }
        self.gather = store.journal_read(after, i64::MAX)?;
        Ok(())
    }

    /// Links not yet to be found in a run.
    pub(super) fn gathered(&self) -> usize {
        let frozen = self.frozen.as_ref();
        self.gather.links.len() + frozen.map_or(0, |frozen| frozen.gather.links.len() - frozen.next)
    }

    /// Where the next link will be: to be given to [`Inbox::journal`].
    pub(super) fn mark(&self) -> usize {
        self.gather.bytes.len()
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
        mark: usize,
        block: &mut Block,
    ) -> Result<(), Fault> {
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
    ) -> Result<(), Fault> {
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
    ) -> Result<(), Fault> {
        self.write(store, totals, now, usize::MAX)?;
        self.freeze(store)?;
        self.write(store, totals, now, usize::MAX)
    }

    /// Whether a run is being written.
    pub(super) fn is_writing(&self) -> bool {
        self.frozen.is_some()
    }

    /// Sort what was gathered; from here on it is written as a run.
    pub(super) fn freeze(&mut self, store: &Store) -> Result<(), Fault> {
        if self.gather.links.is_empty() {
            return Ok(());
        }
        let mut gather = std::mem::take(&mut self.gather);
        // By site, and by offset within: the order of arrival.
        gather.links.sort_unstable();
        let run = store.run_create(0, None, gather.journal)?;
        self.frozen = Some(Frozen {
            gather,
            next: 0,
            run: run.id,
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
    ) -> Result<(), Fault> {
        let Some(mut frozen) = self.frozen.take() else {
            return Ok(());
        };
        let count = frozen.gather.links.len();
        let stop = frozen.next.saturating_add(links).min(count);
        let place = self
            .runs
            .iter()
            .position(|run| run.id == frozen.run)
            .expect("a run under way is in the list");
        let insert = format!("INSERT INTO run_{} VALUES (?1, ?2)", frozen.run);
        while frozen.next < stop {
            let (site, _) = frozen.gather.links[frozen.next];
            let same = frozen.gather.links[frozen.next..]
                .iter()
                .take_while(|(other, _)| *other == site)
                .count();
            let range = frozen.next..frozen.next + same;
            if self.announce(store, totals, now, &frozen, range)? {
                store.run(&insert, (site, store.packer.seal(&self.writer.block)))?;
                self.runs[place].links += self.writer.links;
            }
            frozen.next += same;
            self.runs[place].upto = Some(site);
        }
        let run = &mut self.runs[place];
        if frozen.next == count {
            run.upto = None;
            run.journal = 0;
            store.journal_delete(frozen.gather.journal)?;
        } else {
            self.frozen = Some(frozen);
        }
        store.run_update(&self.runs[place])
    }

    /// Put the links of one site into the row, and the site among those that are due. False: nothing to write.
    fn announce(
        &mut self,
        store: &Store,
        totals: &mut Totals,
        now: i64,
        frozen: &Frozen,
        range: std::ops::Range<usize>,
    ) -> Result<bool, Fault> {
        let damaged = || Fault::damaged("journal before run", frozen.run);
        let (site, first) = frozen.gather.links[range.start];
        let first = frozen.gather.read(first).ok_or_else(damaged)?;
        self.writer.clear();
        self.seen.clear();
        match store.site_inbox(site)? {
            None => {
                let mut row = SiteRow::new(site, first.name, first.origin, frozen.run - 1);
                row.inbox = true;
                row.schedule(now);
                store.site_insert(&row)?;
                totals.site(None, &row);
                if self.policy == External::Combined {
                    self.push_home(frozen.run, first.body);
                }
            }
            // The home page policy drops links to known sites; only a seed passes.
            Some(_) if self.policy == External::HomePage && !has_seed(&frozen.gather, &range) => {
                return Ok(false);
            }
            Some(true) => {}
            Some(false) => {
                let before = store.site(site)?.ok_or_else(damaged)?;
                let mut row = before.clone();
                row.inbox = true;
                row.schedule(now);
                store.site_update(&row)?;
                totals.site(Some(&before), &row);
            }
        }
        let single = range.len() == 1 && self.seen.is_empty();
        for (_, offset) in &frozen.gather.links[range] {
            let link = frozen.gather.read(*offset).ok_or_else(damaged)?;
            if single || self.seen.insert(link.key) {
                self.writer.push(Link {
                    run: frozen.run,
                    key: PathKey(link.key),
                    body: link.body,
                });
            }
        }
        Ok(true)
    }

    /// The home page of a new site, at the depth of the link that led there.
    fn push_home(&mut self, run: i64, body: &[u8]) {
        let found = Link {
            run,
            key: self.home,
            body,
        };
        let Some((depth, hop, _, via)) = found.fields() else {
            return;
        };
        let mut body = Vec::with_capacity(body.len());
        put_varint(&mut body, u64::from(depth));
        put_varint(&mut body, u64::from(u32::from(hop)));
        put_str(&mut body, "/");
        put_str(&mut body, via);
        self.seen.insert(self.home.0);
        self.writer.push(Link {
            body: &body,
            ..found
        });
    }
}

fn has_seed(gather: &Gather, range: &std::ops::Range<usize>) -> bool {
    gather.links[range.clone()].iter().any(|(_, offset)| {
        let link = gather.read(*offset).map(|link| Link {
            run: 0,
            key: PathKey(link.key),
            body: link.body,
        });
        link.and_then(|link| link.fields())
            .is_some_and(|(_, hop, _, _)| hop == '-')
    })
}
