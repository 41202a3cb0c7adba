//! Pages that wait for a time (table `later`): retries after a failure, and revisits of answered pages.

use std::collections::HashMap;

use aranha_url::PathKey;
use rusqlite::params;

use super::page_block::{put_page, read_page};
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::codec::{BlockBuffer, Reader, put_signed};
use crate::{Claim, PageRecord, Pending, Waiting};

/// Maximum pages of a block.
const BLOCK: usize = 256;

/// Pages with the time at which each is to be asked.
fn read_later(text: &[u8], fixed: &[u8]) -> Option<Vec<(i64, Pending)>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut pages = Vec::with_capacity(fixed.rest().len() / 8);
    while !text.is_empty() {
        let due = text.signed()?;
        pages.push((due, read_page(&mut text, &mut fixed)?));
    }
    fixed.is_empty().then_some(pages)
}

/// Why a page waits for a later time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// To be tried again, or asked for whatever the horizon.
    Later = 0,
    /// Answered, and to be visited again.
    Again = 1,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Later, Kind::Again];

    fn other(self) -> Kind {
        match self {
            Kind::Later => Kind::Again,
            Kind::Again => Kind::Later,
        }
    }

    fn due(self, site: &mut SiteRow) -> &mut Option<i64> {
        match self {
            Kind::Later => &mut site.later_due,
            Kind::Again => &mut site.again_due,
        }
    }

    fn count(self, site: &mut SiteRow) -> &mut i64 {
        match self {
            Kind::Later => &mut site.later,
            Kind::Again => &mut site.again,
        }
    }
}

/// A page that failed after it was answered before is to be tried again first.
fn is_again(page: &Pending) -> bool {
    page.past.is_some() && page.tries == 0
}

impl Store {
    /// Keep the pages whose records ask for another fetch, and those that are put off.
    pub(super) fn later_append(
        &self,
        site: &mut SiteRow,
        records: &[PageRecord],
        put_off: Vec<(i64, Pending)>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let again = records.iter().filter_map(|record| {
            let page = Pending {
                path: record.path.clone(),
                key: record.key,
                depth: record.depth,
                site_depth: record.site_depth,
                tries: record.tries,
                hop: record.hop,
                via: record.via.clone(),
                past: record.past.clone(),
            };
            Some((record.next?, page))
        });
        let (mut again, mut later): (Vec<_>, Vec<_>) =
            again.chain(put_off).partition(|(_, page)| is_again(page));
        site.later += later.len() as i64;
        site.again += again.len() as i64;
        for (pages, kind) in [(&mut later, Kind::Later), (&mut again, Kind::Again)] {
            if let Some(due) = self.later_insert(site.key, kind, pages, block)? {
                let earliest = kind.due(site);
                *earliest = Some(earliest.map_or(due, |earlier| earlier.min(due)));
            }
        }
        Ok(())
    }

    /// In blocks of pages whose times are near; answers with the earliest.
    fn later_insert(
        &self,
        site: i64,
        kind: Kind,
        pages: &mut [(i64, Pending)],
        block: &mut BlockBuffer,
    ) -> Result<Option<i64>, StoreError> {
        pages.sort_by_key(|(due, _)| *due);
        for part in pages.chunks(BLOCK) {
            block.clear();
            for (due, page) in part {
                put_signed(&mut block.text, *due);
                put_page(block, page);
            }
            self.insert(
                "INSERT INTO later (site, again, due, pages) VALUES (?1, ?2, ?3, ?4)",
                params![site, kind as i64, part[0].0, self.packer.seal(block)],
            )?;
        }
        Ok(pages.first().map(|(due, _)| *due))
    }

    fn open_later(&self, id: i64, sealed: &[u8]) -> Result<Vec<(i64, Pending)>, StoreError> {
        self.packer
            .open(sealed)
            .and_then(|(text, fixed)| read_later(&text, fixed))
            .ok_or_else(|| StoreError::damaged("block of pages for later", id))
    }

    /// Take up to `count` pages whose time has come.
    pub(super) fn later_take(
        &self,
        site: &mut SiteRow,
        now: i64,
        count: usize,
        out: &mut Vec<Pending>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let full = out.len() + count;
        for (kind, until) in [(Kind::Later, now), (Kind::Again, now.min(self.horizon))] {
            while out.len() < full && kind.due(site).is_some_and(|due| due <= until) {
                self.later_take_block(site, kind, until, full, out, block)?;
            }
        }
        Ok(())
    }

