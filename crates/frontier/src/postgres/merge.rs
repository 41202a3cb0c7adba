//! Merges link runs of a level into one link run of the next level. The crawl goes on between the steps.
//!
//! A merge is a row in the table `merges`, with the last site whose links were merged. Each step is a transaction: it
//! reads the links of the next sites from the sources, appends them to the table of the target, and moves the row
//! forward. Until the last step replaces the sources by the target, the sources stay in the list of link runs and
//! check-outs read them. If the merging node is gone, another one continues.
//!
//! A merge drops links that their site has consumed, and links that an older source contains too. The number of the
//! newest run that a site has consumed only grows, so with an old value a merge drops too few links, never too many.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::link_runs::{LinkRun, RUNS, SLOTS};
use super::run_tables::{RunReader, RunWriter};
use super::sort_session::Sorter;
use super::tables::PostgresTables;
use crate::links::run_link::RunLink;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;

/// Number of link runs of a level that are merged into one link run of the next level.
const RUNS_PER_MERGE: usize = if cfg!(test) { 8 } else { 16 };
/// If there are more link runs than this, a level is merged although it has fewer than `RUNS_PER_MERGE` runs. Otherwise
/// many levels with few runs each could take all tables, and no more links could be sorted.
const SCARCE: usize = SLOTS as usize / 2;
/// Maximum time of a step. While tables are scarce, each step takes this long.
const LONG_STEP: Duration = Duration::from_secs(1);
/// Number of sites, and size of their links in bytes, that are merged at a time.
const SITES: usize = if cfg!(test) { 3 } else { 2000 };
const BYTES: usize = if cfg!(test) { 512 } else { 1 << 20 };

/// A merge that has begun: a row of `merges`.
#[derive(Clone, Debug)]
struct Merge {
    slot: i32,
    sources: Vec<i64>,
    /// The last site that was merged; `None` if all were.
    upto: Option<i64>,
    parts: i64,
    links: i64,
    bytes: i64,
}

/// The sources of a merge, read up to a site. They are kept between the steps of this node.
#[derive(Debug)]
pub(super) struct Sources {
    slot: i32,
    upto: i64,
    readers: Vec<RunReader>,
}

/// What a step of a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeStep {
    /// There is nothing to merge, or another node merges or sorts.
    None,
    More,
    /// The tables of the sources cannot be truncated, because they are in use.
    InUse,
}

impl Sorter {
    /// Merge for about `budget`. Returns whether work is left.
    pub(super) fn merge_links(&mut self, budget: Duration) -> Result<bool, StoreError> {
        let begun = Instant::now();
        loop {
            let (runs, merge) = self.read(|tables| Ok((tables.read_runs()?, tables.merge()?)))?;
            if merge.is_none() && sources(&runs).is_none() {
                return Ok(false);
            }
            let mut step = budget.saturating_sub(begun.elapsed()).min(LONG_STEP);
            if runs.len() > SCARCE {
                step = LONG_STEP;
            }
            let done = match self.transact(|sorter, _| sorter.merge_step(step, false))? {
                Some(MergeStep::InUse) => {
                    self.transact(|sorter, _| sorter.merge_step(step, true))?
                }
                done => done,
            };
            if matches!(done, None | Some(MergeStep::None)) {
                return Ok(false);
            }
            if begun.elapsed() >= budget {
                return Ok(true);
            }
        }
    }

    /// Merge for about `budget`. If `in_use` is true, the last step does not truncate tables.
    pub(super) fn merge_step(
        &mut self,
        budget: Duration,
        in_use: bool,
    ) -> Result<MergeStep, StoreError> {
        if !self.be_sorter(false)? {
            return Ok(MergeStep::None);
        }
        let kept = self.merging.take();
        let tables = &self.core.store.tables;
        let runs = tables.read_runs()?;
        let mut merge = match tables.merge()? {
            // Another node merges and has the sources open.
            Some(_) if kept.is_none() && tables.is_merged_by_another()? => {
                return Ok(MergeStep::None);
            }
            Some(merge) => merge,
            None => {
                let (Some(sources), Some(slot)) = (sources(&runs), tables.free_slot()?) else {
                    return Ok(MergeStep::None);
                };
                Merge {
                    slot,
                    sources: sources.iter().map(|run| run.run).collect(),
                    upto: Some(i64::MIN),
                    parts: 0,
                    links: 0,
                    bytes: 0,
                }
            }
        };
        let mut sources = runs;
        sources.retain(|run| merge.sources.contains(&run.run));
        if sources.len() != merge.sources.len() {
            return Err(StoreError::damaged("merge into table", merge.slot.into()));
        }
        let Some(upto) = merge.upto else {
            return self.end_merge(&merge, &sources, in_use);
        };
        let kept = kept.filter(|kept| kept.slot == merge.slot && kept.upto == upto);
        let mut readers = match kept {
            Some(kept) => kept.readers,
            None => self.open_sources(&sources, upto)?,
        };
        merge.upto = self.copy_links(&mut merge, &mut readers, budget)?;
        self.core.store.tables.keep_merge(&merge)?;
        self.merging = merge.upto.map(|upto| Sources {
            slot: merge.slot,
            upto,
            readers,
        });
        Ok(MergeStep::More)
    }

