//! The sorter: sorts the links of a journal by site, writes them as a link run, and announces the run to its sites.
//!
//! Any node can be the sorter. A lock ensures that there is one sorter at a time. One transaction writes the run,
//! creates the rows of new sites (which are due at once), and truncates the journal. Then the run is announced in
//! steps: known sites become due, unless they are due already because of earlier links. If a sorter ends before it has
//! announced the whole run, the next sorter continues at `upto`.

use super::Postgres;
use super::journal::{CURRENT, JOURNALS};
use super::link_runs::{LinkRun, RUNS, SLOTS, SORTER};
use super::run_tables::{RunReader, RunWriter};
use super::tables::{COLUMNS, PostgresTables};
use super::totals::JOURNAL_LINKS;
use crate::links::gather::{Gather, LinkIndexEntry};
use crate::sites::tables::Tables as _;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;
use crate::{External, FrontierError};

/// Number of sites that are looked up by one statement, and announced by one transaction.
const STEP: usize = if cfg!(test) { 2 } else { 2000 };
/// Maximum size of a link run, as a multiple of the number of links at which sorting begins. The journal can grow
/// beyond that size while there is no sorter.
const MAX_RUN: usize = 4;
/// If fewer tables than this are free, no link run is written, so that merges find a free table.
const MIN_FREE_SLOTS: i64 = SLOTS as i64 / 3;

