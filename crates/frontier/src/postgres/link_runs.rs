//! Link runs: links of many check-ins, sorted by site, in blocks (tables `run_SLOT`), and their list (table `runs`).
//!
//! A site stores the newest link run that it has consumed. Consumed links are not deleted one by one; the next merge drops
//! them.
//!
//! Invariants: A run in the list is complete. It was announced to its known sites up to `upto`, which are due because
//! of it. A transaction that reads runs takes the lock [`RUNS`] in shared mode before it reads the list, and keeps it
//! until it ends. A transaction that announces or replaces runs takes the lock exclusively. So no announcement is
//! missed, and no table is truncated while it is read.

use super::tables::PostgresTables;
use super::unit::FirstLinks;
use crate::links::link_block::visit_block;
use crate::links::run_link::RunLink;
use crate::sites::store::Store;
use crate::store_error::StoreError;

/// Keys of advisory locks. The first number is that of the schema.
pub(super) const RUNS: i32 = 1;
pub(super) const SORTER: i32 = 2;
pub(super) const MIGRATION: i32 = 3;

/// Number of tables for link runs that are used. `schema.sql` creates 96.
pub(super) const SLOTS: i32 = if cfg!(test) { 18 } else { 96 };

/// The statement that reads links of many sites reads, per site, at most this many blocks that begin with that site. If
/// the site has more, they are read `MORE_BLOCKS` at a time.
const FIRST_BLOCKS: i64 = if cfg!(test) { 1 } else { 8 };
const MORE_BLOCKS: i64 = if cfg!(test) { 2 } else { 256 };

/// One row of `runs`.
#[derive(Clone, Debug)]
pub(super) struct LinkRun {
    pub(super) run: i64,
    pub(super) slot: i32,
    pub(super) level: i64,
    pub(super) last: i64,
    pub(super) upto: Option<i64>,
}

impl LinkRun {
    /// Whether the run can have links that are newer than the link run `consumed`. A site can read a run before the run
    /// is announced to it. The announcement then finds that the site has consumed the run.
    fn may_have(&self, consumed: i64) -> bool {
        self.last > consumed
    }
}

impl PostgresTables {
    /// Take an advisory lock until the end of the transaction.
    pub(super) fn lock_until_commit(&self, key: i32) -> Result<(), StoreError> {
        let sql = "SELECT pg_advisory_xact_lock(hashtext($1), $2)";
        self.connection
            .query(sql, &[&self.connection.schema(), &key])?;
        Ok(())
    }

    /// Like [`PostgresTables::lock_until_commit`], but returns false if another transaction has the lock.
    pub(super) fn try_lock_until_commit(&self, key: i32) -> Result<bool, StoreError> {
        let sql = "SELECT pg_try_advisory_xact_lock(hashtext($1), $2)";
        let row = self
            .connection
            .first(sql, &[&self.connection.schema(), &key])?;
        Ok(row.map(|row| row.try_get(0)).transpose()? == Some(true))
    }

    /// Keep link runs as they are until the end of the transaction.
    pub(super) fn share_runs(&self) -> Result<(), StoreError> {
        let sql = "SELECT pg_advisory_xact_lock_shared(hashtext($1), $2)";
        self.connection
            .query(sql, &[&self.connection.schema(), &RUNS])?;
        Ok(())
    }

    /// All link runs, in order of their newest links, oldest first.
    pub(super) fn read_runs(&self) -> Result<Vec<LinkRun>, StoreError> {
        let sql = "SELECT run, slot, level, last, upto FROM runs ORDER BY last, run";
        let rows = self.connection.query(sql, &[])?;
        let runs = rows.iter().map(|row| {
            Ok(LinkRun {
                run: row.try_get(0)?,
                slot: row.try_get(1)?,
                level: row.try_get(2)?,
                last: row.try_get(3)?,
                upto: row.try_get(4)?,
            })
        });
        runs.collect()
    }