    /// Readers of the sources, each at its first site after `upto`.
    fn open_sources(&self, sources: &[LinkRun], upto: i64) -> Result<Vec<RunReader>, StoreError> {
        let mut readers = Vec::with_capacity(sources.len());
        for run in sources {
            let mut reader = RunReader::after(run.slot, upto);
            reader.advance(self)?;
            while reader.block.site().is_some_and(|site| site <= upto) {
                reader.advance(self)?;
            }
            readers.push(reader);
        }
        Ok(readers)
    }

    /// For about `budget`, append the links of the next sites to the target. Returns the last site, or `None` if all
    /// sites are done.
    fn copy_links(
        &self,
        merge: &mut Merge,
        readers: &mut [RunReader],
        budget: Duration,
    ) -> Result<Option<i64>, StoreError> {
        let begun = Instant::now();
        let mut writer = RunWriter::append(merge.slot, merge.parts);
        let mut batch = Batch::default();
        let next = |readers: &[RunReader]| {
            let sites = readers.iter().filter_map(|reader| reader.block.site());
            sites.min()
        };
        let mut upto = None;
        while let Some(site) = next(readers) {
            // The readers are in order of the age of their runs, oldest first. So the links of a site stay in that
            // order.
            for reader in readers.iter_mut() {
                while reader.block.site() == Some(site) {
                    for link in reader.block.links() {
                        batch.push(site, &link);
                    }
                    // A large site can have more links than fit into a batch.
                    if batch.bytes.len() >= 2 * BYTES {
                        batch.write(self, &mut writer)?;
                    }
                    reader.advance(self)?;
                }
            }
            upto = Some(site);
            batch.sites += 1;
            if batch.sites >= SITES || batch.bytes.len() >= BYTES {
                batch.write(self, &mut writer)?;
            }
            if batch.sites == 0 && begun.elapsed() >= budget {
                break;
            }
        }
        batch.write(self, &mut writer)?;
        writer.finish(self)?;
        merge.parts = writer.part;
        merge.links += writer.links;
        merge.bytes += writer.bytes;
        Ok(upto.filter(|_| next(readers).is_some()))
    }

    /// Replace the sources by the target.
    fn end_merge(
        &self,
        merge: &Merge,
        sources: &[LinkRun],
        in_use: bool,
    ) -> Result<MergeStep, StoreError> {
        let tables = &self.core.store.tables;
        let names: Vec<String> = sources
            .iter()
            .map(|run| format!("run_{}", run.slot))
            .collect();
        if in_use {
            // This takes longer than a truncation, so it is done before the lock that stops check-outs is taken.
            for name in &names {
                tables.connection.batch(&format!("DELETE FROM {name}"))?;
            }
        }
        // Nobody may read the sources from now on. A reader that has this lock may wait for one of the tables, so the
        // tables are locked after it.
        tables.lock_until_commit(RUNS)?;
        if !in_use && !tables.try_truncate(&names)? {
            return Ok(MergeStep::InUse);
        }
        let connection = &tables.connection;
        connection.run("DELETE FROM runs WHERE run = ANY($1)", &[&merge.sources])?;
        let run = tables.number("SELECT nextval('run_ids')", &[])?;
        let last = sources.iter().map(|run| run.last).max().unwrap_or(0);
        let level = sources.iter().map(|run| run.level).max().unwrap_or(0) + 1;
        connection.run(
            "INSERT INTO runs VALUES ($1, $2, $3, $4, $5, $6, NULL)",
            &[&run, &merge.slot, &level, &last, &merge.links, &merge.bytes],
        )?;
        connection.run("DELETE FROM merges WHERE slot = $1", &[&merge.slot])?;
        tracing::debug!(run, links = merge.links, level, "link runs merged");
        Ok(MergeStep::More)
    }
}

/// The link runs to merge next, oldest first.
fn sources(runs: &[LinkRun]) -> Option<Vec<LinkRun>> {
    let highest = runs.iter().map(|run| run.level).max()?;
    let level = |level: i64| {
        let runs = runs
            .iter()
            .filter(move |run| run.level == level && run.upto.is_none());
        runs.take(RUNS_PER_MERGE).cloned().collect::<Vec<_>>()
    };
    let first = |least: usize| (0..=highest).map(level).find(|runs| runs.len() >= least);
    let scarce = || first(2).filter(|_| runs.len() > SCARCE);
    first(RUNS_PER_MERGE).or_else(scarce)
}

/// Links of some sites on their way from the sources to the target.
#[derive(Debug, Default)]
struct Batch {
    sites: usize,
    bytes: Vec<u8>,
    links: Vec<BatchLink>,
    /// The site of the last link that was written.
    site: Option<i64>,
    unique: Unique,
}

