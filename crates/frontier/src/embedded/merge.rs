//! Merging runs: sixteen of a level become one of the next, a short step at a time.
//!
//! A step reads on in the sources, which never change, and appends to the file of the target; nobody sees it before it is
//! whole, and nothing of it is in the database: a crash loses the work and nothing else. Then the target takes the place
//! of its sources in one transaction, and their files are removed when that is durable. On the way a link that its site
//! has consumed is dropped, and so is a link that an earlier run brought already.
//!
//! A link is moved once a level, so merging is paid for by the links that come: each brings credit for as many moves as
//! there are levels, and while links come no more is moved than was paid for. So the cost of a link stays even, instead of
//! a long merge taking the machine now and then. When no links come, tidying merges without asking for credit. The work
//! is shared out from the lowest level up, because there runs pile up soonest.

use super::cursor::Cursor;
use super::fault::Fault;
use super::file::RunWriter;
use super::inbox::Inbox;
use super::runs::Run;
use super::store::Store;
use super::unique::Unique;

/// Runs of a level that make one of the next.
pub(super) const FAN: usize = if cfg!(test) { 8 } else { 16 };
/// Links moved in one step; few in tests, so that they see merges half done.
const STEP: usize = if cfg!(test) { 2 } else { 2000 };
/// Moves that a link pays for, in eighths, for each merge under way. More than one, so that a merge is done before the
/// next one of its level is due.
const PAID: i64 = 9;
/// Sites whose marks are read at a time.
const WINDOW: usize = 64;

/// A merge under way.
#[derive(Debug)]
pub(super) struct Merge {
    level: i64,
    /// Number of the target and newest run in it.
    target: i64,
    last: i64,
    sources: Vec<i64>,
    cursors: Vec<Cursor>,
    writer: Option<RunWriter>,
    consumed: Consumed,
    unique: Unique,
}

impl Inbox {
    /// Whether there is anything to merge.
    pub(super) fn is_merging(&self) -> bool {
        !self.merges.is_empty() || self.ripe_level(FAN).is_some()
    }

    /// Whether no links came since this was last asked.
    pub(super) fn is_idle(&mut self) -> bool {
        !std::mem::take(&mut self.busy)
    }

    /// Links came: they pay for merging.
    pub(super) fn pay(&mut self, links: usize) {
        self.busy = true;
        let merges = self.merges.len().max(1) as i64;
        self.credit = self.credit.min(0) + links as i64 * PAID * merges / 8;
    }

    /// The lowest level with `count` whole runs that nothing is done with, and no merge under way.
    pub(super) fn ripe_level(&self, count: usize) -> Option<i64> {
        let highest = self.runs.iter().map(|run| run.level).max()?;
        (0..=highest).find(|level| {
            self.merges.iter().all(|merge| merge.level != *level)
                && self.resting(*level).count() >= count
        })
    }

    fn resting(&self, level: i64) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| {
            run.level == level
                && run.upto.is_none()
                && !self
                    .merges
                    .iter()
                    .any(|merge| merge.sources.contains(&run.id))
        })
    }

    /// One step of every merge under way, inside a transaction; false when there was nothing to do.
    pub(super) fn merge(&mut self, store: &Store) -> Result<bool, Fault> {
        while let Some(level) = self.ripe_level(FAN) {
            self.start(store, level)?;
        }
        let mut place = 0;
        let any = !self.merges.is_empty();
        while place < self.merges.len() {
            let (moved, done) = self.merges[place].step(store)?;
            self.credit -= moved as i64;
            if done {
                let merge = self.merges.remove(place);
                self.replace(store, merge)?;
            } else {
                place += 1;
            }
        }
        Ok(any)
    }

    fn start(&mut self, store: &Store, level: i64) -> Result<(), Fault> {
        let runs: Vec<&Run> = self.resting(level).take(FAN).collect();
        let sources = runs.iter().map(|run| run.id).collect();
        let last = runs.iter().map(|run| run.last).max().unwrap_or(0);
        let mut cursors = Vec::with_capacity(FAN);
        for file in runs.iter().filter_map(|run| run.file.clone()) {
            cursors.push(Cursor::new(&store.packer, file)?);
        }
        // A number that is used for nothing else; the row comes when the run is whole.
        let target = store.run_create(0)?.id;
        store.run_delete(target)?;
        self.merges.push(Merge {
            level,
            target,
            last,
            sources,
            cursors,
            writer: Some(RunWriter::create(&store.run_path(target))?),
            consumed: Consumed::default(),
            unique: Unique::default(),
        });
        self.merges.sort_by_key(|merge| merge.level);
        Ok(())
    }

    /// The target takes the place of its sources.
    fn replace(&mut self, store: &Store, mut merge: Merge) -> Result<(), Fault> {
        let Some(writer) = merge.writer.take() else {
            return Ok(());
        };
        let run = Run {
            id: merge.target,
            level: merge.level + 1,
            last: merge.last,
            journal: 0,
            upto: None,
            file: Some(writer.finish(&store.packer)?),
        };
        store.run_insert(&run)?;
        for cursor in &merge.cursors {
            self.doomed.push(cursor.run().path().to_owned());
        }
        for id in &merge.sources {
            store.run_delete(*id)?;
        }
        self.runs.retain(|run| !merge.sources.contains(&run.id));
        self.runs.push(run);
        self.runs.sort_by_key(|run| (run.last, run.id));
        Ok(())
    }
}

impl Merge {
    /// Move some links; answers how many were read, and whether that was all.
    fn step(&mut self, store: &Store) -> Result<(usize, bool), Fault> {
        let mut moved = 0;
        while moved < STEP {
            let Some(site) = self.cursors.iter().filter_map(Cursor::site).min() else {
                return Ok((moved, true));
            };
            moved += self.take(store, site)?;
        }
        Ok((moved, false))
    }

    /// Move the links of one site, or of the part of it that is in the blocks at hand.
    fn take(&mut self, store: &Store, site: i64) -> Result<usize, Fault> {
        let Some(writer) = &mut self.writer else {
            return Ok(0);
        };
        let consumed = self.consumed.of(store, site)?;
        let mut moved = 0;
        let several = self
            .cursors
            .iter()
            .filter(|cursor| cursor.site() == Some(site))
            .count()
            > 1;
        if several {
            let links = |cursor: &Cursor| cursor.links().len();
            let here = self.cursors.iter().filter(|c| c.site() == Some(site));
            self.unique.begin(here.map(links).sum());
        }
        // The older sources first: links are in the order of their runs.
        for cursor in &mut self.cursors {
            while cursor.site() == Some(site) {
                for link in cursor.links() {
                    moved += 1;
                    if link.run > consumed && (!several || self.unique.is_new(link.key.0)) {
                        writer.push(&store.packer, site, &link)?;
                    }
                }
                cursor.advance(&store.packer)?;
            }
        }
        Ok(moved)
    }
}

/// Which run each site has consumed, read in the order of their keys, some at a time.
#[derive(Debug, Default)]
struct Consumed {
    window: Vec<(i64, i64)>,
    next: usize,
}

impl Consumed {
    fn of(&mut self, store: &Store, site: i64) -> Result<i64, Fault> {
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