    /// Take what is due of the earliest block.
    fn later_take_block(
        &self,
        site: &mut SiteRow,
        kind: Kind,
        until: i64,
        full: usize,
        out: &mut Vec<Pending>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let first = self.first(
            "SELECT id, pages FROM later WHERE site = ?1 AND again = ?2 ORDER BY due LIMIT 1",
            params![site.key, kind as i64],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)),
        )?;
        let (id, sealed) =
            first.ok_or_else(|| StoreError::damaged("pages for later of site", site.key))?;
        let mut rest = Vec::new();
        let before = out.len();
        for (due, page) in self.open_later(id, &sealed)? {
            if due <= until && out.len() < full {
                out.push(page);
            } else {
                rest.push((due, page));
            }
        }
        *kind.count(site) -= (out.len() - before) as i64;
        self.run("DELETE FROM later WHERE id = ?1", [id])?;
        self.later_insert(site.key, kind, &mut rest, block)?;
        self.later_look(site, kind)
    }

    /// When the earliest page of this kind is due.
    fn later_look(&self, site: &mut SiteRow, kind: Kind) -> Result<(), StoreError> {
        *kind.due(site) = self
            .first(
                "SELECT min(due) FROM later WHERE site = ?1 AND again = ?2",
                params![site.key, kind as i64],
                |row| row.get(0),
            )?
            .flatten();
        Ok(())
    }

    /// All pages of the site that wait for a later try are due now; with `again`, which tells who wants it, those answered
    /// before, too.
    pub(super) fn later_hasten(
        &self,
        site: &mut SiteRow,
        again: Option<u8>,
        now: i64,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let kinds: &[Kind] = match again {
            Some(_) => &Kind::ALL,
            None => &[Kind::Later],
        };
        for kind in kinds.iter().copied() {
            self.later_change(site, kind, block, |due, page| {
                let mut changed = *due > now;
                *due = now.min(*due);
                // Who told of it before is still to be judged by what is found.
                if let (Some(source), Some(past)) = (again, &mut page.past)
                    && past.claim == 0
                {
                    past.claim = source;
                    changed = true;
                }
                changed.then_some(kind)
            })?;
        }
        Ok(())
    }

    /// Bring the visits of these pages forward; answers how many were. With `obey`, what is believed entirely also brings
    /// forward pages that wait for another try, and is done in this run, wherever its horizon is.
    pub(super) fn later_claim(
        &self,
        site: &mut SiteRow,
        claims: &[Claim],
        now: i64,
        obey: bool,
        block: &mut BlockBuffer,
    ) -> Result<u64, StoreError> {
        let is_order = |claim: &Claim| obey && claim.weight >= 1.0 && claim.at <= now;
        let ordered = claims.iter().any(is_order) && site.later > 0;
        if claims.is_empty() || (site.again == 0 && !ordered) {
            return Ok(0);
        }
        // Of several about one page the one that is believed most: the user's is never lost among others.
        let mut order: Vec<&Claim> = claims.iter().collect();
        order.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let claims: HashMap<PathKey, &Claim> =
            order.into_iter().map(|claim| (claim.key, claim)).collect();
        let mut sooner = 0;
        if ordered {
            sooner += self.later_change(site, Kind::Later, block, |due, page| {
                let claim = claims.get(&page.key).filter(|claim| is_order(claim))?;
                let past = page.past.as_deref_mut();
                let is_news = past.as_ref().is_none_or(|past| claim.is_news(past));
                if !is_news || *due <= now {
                    return None;
                }
                *due = now;
                if let Some(past) = past {
                    past.claim = claim.source;
                }
                Some(Kind::Later)
            })?;
        }
        sooner += self.later_change(site, Kind::Again, block, |due, page| {
            let (claim, past) = (claims.get(&page.key)?, page.past.as_mut()?);
            let kind = if is_order(claim) && claim.is_news(past) && now > self.horizon {
                *due = now.min(*due);
                Kind::Later
            } else {
                *due = claim.sooner(past, *due, now)?;
                Kind::Again
            };
            past.claim = claim.source;
            Some(kind)
        })?;
        Ok(sooner)
    }

    /// Show `change` every page of a kind that the site keeps for later; it answers of which kind a page is that it has
    /// changed. Answers how many it has.
    fn later_change(
        &self,
        site: &mut SiteRow,
        kind: Kind,
        block: &mut BlockBuffer,
        mut change: impl FnMut(&mut i64, &mut Pending) -> Option<Kind>,
    ) -> Result<u64, StoreError> {
        let mut changed = 0;
        let mut others = Vec::new();
        for id in self.later_blocks(site.key, kind)? {
            let mut stay = Vec::new();
            let before = changed;
            for (mut due, mut page) in self.later_block(id)? {
                let after = change(&mut due, &mut page);
                changed += u64::from(after.is_some());
                match after {
                    Some(after) if after != kind => others.push((due, page)),
                    _ => stay.push((due, page)),
                }
            }
            if changed > before {
                self.run("DELETE FROM later WHERE id = ?1", [id])?;
                self.later_insert(site.key, kind, &mut stay, block)?;
            }
        }
        let moved = others.len() as i64;
        if moved > 0 {
            let other = kind.other();
            *kind.count(site) -= moved;
            *other.count(site) += moved;
            self.later_insert(site.key, other, &mut others, block)?;
            self.later_look(site, other)?;
        }
        self.later_look(site, kind)?;
        Ok(changed)
    }

    /// The blocks of one kind that the site keeps for later. By number: a large site has thousands, to be opened one after
    /// the other.
    fn later_blocks(&self, site: i64, kind: Kind) -> Result<Vec<i64>, StoreError> {
        self.all(
            "SELECT id FROM later WHERE site = ?1 AND again = ?2",
            params![site, kind as i64],
            |row| row.get(0),
        )
    }

    fn later_block(&self, id: i64) -> Result<Vec<(i64, Pending)>, StoreError> {
        let sealed: Option<Vec<u8>> =
            self.first("SELECT pages FROM later WHERE id = ?1", [id], |row| {
                row.get(0)
            })?;
        self.open_later(id, &sealed.unwrap_or_default())
    }

    /// When the page is to be asked again: reads all that the site keeps for later.
    pub(super) fn later_find(
        &self,
        site: &SiteRow,
        key: PathKey,
    ) -> Result<Option<Waiting>, StoreError> {
        for kind in Kind::ALL {
            for id in self.later_blocks(site.key, kind)? {
                let pages = self.later_block(id)?;
                if let Some((due, _)) = pages.iter().find(|(_, page)| page.key == key) {
                    return Ok(Some(match kind {
                        Kind::Later => Waiting::Retry(*due),
                        Kind::Again => Waiting::Revisit(*due),
                    }));
                }
            }
        }
        Ok(None)
    }
}