/// A link in a batch: the bytes of its head end at `middle`, those of its via at `end`.
#[derive(Debug)]
struct BatchLink {
    site: i64,
    run: i64,
    key: aranha_url::PathKey,
    middle: usize,
    end: usize,
}

impl Batch {
    fn push(&mut self, site: i64, link: &RunLink<'_>) {
        self.bytes.extend_from_slice(link.head);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(link.via);
        self.links.push(BatchLink {
            site,
            run: link.run,
            key: link.key,
            middle,
            end: self.bytes.len(),
        });
    }

    /// Append the links to the target, and empty the batch.
    fn write(&mut self, sorter: &Sorter, writer: &mut RunWriter) -> Result<(), StoreError> {
        let mut sites: Vec<i64> = self.links.iter().map(|link| link.site).collect();
        sites.dedup();
        let consumed = sorter.core.store.tables.consumed(&sites)?;
        let mut start = 0;
        for link in self.links.drain(..) {
            let bytes = &self.bytes[start..link.end];
            let (head, via) = bytes.split_at(link.middle - start);
            start = link.end;
            if self.site != Some(link.site) {
                self.site = Some(link.site);
                self.unique.begin(0);
            }
            let newest = consumed.get(&link.site).copied().unwrap_or(0);
            if link.run > newest && self.unique.is_new(link.key.0) {
                let (run, key) = (link.run, link.key);
                writer.push(
                    sorter,
                    link.site,
                    &RunLink {
                        run,
                        key,
                        head,
                        via,
                    },
                )?;
            }
        }
        self.bytes.clear();
        self.sites = 0;
        Ok(())
    }
}

impl PostgresTables {
    /// Whether a merge has begun, or can begin.
    pub(super) fn has_merge_work(&self) -> Result<bool, StoreError> {
        Ok(self.merge()?.is_some() || sources(&self.read_runs()?).is_some())
    }

    /// The newest link run that each of these sites has consumed.
    fn consumed(&self, sites: &[i64]) -> Result<HashMap<i64, i64>, StoreError> {
        if sites.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = "SELECT key, consumed FROM sites WHERE key = ANY($1)";
        let rows = self.connection.query(sql, &[&sites])?;
        let sites = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        sites.collect()
    }

    /// The merge that has begun and has not ended.
    fn merge(&self) -> Result<Option<Merge>, StoreError> {
        let sql = "SELECT slot, sources, upto, parts, links, bytes FROM merges";
        let Some(row) = self.connection.first(sql, &[])? else {
            return Ok(None);
        };
        Ok(Some(Merge {
            slot: row.try_get(0)?,
            sources: row.try_get(1)?,
            upto: row.try_get(2)?,
            parts: row.try_get(3)?,
            links: row.try_get(4)?,
            bytes: row.try_get(5)?,
        }))
    }

    /// Whether the last step was made by another node, which is still alive.
    fn is_merged_by_another(&self) -> Result<bool, StoreError> {
        let sql =
            "SELECT 1 FROM merges m JOIN nodes n ON n.node = m.node WHERE n.alive AND n.node <> $1";
        Ok(self.connection.first(sql, &[&self.node.get()])?.is_some())
    }

    fn keep_merge(&self, merge: &Merge) -> Result<(), StoreError> {
        self.connection.run(
            "INSERT INTO merges VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (slot) DO UPDATE SET node = excluded.node, \
             upto = excluded.upto, parts = excluded.parts, links = excluded.links, bytes = excluded.bytes",
            &[
                &merge.slot,
                &self.node.get(),
                &merge.sources,
                &merge.upto,
                &merge.parts,
                &merge.links,
                &merge.bytes,
            ],
        )?;
        Ok(())
    }

    /// Truncate tables without waiting. Returns false if one of them is in use, for example by a backup of the
    /// database. Waiting for the lock would block all other users of the table.
    pub(super) fn try_truncate(&self, names: &[String]) -> Result<bool, StoreError> {
        let names = names.join(", ");
        self.connection.batch("SAVEPOINT truncation")?;
        let lock = format!("LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE NOWAIT");
        match self.connection.batch(&lock) {
            Ok(()) => {
                let sql = format!("TRUNCATE {names}; RELEASE truncation");
                self.connection.batch(&sql)?;
                Ok(true)
            }
            Err(error) if error.is_locked() => {
                self.connection.batch("ROLLBACK TO SAVEPOINT truncation")?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_of_a_level_are_merged_when_tables_are_scarce() {
        let mut runs = Vec::new();
        let mut add = |level: i64, count: usize| {
            for _ in 0..count {
                let run = runs.len() as i64;
                runs.push(LinkRun {
                    run,
                    slot: 0,
                    level,
                    last: run,
                    upto: None,
                });
            }
            sources(&runs).map(|sources| (sources[0].level, sources.len()))
        };
        assert_eq!(add(0, RUNS_PER_MERGE - 1), None);
        assert_eq!(add(1, SCARCE + 1 - RUNS_PER_MERGE), None, "there is room");
        assert_eq!(add(2, 1), Some((0, RUNS_PER_MERGE - 1)));
    }
}