impl Postgres {
    /// Write the links of the journals as link runs, and announce them. A journal with few links is skipped unless
    /// `all` is true. While another node is the sorter, this waits if `wait` is true, and otherwise does nothing.
    pub(super) fn sort_links(
        &mut self,
        now: i64,
        all: bool,
        wait: bool,
    ) -> Result<(), FrontierError> {
        let wanted = if all {
            1
        } else {
            self.core.options.run_links.max(1) as i64
        };
        for _ in JOURNALS {
            let work = self.read(|store| store.tables.sort_work())?;
            if !work.is_announced && !self.announce(now, wait)? {
                return Ok(());
            }
            if work.journals.iter().all(|links| *links < wanted) {
                return Ok(());
            }
            let journal = self.transact(now, |engine, _| {
                if !engine.be_sorter(wait)? {
                    return Ok(None);
                }
                engine.core.store.tables.journal_to_sort(wanted)
            })?;
            let Some(journal) = journal else {
                return Ok(());
            };
            let sorted = self.transact(now, |engine, now| {
                if !engine.be_sorter(wait)? {
                    return Ok(false);
                }
                engine.sort_journal(now, journal)?;
                Ok(true)
            })?;
            if !sorted || !self.announce(now, wait)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Become the sorter until the end of the transaction.
    pub(super) fn be_sorter(&self, wait: bool) -> Result<bool, StoreError> {
        let tables = &self.core.store.tables;
        if wait {
            tables.lock_until_commit(SORTER)?;
            return Ok(true);
        }
        tables.try_lock_until_commit(SORTER)
    }

    /// Write the links of a journal as one link run, or as several if they do not fit in memory.
    fn sort_journal(&mut self, now: i64, journal: i64) -> Result<(), StoreError> {
        let store = &self.core.store;
        if store.tables.free_slots()? < MIN_FREE_SLOTS {
            // Merges come first.
            return Ok(());
        }
        // Wait for the transactions that write to the journal.
        let sql = format!("LOCK TABLE journal_{journal} IN EXCLUSIVE MODE");
        store.tables.connection.batch(&sql)?;
        let sql = format!("SELECT coalesce(sum(count), 0)::int8 FROM journal_{journal}");
        let links = store.tables.number(&sql, &[])?;
        store.tables.unit.borrow_mut().journals[journal as usize & 1] -= links;
        store.journal_open(journal)?;
        let part = self.core.options.run_links.max(1) * MAX_RUN;
        loop {
            let gather = self.core.store.journal_next(journal, part)?;
            if gather.links.is_empty() {
                break;
            }
            self.sort_part(now, journal, gather)?;
        }
        let tables = &self.core.store.tables;
        tables.connection.batch("CLOSE journal")?;
        let name = format!("journal_{journal}");
        if !tables.try_truncate(std::slice::from_ref(&name))? {
            tables.connection.batch(&format!("DELETE FROM {name}"))?;
        }
        Ok(())
    }

    /// Write a part of the links of a journal as a link run.
    fn sort_part(&mut self, now: i64, journal: i64, mut gather: Gather) -> Result<(), StoreError> {
        let tables = &self.core.store.tables;
        // The order is by site, then by position. The position is the order of arrival.
        gather.links.sort_unstable();
        let run = tables.number("SELECT nextval('run_ids')", &[])?;
        let slot = tables.free_slot()?;
        let slot = slot.ok_or_else(|| StoreError::damaged("list of link runs before", run))?;
        let mut writer = RunWriter::append(slot, 0);
        let mut unique = Unique::default();
        let groups: Vec<&[LinkIndexEntry]> =
            gather.links.chunk_by(|a, b| a.site == b.site).collect();
        for groups in groups.chunks(STEP) {
            let known = self.known_sites(groups)?;
            for group in groups {
                let is_known = known.binary_search(&group[0].site).is_ok();
                if !is_known {
                    self.create_site(now, run, &gather, &group[0])?;
                } else if self.core.inbox.outbox.policy == External::HomePage
                    && !gather.has_request(group)
                {
                    // The home page policy drops links to known sites, except seeds and claims.
                    continue;
                }
                unique.begin(group.len());
                for entry in *group {
                    if unique.is_new(entry.key) {
                        let link = gather.read(entry);
                        let link = link.ok_or_else(|| StoreError::damaged("journal", journal))?;
                        writer.push(self, entry.site, &link.link(run, entry.key))?;
                    }
                }
            }
            // The first runs have many new sites, so their rows are not kept in memory.
            self.core.store.tables.write()?;
            self.core.store.tables.forget_sites();
        }
        writer.finish(self)?;
        let tables = &self.core.store.tables;
        let (links, bytes) = (writer.links, writer.bytes);
        tables.connection.run(
            "INSERT INTO runs VALUES ($1, $2, 0, $1, $3, $4, $5)",
            &[&run, &slot, &links, &bytes, &i64::MIN],
        )?;
        tracing::debug!(run, links, bytes, "link run written");
        Ok(())
    }

    /// The sites of these groups that are known, in order of key.
    fn known_sites(&self, groups: &[&[LinkIndexEntry]]) -> Result<Vec<i64>, StoreError> {
        let keys: Vec<i64> = groups.iter().map(|group| group[0].site).collect();
        let sql = "SELECT key FROM sites WHERE key = ANY($1) ORDER BY key";
        let rows = self.core.store.tables.connection.query(sql, &[&keys])?;
        let keys = rows.iter().map(|row| row.try_get(0));
        Ok(keys.collect::<Result<_, _>>()?)
    }

    /// Create the row of a new site. It is due when the transaction is committed.
    fn create_site(
        &mut self,
        now: i64,
        run: i64,
        gather: &Gather,
        entry: &LinkIndexEntry,
    ) -> Result<(), StoreError> {
        let core = &mut self.core;
        let outbox = &core.inbox.outbox;
        let link = (gather, entry);
        let mut row = core
            .store
            .new_site(now, run, link, outbox, &mut core.block)?;
        row.receive_links(now, core.store.horizon);
        core.store.site_insert(&row)?;
        core.totals.site(None, &row);
        Ok(())
    }

    /// Announce all link runs whose announcement is not complete. Returns false if another node is the sorter.
    fn announce(&mut self, now: i64, wait: bool) -> Result<bool, FrontierError> {
        loop {
            let step = self.transact(now, |engine, now| {
                if !engine.be_sorter(wait)? {
                    return Ok(AnnounceStep::NotSorter);
                }
                let tables = &engine.core.store.tables;
                let runs = tables.read_runs()?;
                let Some(run) = runs.into_iter().find(|run| run.upto.is_some()) else {
                    return Ok(AnnounceStep::Done);
                };
                tables.lock_until_commit(RUNS)?;
                engine.announce_step(now, &run)?;
                Ok(AnnounceStep::More)
            })?;
            match step {
                AnnounceStep::NotSorter => return Ok(false),
                AnnounceStep::Done => return Ok(true),
                AnnounceStep::More => {}
            }
        }
    }

    /// Make the next sites of a link run due.
    fn announce_step(&mut self, now: i64, run: &LinkRun) -> Result<(), StoreError> {
        let upto = run.upto.unwrap_or(i64::MAX);
        let mut sites = self.sites_of_run(run, upto)?;
        let is_last = sites.len() < STEP;
        sites.truncate(STEP);
        let last = sites.last().copied();
        let tables = &self.core.store.tables;
        let sql = format!(
            "SELECT {COLUMNS} FROM sites WHERE key = ANY($1) AND NOT inbox AND consumed < $2 ORDER BY key FOR UPDATE"
        );
        let rows = tables.connection.query(&sql, &[&sites, &run.last])?;
        for before in tables.keep_sites(&rows)? {
            let mut row = before.clone();
            row.receive_links(now, self.core.store.horizon);
            self.core.store.site_update(&row)?;
            self.core.totals.site(Some(&before), &row);
        }
        let upto = last.filter(|_| !is_last);
        let sql = "UPDATE runs SET upto = $2 WHERE run = $1";
        self.core
            .store
            .tables
            .connection
            .run(sql, &[&run.run, &upto])?;
        Ok(())
    }

    /// The next sites of a link run, in order of key: about [`STEP`] sites whose keys are greater than `after`.
    fn sites_of_run(&self, run: &LinkRun, after: i64) -> Result<Vec<i64>, StoreError> {
        let mut reader = RunReader::after(run.slot, after);
        let mut sites: Vec<i64> = Vec::new();
        while sites.len() < STEP {
            reader.advance(self)?;
            let Some(site) = reader.block.site() else {
                break;
            };
            if site > after && sites.last() != Some(&site) {
                sites.push(site);
            }
        }
        Ok(sites)
    }
}

/// What a step of an announcement found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnnounceStep {
    NotSorter,
    Done,
    More,
}

/// The work that waits for a sorter.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortWork {
    /// Number of links in each journal.
    pub(super) journals: [i64; 2],
    /// Whether each link run was announced to all its sites.
    pub(super) is_announced: bool,
}

