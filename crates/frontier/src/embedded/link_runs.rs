//! The list of runs: which files hold the links that wait for their sites, and how a site finds its own.
//!
//! A run is one file (`link_run_file.rs`) and one row of `runs`. A site remembers the newest run that it has consumed; nothing is
//! deleted link by link: the next merge drops what was consumed.
//!
//! What always holds: a run that the database calls whole has its file, synced. While a run of level 0 is written its
//! links are in the journal, and in memory; a site sees it up to `upto`, which moves on in the same transaction that
//! makes the sites due. A merge is not to be seen before it is done.

use std::path::PathBuf;

use rusqlite::params;

use super::gather::Gather;
use super::link_run_file::{LinkRunFile, RunLink, Scratch};
use super::store::Store;
use super::store_error::StoreError;

/// One row of `runs`.
#[derive(Clone, Debug)]
pub(super) struct LinkRun {
    pub(super) id: i64,
    pub(super) level: i64,
    /// Newest run of level 0 whose links are here: its own number at level 0.
    pub(super) last: i64,
    pub(super) journal: i64,
    /// While it is written: up to which site; `None` when whole.
    pub(super) upto: Option<i64>,
    /// When whole, and once it was needed.
    pub(super) file: Option<LinkRunFile>,
}

impl LinkRun {
    /// Whether a site that has consumed so much has to look for links here.
    fn concerns(&self, site: i64, consumed: i64) -> bool {
        self.last > consumed && self.upto.is_none_or(|upto| site <= upto)
    }
}

impl Store {
    /// The folder of the runs, beside the database.
    pub(super) fn runs_folder(&self) -> PathBuf {
        self.path.with_extension("runs")
    }

    /// The file of a run.
    pub(super) fn run_path(&self, id: i64) -> PathBuf {
        self.runs_folder().join(format!("{id}.run"))
    }

    /// All runs, the oldest links first.
    pub(super) fn runs_read(&self) -> Result<Vec<LinkRun>, StoreError> {
        self.all(
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

    /// Open the files of whole runs.
    pub(super) fn runs_open(&self, runs: &mut [LinkRun]) -> Result<(), StoreError> {
        for run in runs.iter_mut().filter(|run| run.upto.is_none()) {
            run.file = Some(LinkRunFile::open(&self.run_path(run.id))?);
        }
        Ok(())
    }

    /// A number for a run: never used again.
    pub(super) fn run_create(&self, journal: i64) -> Result<LinkRun, StoreError> {
        let id = self.insert(
            "INSERT INTO runs (level, last, links, bytes, journal, upto) VALUES (0, 0, 0, 0, ?1, ?2)",
            params![journal, i64::MIN],
        )?;
        self.run("UPDATE runs SET last = run WHERE run = ?1", [id])?;
        Ok(LinkRun {
            id,
            level: 0,
            last: id,
            journal,
            upto: Some(i64::MIN),
            file: None,
        })
    }

    /// Write how far a run has come.
    pub(super) fn run_update(&self, run: &LinkRun) -> Result<(), StoreError> {
        let (links, bytes) = run
            .file
            .as_ref()
            .map_or((0, 0), |file| (file.links(), file.bytes() as i64));
        self.run(
            "UPDATE runs SET level = ?2, last = ?3, links = ?4, bytes = ?5, journal = ?6, upto = ?7 WHERE run = ?1",
            params![run.id, run.level, run.last, links, bytes, run.journal, run.upto],
        )?;
        Ok(())
    }

    /// A merged run.
    pub(super) fn run_insert(&self, run: &LinkRun) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO runs (run, level, last, links, bytes, journal) VALUES (?1, 0, 0, 0, 0, 0)",
            [run.id],
        )?;
        self.run_update(run)
    }

    pub(super) fn run_delete(&self, id: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM runs WHERE run = ?1", [id])?;
        Ok(())
    }

    /// Visit the links that wait for a site and that are newer than `consumed`, in whole runs and in the one that is
    /// being written (`written`: its links, sorted); answers the newest run it can see.
    pub(super) fn inbox_walk(
        &self,
        runs: &[LinkRun],
        written: Option<&Gather>,
        site: i64,
        consumed: i64,
        mut visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        let mut newest = consumed;
        let mut scratch = Scratch::default();
        for run in runs.iter().filter(|run| run.concerns(site, consumed)) {
            newest = newest.max(run.last);
            if let Some(file) = &run.file {
                file.visit(&self.packer, &mut scratch, site, |link| {
                    if link.run > consumed {
                        visit(link)
                    } else {
                        Some(())
                    }
                })?;
            } else if let Some(gather) = written {
                let damaged = || StoreError::damaged("journal before run", run.id);
                for sent in gather.of_site(site) {
                    let link = gather.read(sent).ok_or_else(damaged)?;
                    visit(link.link(run.id, sent.key)).ok_or_else(damaged)?;
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
    fn a_run_under_way_is_seen_up_to_where_it_is_written() {
        let mut run = LinkRun {
            id: 9,
            level: 0,
            last: 9,
            journal: 0,
            upto: Some(100),
            file: None,
        };
        assert!(run.concerns(-5, 0) && run.concerns(100, 8));
        assert!(!run.concerns(101, 0) && !run.concerns(100, 9));
        run.upto = None;
        assert!(run.concerns(101, 0));
    }
}