    /// The link runs, as they were when this transaction first read them.
    fn runs(&self) -> Result<Vec<LinkRun>, StoreError> {
        if let Some(runs) = &self.unit.borrow().runs {
            return Ok(runs.clone());
        }
        let runs = self.read_runs()?;
        self.unit.borrow_mut().runs = Some(runs.clone());
        Ok(runs)
    }

    /// Read the blocks with links to these sites, each with the newest link run that it has consumed.
    pub(super) fn read_links(&self, sites: &[(i64, i64)]) -> Result<(), StoreError> {
        for run in self.runs()? {
            let here = sites.iter().filter(|(_, consumed)| run.may_have(*consumed));
            let here: Vec<i64> = here.map(|(site, _)| *site).collect();
            if here.is_empty() {
                continue;
            }
            // The first links of a site can be in the block before the first block that starts with this site.
            let sql = format!(
                "SELECT s.site, b.links, b.part FROM unnest($1::int8[]) AS s (site) CROSS JOIN LATERAL ( \
                 (SELECT part, links FROM run_{0} WHERE first < s.site ORDER BY first DESC, part DESC LIMIT 1) UNION ALL \
                 (SELECT part, links FROM run_{0} WHERE first = s.site ORDER BY part LIMIT $2)) b ORDER BY s.site, b.part",
                run.slot
            );
            let rows = self.connection.query(&sql, &[&here, &FIRST_BLOCKS])?;
            let mut unit = self.unit.borrow_mut();
            for row in rows {
                let first = unit.links.entry((row.try_get(0)?, run.run)).or_default();
                first.blocks.push(row.try_get(1)?);
                first.last = row.try_get(2)?;
            }
        }
        let mut unit = self.unit.borrow_mut();
        unit.links_read.extend(sites.iter().map(|(site, _)| *site));
        Ok(())
    }
}

impl PostgresTables {
    /// The blocks of `run` after block `last` that begin with links to `site`.
    fn more_links(
        &self,
        site: i64,
        run: &LinkRun,
        last: &mut i64,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let sql = format!(
            "SELECT links, part FROM run_{} WHERE first = $1 AND part > $2 ORDER BY part LIMIT $3",
            run.slot
        );
        let rows = self.connection.query(&sql, &[&site, last, &MORE_BLOCKS])?;
        let mut blocks = Vec::with_capacity(rows.len());
        for row in rows {
            blocks.push(row.try_get(0)?);
            *last = row.try_get(1)?;
        }
        Ok(blocks)
    }
}

impl Store<PostgresTables> {
    /// Read the inbox of a site: call `visit` for each of its links in link runs that are newer than `consumed`. Returns
    /// the newest link run that was read.
    pub(super) fn inbox_walk(
        &self,
        site: i64,
        consumed: i64,
        mut visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        if !self.tables.unit.borrow().links_read.contains(&site) {
            self.tables.read_links(&[(site, consumed)])?;
        }
        let runs = self.tables.runs()?;
        let mut newest = consumed;
        let mut text = Vec::new();
        for run in runs.iter().filter(|run| run.may_have(consumed)) {
            newest = newest.max(run.last);
            let first = self.tables.unit.borrow_mut().links.remove(&(site, run.run));
            let FirstLinks { blocks, mut last } = first.unwrap_or_default();
            // The rest of a large inbox is read in parts, so that it need not be in memory.
            let mut is_complete = (blocks.len() as i64) < FIRST_BLOCKS;
            let mut blocks = std::collections::VecDeque::from(blocks);
            loop {
                if blocks.is_empty() && !is_complete {
                    let more = self.tables.more_links(site, run, &mut last)?;
                    is_complete = (more.len() as i64) < MORE_BLOCKS;
                    blocks.extend(more);
                }
                let Some(sealed) = blocks.pop_front() else {
                    break;
                };
                let fixed = self.packer.open_into(&sealed, &mut text);
                fixed
                    .and_then(|fixed| {
                        visit_block(&text, fixed, site, &mut |link| {
                            if link.run > consumed {
                                visit(link)
                            } else {
                                Some(())
                            }
                        })
                    })
                    .ok_or_else(|| StoreError::damaged("link run", run.run))?;
            }
        }
        Ok(newest)
    }
}