impl PostgresTables {
    pub(super) fn sort_work(&self) -> Result<SortWork, StoreError> {
        let sql = "SELECT coalesce(sum(value) FILTER (WHERE name = $1), 0)::int8, \
                   coalesce(sum(value) FILTER (WHERE name = $2), 0)::int8, \
                   (SELECT count(*) FROM runs WHERE upto IS NOT NULL) FROM totals WHERE name IN ($1, $2)";
        let [first, second] = JOURNAL_LINKS;
        let row = self.connection.first(sql, &[&first, &second])?;
        let row = row.ok_or_else(|| StoreError::Damaged("list of link runs".to_owned()))?;
        Ok(SortWork {
            journals: [row.try_get(0)?, row.try_get(1)?],
            is_announced: row.try_get::<_, i64>(2)? == 0,
        })
    }

    /// Returns a journal with at least this many links, and directs new links to the other journal.
    fn journal_to_sort(&self, wanted: i64) -> Result<Option<i64>, StoreError> {
        let links = self.sort_work()?.journals;
        let full = JOURNALS
            .into_iter()
            .zip(links)
            .find(|(_, links)| *links >= wanted);
        let Some((journal, _)) = full else {
            return Ok(None);
        };
        if self.current_journal()? == journal {
            self.set_value(CURRENT, Some(1 - journal))?;
        }
        Ok(Some(journal))
    }

    /// Number of tables that have no link run.
    fn free_slots(&self) -> Result<i64, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM merges)";
        let used = self.number(sql, &[])?;
        Ok(i64::from(SLOTS) - used)
    }

    /// A table that has no link run; `None` if there is none.
    pub(super) fn free_slot(&self) -> Result<Option<i32>, StoreError> {
        let sql = "SELECT min(slot)::int4 FROM generate_series(0, $1 - 1) AS s (slot) \
                   WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.slot = s.slot) \
                   AND NOT EXISTS (SELECT 1 FROM merges m WHERE m.slot = s.slot)";
        let row = self.connection.first(sql, &[&SLOTS])?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
    }

    /// Drop the written rows of sites from memory. The transaction must not use these rows again.
    fn forget_sites(&self) {
        let mut unit = self.unit.borrow_mut();
        unit.sites.clear();
        unit.keys = <_>::default();
    }
}
