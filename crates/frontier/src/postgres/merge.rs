//! Merges link runs of a level into one link run of the next level.
//!
//! One transaction reads the sources, writes the target, replaces the sources by the target in the list, and truncates
//! the tables of the sources. It drops links that their site has consumed, and links that an older source contains too.
//! The newest consumed link run of a site only grows, so a value that is read early drops fewer links, never more.

use super::Postgres;
use super::link_runs::{LinkRun, RUNS};
use super::sorter::{RunReader, RunWriter};
use super::tables::PostgresTables;
use crate::FrontierError;
use crate::links::consumed::Consumed;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;

/// Number of link runs of a level that are merged into one link run of the next level.
const RUNS_PER_MERGE: usize = if cfg!(test) { 8 } else { 16 };
/// Number of sites whose newest consumed link run is read by one query.
const SITES_PER_QUERY: i64 = 256;

impl Postgres {
    /// Merge the link runs of the lowest level that has enough of them. Returns false if there is none, or if another
    /// node is the sorter.
    pub(super) fn merge_runs(&mut self, now: i64) -> Result<bool, FrontierError> {
        let runs = self.core.store.tables.read_runs();
        let runs = runs.map_err(|error| self.failed(error))?;
        if sources(&runs).is_none() {
            return Ok(false);
        }
        self.transact(now, |engine, _| {
            if !engine.be_sorter(false)? {
                return Ok(false);
            }
            let runs = engine.core.store.tables.read_runs()?;
            match sources(&runs) {
                Some(sources) => engine.merge(&sources),
                None => Ok(false),
            }
        })
    }

    fn merge(&self, sources: &[LinkRun]) -> Result<bool, StoreError> {
        let tables = &self.core.store.tables;
        let Some(slot) = tables.free_slot()? else {
            return Ok(false);
        };
        let mut writer = RunWriter::new(slot);
        let mut readers: Vec<RunReader> =
            sources.iter().map(|run| RunReader::new(run.slot)).collect();
        for reader in &mut readers {
            reader.advance(self)?;
        }
        let (mut consumed, mut unique) = (Consumed::default(), Unique::default());
        while let Some(site) = readers
            .iter()
            .filter_map(|reader| reader.block.site())
            .min()
        {
            let newest = consumed.of(site, |from| tables.sites_consumed(from))?;
            unique.begin(0);
            // The readers are in order of age, oldest first, so that links stay in ascending order of their runs.
            for reader in &mut readers {
                while reader.block.site() == Some(site) {
                    for link in reader.block.links() {
                        if link.run > newest && unique.is_new(link.key.0) {
                            writer.push(self, site, &link)?;
                        }
                    }
                    reader.advance(self)?;
                }
            }
        }
        writer.finish(self)?;
        // Nobody may read the sources from now on.
        tables.lock_until_commit(RUNS)?;
        let ids: Vec<i64> = sources.iter().map(|run| run.run).collect();
        let sql = "DELETE FROM runs WHERE run = ANY($1)";
        if tables.connection.run(sql, &[&ids])? != ids.len() as u64 {
            return Err(StoreError::damaged("list of link runs at", ids[0]));
        }
        let run = tables.number("SELECT nextval('run_ids')", &[])?;
        let last = sources.iter().map(|run| run.last).max().unwrap_or(0);
        tables.connection.run(
            "INSERT INTO runs VALUES ($1, $2, $3, $4, $5, $6, NULL)",
            &[
                &run,
                &slot,
                &(sources[0].level + 1),
                &last,
                &writer.links,
                &writer.bytes,
            ],
        )?;
        let names = sources.iter().map(|run| format!("run_{}", run.slot));
        let names = names.collect::<Vec<_>>().join(", ");
        tables.connection.batch(&format!("TRUNCATE {names}"))?;
        tracing::debug!(
            run,
            links = writer.links,
            level = sources[0].level + 1,
            "link runs merged"
        );
        Ok(true)
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
    (0..=highest)
        .map(level)
        .find(|runs| runs.len() == RUNS_PER_MERGE)
}

impl PostgresTables {
    /// The next sites from a key on, in order of key, each with the newest link run that it has consumed.
    fn sites_consumed(&self, from: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql = "SELECT key, consumed FROM sites WHERE key >= $1 ORDER BY key LIMIT $2";
        let rows = self.connection.query(sql, &[&from, &SITES_PER_QUERY])?;
        let sites = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        sites.collect()
    }
}
