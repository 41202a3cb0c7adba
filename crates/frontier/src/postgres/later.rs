//! The first blocks of waiting pages (table `later`), read for many sites at once.
//!
//! If they were read site by site, a check-out would need several statements for each site with due retries or
//! revisits.

use std::collections::VecDeque;

use super::tables::PostgresTables;
use crate::sites::later::WaitKind;
use crate::sites::site_row::SiteRow;
use crate::store_error::StoreError;

/// Number of blocks that are read for each site and kind. A check-out rarely takes more than one, but it also needs the
/// due time of the next one.
const BLOCKS: i64 = 3;

/// A block of waiting pages: due time, id, pages.
type Block = (i64, i64, Vec<u8>);

/// The first stored blocks of a site and kind, in order of due time.
#[derive(Debug, Default)]
pub(super) struct FirstLater {
    blocks: VecDeque<Block>,
    /// Whether these are all stored blocks.
    is_complete: bool,
}

impl PostgresTables {
    /// For each of these sites that has due retries or revisits, read the first blocks of that kind.
    pub(super) fn read_later(
        &self,
        sites: &[SiteRow],
        now: i64,
        horizon: i64,
    ) -> Result<(), StoreError> {
        let (mut keys, mut kinds) = (Vec::new(), Vec::new());
        for site in sites {
            for (kind, due, until) in [
                (WaitKind::Retry, site.later_due, now),
                (WaitKind::Revisit, site.again_due, now.min(horizon)),
            ] {
                if due.is_some_and(|due| due <= until) {
                    keys.push(site.key);
                    kinds.push(kind as i16);
                }
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        self.write_later()?;
        let sql = "SELECT s.site, s.kind, l.due, l.id, l.pages FROM unnest($1::int8[], $2::int2[]) AS s (site, kind) \
                   CROSS JOIN LATERAL (SELECT due, id, pages FROM later WHERE site = s.site AND again = s.kind \
                   ORDER BY site, again, due LIMIT $3) l ORDER BY 1, 2, 3";
        let rows = self.connection.query(sql, &[&keys, &kinds, &BLOCKS])?;
        let mut unit = self.unit.borrow_mut();
        for row in rows {
            let first = unit.first_later.entry((row.try_get(0)?, row.try_get(1)?));
            let block = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
            first.or_default().blocks.push_back(block);
        }
        for wanted in keys.into_iter().zip(kinds) {
            let first = unit.first_later.entry(wanted).or_default();
            first.is_complete = (first.blocks.len() as i64) < BLOCKS;
        }
        Ok(())
    }

    /// The due time of the first block, stored or new. Returns `Err` if only a query can tell.
    pub(super) fn known_later_due(&self, site: i64, kind: WaitKind) -> Result<Option<i64>, ()> {
        let unit = self.unit.borrow();
        let first = unit.first_later.get(&(site, kind as i16)).ok_or(())?;
        if first.blocks.is_empty() && !first.is_complete {
            return Err(());
        }
        let new = unit
            .later
            .iter()
            .filter(|(_, of, again, ..)| (*of, *again) == (site, kind as i16));
        let new = new.map(|(_, _, _, due, _)| *due);
        let stored = first.blocks.front().map(|(due, ..)| *due);
        Ok(new.chain(stored).min())
    }

    /// The first block with its id, if it is stored and was read.
    pub(super) fn known_later_first(&self, site: i64, kind: WaitKind) -> Option<(i64, Vec<u8>)> {
        let earliest = self.known_later_due(site, kind).ok()??;
        let unit = self.unit.borrow();
        let (due, id, pages) = unit.first_later.get(&(site, kind as i16))?.blocks.front()?;
        (*due == earliest).then(|| (*id, pages.clone()))
    }

    /// Note that a block is deleted. If it is not the first block, drop the blocks that were read.
    pub(super) fn forget_later(&self, site: i64, id: i64) {
        let mut unit = self.unit.borrow_mut();
        for kind in WaitKind::ALL {
            if let Some(first) = unit.first_later.get_mut(&(site, kind as i16))
                && first
                    .blocks
                    .front()
                    .is_some_and(|(_, first, _)| *first == id)
            {
                first.blocks.pop_front();
                return;
            }
        }
        for kind in WaitKind::ALL {
            unit.first_later.remove(&(site, kind as i16));
        }
    }
}
