//! The list of link runs (table `runs`). Reads the inbox of a site from the link runs.
//!
//! A link run is one file (`link_run_file.rs`) and one row. Gathered links are written to link runs of level 0. Link
//! runs of one level are merged into one of the next level (`merge.rs`). When the inbox of a site is merged, the row of
//! the site stores the newest link run of level 0 that was read. The site has then *consumed* the links up to that link
//! run. Consumed links are not deleted one by one. The next merge of link runs drops them.
//!
//! Invariants: A link run that is complete according to the database has a synced file. While a link run of level 0 is
//! written, its links are in the journal and in memory. The links of an incomplete link run can be read only for sites
//! with keys up to `upto`; `upto` advances in the transaction that makes those sites due. A merged link run is not read
//! before it is complete.

use std::path::PathBuf;

use rusqlite::params;

use super::SqliteStore;
use super::link_run_file::{LinkRunFile, Scratch};
use crate::links::gather::Gather;
use crate::links::run_link::RunLink;
use crate::store_error::StoreError;

/// One row of `runs`.
#[derive(Clone, Debug)]
pub(super) struct LinkRun {
    pub(super) id: i64,
    pub(super) level: i64,
    /// Newest link run of level 0 whose links this one contains. At level 0 it is the link run itself.
    pub(super) last: i64,
    /// While the link run is being written: the newest journal entry whose links it will contain.
    pub(super) journal: i64,
    /// While the link run is being written: the last site whose links are written. `None` if the link run is complete.
    pub(super) upto: Option<i64>,
    /// The open file; `None` until the link run is complete.
    pub(super) file: Option<LinkRunFile>,
}

impl LinkRun {
    /// Whether the link run can have links to the site that are newer than the link run `consumed`.
    fn may_have(&self, site: i64, consumed: i64) -> bool {
        self.last > consumed && self.upto.is_none_or(|upto| site <= upto)
    }
}

impl SqliteStore {
    /// The folder of the link runs, beside the database.
    pub(super) fn runs_folder(&self) -> PathBuf {
        self.tables.path.with_extension("runs")
    }

    /// The file of a link run.
    pub(super) fn run_path(&self, id: i64) -> PathBuf {
        self.runs_folder().join(format!("{id}.run"))
    }

    /// All link runs, in order of their newest links, oldest first.
    pub(super) fn runs_read(&self) -> Result<Vec<LinkRun>, StoreError> {
        self.tables.all(
            "SELECT run, level, last, journal, upto FROM runs ORDER BY last, run",
            [],
            |row| {
                Ok(LinkRun {
                    id: row.get(0)?,
                    level: row.get(1)?,
                    last: row.get(2)?,
                    journal: row.get(3)?,
                    upto: row.get(4)?,
                    file: None,
                })
            },
        )
    }

    /// Open the files of complete link runs.
    pub(super) fn runs_open(&self, runs: &mut [LinkRun]) -> Result<(), StoreError> {
        for run in runs.iter_mut().filter(|run| run.upto.is_none()) {
            run.file = Some(LinkRunFile::open(&self.run_path(run.id))?);
        }
        Ok(())
    }

    /// Create the row of a new link run. Its number is not reused, unless the transaction is undone.
    pub(super) fn run_create(&self, journal: i64) -> Result<LinkRun, StoreError> {
        let id = self.tables.insert(
            "INSERT INTO runs (level, last, links, bytes, journal, upto) VALUES (0, 0, 0, 0, ?1, ?2)",
            params![journal, i64::MIN],
        )?;
        self.tables
            .run("UPDATE runs SET last = run WHERE run = ?1", [id])?;
        Ok(LinkRun {
            id,
            level: 0,
            last: id,
            journal,
            upto: Some(i64::MIN),
            file: None,
        })
    }

    /// Write the row of a link run.
    pub(super) fn run_update(&self, run: &LinkRun) -> Result<(), StoreError> {
        let (links, bytes) = run
            .file
            .as_ref()
            .map_or((0, 0), |file| (file.links(), file.bytes() as i64));
        self.tables.run(
            "UPDATE runs SET level = ?2, last = ?3, links = ?4, bytes = ?5, journal = ?6, upto = ?7 WHERE run = ?1",
            params![run.id, run.level, run.last, links, bytes, run.journal, run.upto],
        )?;
        Ok(())
    }

    /// Insert the row of a merged link run.
    pub(super) fn run_insert(&self, run: &LinkRun) -> Result<(), StoreError> {
        self.tables.run(
            "INSERT INTO runs (run, level, last, links, bytes, journal) VALUES (?1, 0, 0, 0, 0, 0)",
            [run.id],
        )?;
        self.run_update(run)
    }

    pub(super) fn run_delete(&self, id: i64) -> Result<(), StoreError> {
        self.tables.run("DELETE FROM runs WHERE run = ?1", [id])?;
        Ok(())
    }

    /// Read the inbox of a site: call `visit` for each of its links in link runs that are newer than `consumed`.
    /// `in_progress` has the sorted links of the link run that is being written. Returns the newest link run that was
    /// read.
    pub(super) fn inbox_walk(
        &self,
        runs: &[LinkRun],
        in_progress: Option<&Gather>,
        site: i64,
        consumed: i64,
        mut visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        let mut newest = consumed;
        let mut scratch = Scratch::default();
        for run in runs.iter().filter(|run| run.may_have(site, consumed)) {
            newest = newest.max(run.last);
            if let Some(file) = &run.file {
                file.visit(&self.packer, &mut scratch, site, |link| {
                    if link.run > consumed {
                        visit(link)
                    } else {
                        Some(())
                    }
                })?;
            } else if let Some(gather) = in_progress {
                let damaged = || StoreError::damaged("journal before run", run.id);
                for entry in gather.of_site(site) {
                    let link = gather.read(entry).ok_or_else(damaged)?;
                    visit(link.link(run.id, entry.key)).ok_or_else(damaged)?;
                }
            }
        }
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_progress_is_visible_up_to_the_last_written_site() {
        let mut run = LinkRun {
            id: 9,
            level: 0,
            last: 9,
            journal: 0,
            upto: Some(100),
            file: None,
        };
        assert!(run.may_have(-5, 0) && run.may_have(100, 8));
        assert!(!run.may_have(101, 0) && !run.may_have(100, 9));
        run.upto = None;
        assert!(run.may_have(101, 0));
    }
}
