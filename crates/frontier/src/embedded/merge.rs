//! Merging runs: eight of a level become one of the next, by ranges of sites, a short step at a time.
//!
//! A step moves the rows of the next few hundred sites from the sources to the target and moves `upto` on, in one
//! transaction; between steps the crawl goes on and sees each row in exactly one place. On the way a link that its site
//! has consumed is dropped, and so is a link that an earlier run brought already. Levels are merged side by side: a
//! long merge above does not let small runs pile up below.

use super::fault::Fault;
use super::inbox::Inbox;
use super::runs::{RowWriter, Run, read_row};
use super::store::Store;
use crate::seen::Seen;

/// Runs of a level that make one of the next.
pub(super) const FAN: usize = 8;
/// Rows of the largest source in one step, but for one; few in tests, so that they see merges half done.
const STEP: i64 = if cfg!(test) { 1 } else { 600 };

/// A row on its way: site, place of its source among the sources, bytes.
type Row = (i64, usize, Vec<u8>);

impl Inbox {
    /// Whether there is anything to merge.
    pub(super) fn is_merging(&self) -> bool {
        self.next_merge().is_some() || self.ripe_level(FAN).is_some()
    }

    /// The lowest level with `count` whole runs that nothing is done with.
    pub(super) fn ripe_level(&self, count: usize) -> Option<i64> {
        let highest = self.runs.iter().map(|run| run.level).max()?;
        (0..=highest).find(|level| self.resting(*level).count() >= count)
    }

    fn resting(&self, level: i64) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| run.level == level && run.upto.is_none() && run.target.is_none())
    }

    /// The merge under way at the lowest level, by its target.
    fn next_merge(&self) -> Option<i64> {
        self.runs
            .iter()
            .filter(|run| run.level > 0 && run.upto.is_some())
            .min_by_key(|run| run.level)
            .map(|run| run.id)
    }

    /// One step of merging; false when there was nothing to do.
    pub(super) fn merge(&mut self, store: &Store) -> Result<bool, Fault> {
        let under_way = self.next_merge();
        let level_under_way = under_way.and_then(|id| self.level(id));
        match self.ripe_level(FAN) {
            Some(level) if level_under_way.is_none_or(|busy| level + 1 < busy) => {
                self.start(store, level)?;
            }
            _ => {}
        }
        let Some(target) = self.next_merge() else {
            return Ok(false);
        };
        self.step(store, target)?;
        Ok(true)
    }

    fn level(&self, id: i64) -> Option<i64> {
        self.runs
            .iter()
            .find(|run| run.id == id)
            .map(|run| run.level)
    }

    fn start(&mut self, store: &Store, level: i64) -> Result<(), Fault> {
        let sources: Vec<i64> = self.resting(level).take(FAN).map(|run| run.id).collect();
        let last = self
            .resting(level)
            .take(FAN)
            .map(|run| run.last)
            .max()
            .unwrap_or(0);
        let target = store.run_create(level + 1, Some(last), 0)?;
        for run in &mut self.runs {
            if sources.contains(&run.id) {
                run.target = Some(target.id);
                store.run_update(run)?;
            }
        }
        self.runs.push(target);
        self.runs.sort_by_key(|run| (run.last, run.id));
        Ok(())
    }

    fn step(&mut self, store: &Store, target: i64) -> Result<(), Fault> {
        let place = self
            .runs
            .iter()
            .position(|run| run.id == target)
            .expect("a merge under way is in the list");
        let upto = self.runs[place].upto.unwrap_or(i64::MIN);
        let mut sources: Vec<(i64, i64)> = self
            .runs
            .iter()
            .filter(|run| run.target == Some(target))
            .map(|run| (run.id, run.links))
            .collect();
        let largest = sources
            .iter()
            .enumerate()
            .max_by_key(|(_, (_, links))| *links)
            .map_or(0, |(place, _)| place);
        let largest = sources.get(largest).map_or(0, |(id, _)| *id);
        let border = store.border(largest, upto)?;
        let mut rows = Vec::new();
        for (order, (id, _)) in sources.iter().enumerate() {
            store.take_rows(*id, border, order, &mut rows)?;
        }
        // Same site: the older source first, because links must be in the order of their runs.
        rows.sort_by_key(|(site, order, _)| (*site, *order));
        let links = write_rows(store, target, &rows)?;
        let run = &mut self.runs[place];
        run.links += links;
        run.upto = (border != i64::MAX).then_some(border);
        store.run_update(run)?;
        if border == i64::MAX {
            for (id, _) in sources.drain(..) {
                store.run_drop(id)?;
                self.runs.retain(|run| run.id != id);
            }
        }
        Ok(())
    }
}

/// Write the rows of a step to the target; answers how many links.
fn write_rows(store: &Store, target: i64, rows: &[Row]) -> Result<i64, Fault> {
    let insert = format!("INSERT INTO run_{target} VALUES (?1, ?2)");
    let mut writer = RowWriter::default();
    let mut seen = Seen::default();
    let mut links = 0;
    for group in rows.chunk_by(|a, b| a.0 == b.0) {
        let site = group[0].0;
        let consumed = store.site_consumed(site)?.unwrap_or(0);
        writer.clear();
        seen.clear();
        let opened =
            open_group(store, group).ok_or_else(|| Fault::damaged("merge into run", target))?;
        let mut found = Vec::new();
        for (text, fixed) in &opened {
            let row =
                read_row(text, fixed).ok_or_else(|| Fault::damaged("merge into run", target))?;
            found.extend(row.into_iter().filter(|link| link.run > consumed));
        }
        found.sort_by_key(|link| link.run);
        for link in found {
            if seen.insert(link.key.0) {
                writer.push(link);
            }
        }
        if writer.links > 0 {
            store.run(&insert, (site, store.packer.seal(&writer.block)))?;
            links += writer.links;
        }
    }
    Ok(links)
}

type Opened<'a> = (std::borrow::Cow<'a, [u8]>, &'a [u8]);

fn open_group<'a>(store: &Store, group: &'a [Row]) -> Option<Vec<Opened<'a>>> {
    group
        .iter()
        .map(|(_, _, sealed)| store.packer.open(sealed))
        .collect()
}

impl Store {
    /// The last site of a step.
    fn border(&self, run: i64, upto: i64) -> Result<i64, Fault> {
        let sql =
            format!("SELECT site FROM run_{run} WHERE site > ?1 ORDER BY site LIMIT 1 OFFSET ?2");
        Ok(self
            .first(&sql, (upto, STEP), |row| row.get(0))?
            .unwrap_or(i64::MAX))
    }

    /// Remove the rows up to `border` from a source.
    fn take_rows(
        &self,
        run: i64,
        border: i64,
        order: usize,
        rows: &mut Vec<Row>,
    ) -> Result<(), Fault> {
        let select = format!("SELECT site, links FROM run_{run} WHERE site <= ?1 ORDER BY site");
        rows.extend(self.all(&select, [border], |row| {
            Ok((row.get(0)?, order, row.get(1)?))
        })?);
        self.run(&format!("DELETE FROM run_{run} WHERE site <= ?1"), [border])?;
        Ok(())
    }
}
