//! Runs of the inbox: links sorted by site, written once, found by one look-up a run.
//!
//! A run is a table `run_N (site, links)` with the site as row number: rows come in key order, so that each insert is an
//! append (measured: 1.5 to 2 times faster, and half the bytes at 4 KiB pages, of one table keyed by run and site).
//! A site remembers the newest run that it has consumed; nothing is deleted link by link: the next merge drops what was
//! consumed. The row of a site:
//!
//! ```text
//! text     a link: varint newer-by (the run it came with, minus that of the link before), depth, hop, path, via
//! fixed    the path keys, 8 bytes each
//! ```
//!
//! What always holds: a site is seen in a run that is being written or merged exactly up to `upto`, and in the sources of
//! a merge exactly behind it. The row of a site comes to disk in the same transaction that makes the site due.

use aranha_url::PathKey;
use rusqlite::params;

use super::fault::Fault;
use super::store::Store;
use crate::codec::{Block, Reader, put_varint};

/// One row of `runs`.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) id: i64,
    pub(super) level: i64,
    /// Newest run of level 0 whose links are here: its own number at level 0.
    pub(super) last: i64,
    pub(super) links: i64,
    pub(super) journal: i64,
    /// While it is written: up to which site; `None` when whole.
    pub(super) upto: Option<i64>,
    /// The run it is being merged into.
    pub(super) target: Option<i64>,
    select: String,
}

impl Run {
    fn new(id: i64, level: i64, last: i64) -> Run {
        Run {
            id,
            level,
            last,
            links: 0,
            journal: 0,
            upto: None,
            target: None,
            select: format!("SELECT links FROM run_{id} WHERE site = ?1"),
        }
    }
}

/// A link in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    /// The run of level 0 that brought it.
    pub(super) run: i64,
    pub(super) key: PathKey,
    /// Depth, hop, path and via.
    pub(super) body: &'a [u8],
}

impl<'a> Link<'a> {
    /// Depth, hop, path and via, read.
    pub(super) fn fields(&self) -> Option<(u16, char, &'a str, &'a str)> {
        let mut reader = Reader::new(self.body);
        Some((
            reader.number()?,
            reader.letter()?,
            reader.text()?,
            reader.text()?,
        ))
    }
}

/// Appends links to the row of a site; runs must not fall.
#[derive(Debug, Default)]
pub(super) struct RowWriter {
    pub(super) block: Block,
    run: i64,
    pub(super) links: i64,
}

impl RowWriter {
    pub(super) fn clear(&mut self) {
        self.block.clear();
        self.run = 0;
        self.links = 0;
    }

    pub(super) fn push(&mut self, link: Link<'_>) {
        put_varint(&mut self.block.text, (link.run - self.run) as u64);
        self.block.text.extend_from_slice(link.body);
        self.block
            .fixed
            .extend_from_slice(&link.key.0.to_le_bytes());
        self.run = link.run;
        self.links += 1;
    }
}

/// The links of a site's row.
pub(super) fn read_row<'a>(text: &'a [u8], fixed: &'a [u8]) -> Option<Vec<Link<'a>>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut links = Vec::with_capacity(fixed.rest().len() / 8);
    let mut run = 0;
    while !text.is_empty() {
        run += text.number::<i64>()?;
        let start = text.rest();
        text.varint()?;
        text.varint()?;
        for _ in 0..2 {
            let length = text.number()?;
            text.take(length)?;
        }
        links.push(Link {
            run,
            key: PathKey(fixed.word()?),
            body: &start[..start.len() - text.rest().len()],
        });
    }
    fixed.is_empty().then_some(links)
}

/// Whether the row of `site` is to be looked for in `run`.
fn is_visible(runs: &[Run], run: &Run, site: i64) -> bool {
    if run.upto.is_some_and(|upto| site > upto) {
        return false;
    }
    match run.target {
        None => true,
        Some(target) => runs
            .iter()
            .find(|other| other.id == target)
            .is_none_or(|target| target.upto.is_some_and(|upto| site > upto)),
    }
}

impl Store {
    /// All runs, the oldest links first.
    pub(super) fn runs_read(&self) -> Result<Vec<Run>, Fault> {
        self.all(
            "SELECT run, level, last, links, journal, upto, target FROM runs ORDER BY last, run",
            [],
            |row| {
                Ok(Run {
                    links: row.get(3)?,
                    journal: row.get(4)?,
                    upto: row.get(5)?,
                    target: row.get(6)?,
                    ..Run::new(row.get(0)?, row.get(1)?, row.get(2)?)
                })
            },
        )
    }

    /// Begin a run: of level 0, or the target of a merge.
    pub(super) fn run_create(
        &self,
        level: i64,
        last: Option<i64>,
        journal: i64,
    ) -> Result<Run, Fault> {
        let id = self.insert(
            "INSERT INTO runs (level, last, links, journal, upto) VALUES (?1, ?2, 0, ?3, ?4)",
            params![level, last.unwrap_or(0), journal, i64::MIN],
        )?;
        let last = last.unwrap_or(id);
        self.run("UPDATE runs SET last = ?2 WHERE run = ?1", (id, last))?;
        self.db.execute_batch(&format!(
            "CREATE TABLE run_{id} (site INTEGER PRIMARY KEY, links BLOB NOT NULL)"
        ))?;
        let mut run = Run::new(id, level, last);
        run.journal = journal;
        run.upto = Some(i64::MIN);
        Ok(run)
    }

    /// Write how far a run has come.
    pub(super) fn run_update(&self, run: &Run) -> Result<(), Fault> {
        self.run(
            "UPDATE runs SET links = ?2, journal = ?3, upto = ?4, target = ?5 WHERE run = ?1",
            (run.id, run.links, run.journal, run.upto, run.target),
        )?;
        Ok(())
    }

    pub(super) fn run_drop(&self, id: i64) -> Result<(), Fault> {
        self.db.execute_batch(&format!("DROP TABLE run_{id}"))?;
        self.run("DELETE FROM runs WHERE run = ?1", [id])?;
        Ok(())
    }

    /// Visit the links that wait for a site and that are newer than `consumed`; answers the newest run it can see.
    pub(super) fn inbox_walk(
        &self,
        runs: &[Run],
        site: i64,
        consumed: i64,
        mut visit: impl FnMut(Link<'_>) -> Option<()>,
    ) -> Result<i64, Fault> {
        let mut newest = consumed;
        for run in runs {
            if run.last <= consumed || !is_visible(runs, run, site) {
                continue;
            }
            newest = newest.max(run.last);
            let mut statement = self.statement(&run.select)?;
            let mut rows = statement.query([site])?;
            let Some(row) = rows.next()? else { continue };
            let damaged = || Fault::damaged("links in run", run.id);
            let (text, fixed) = self
                .packer
                .open(row.get_ref(0)?.as_blob().unwrap_or_default())
                .ok_or_else(damaged)?;
            for link in read_row(&text, fixed).ok_or_else(damaged)? {
                if link.run > consumed {
                    visit(link).ok_or_else(damaged)?;
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
        let mut source = Run::new(1, 0, 1);
        source.target = Some(9);
        let mut target = Run::new(9, 1, 1);
        target.upto = Some(100);
        let runs = [source, target];
        for (site, expected) in [
            (-5, [false, true]),
            (100, [false, true]),
            (101, [true, false]),
        ] {
            let seen = [&runs[0], &runs[1]].map(|run| is_visible(&runs, run, site));
            assert_eq!(seen, expected, "site {site}");
        }
    }
}
