//! Pages that wait behind the window (`window.rs`): the queue (`pending`), and those that are to be asked at a later time
//! (`later`).
//!
//! The queue is first in, first out, in blocks of a check-in: breadth first inside a site (F3; V 5.1). A block that is
//! taken in part is written back shortened, in its place.

use std::collections::HashMap;

use aranha_url::PathKey;
use rusqlite::params;

use super::fault::Fault;
use super::sites::SiteRow;
use super::store::Store;
use crate::codec::{Block, Reader, put_signed, put_str, put_varint};
use crate::{Claim, Hop, PageRecord, Past, Pending, Waiting};

/// Pages a block at most: a window takes whole blocks with little left over.
const BLOCK: usize = 256;

pub(super) fn put_page(block: &mut Block, page: &Pending) {
    block.fixed.extend_from_slice(&page.key.0.to_le_bytes());
    let text = &mut block.text;
    text.extend_from_slice(&[page.tries, u8::from(page.past.is_some())]);
    put_varint(text, u64::from(page.depth));
    put_varint(text, u64::from(page.site_depth));
    text.push(page.hop as u8);
    put_str(text, &page.path);
    put_str(text, &page.via);
    if let Some(past) = &page.past {
        past.put(block);
    }
}

pub(super) fn read_page(text: &mut Reader<'_>, fixed: &mut Reader<'_>) -> Option<Pending> {
    let key = PathKey(fixed.word()?);
    let (tries, answered) = (text.byte()?, text.byte()? != 0);
    let (depth, site_depth, letter) = (text.number()?, text.number()?, text.byte()?);
    let (path, via) = (text.text()?, text.text()?);
    let mut page = Pending {
        key,
        tries,
        depth,
        site_depth,
        hop: Hop::from_stored(letter, via)?,
        path: path.to_owned(),
        via: via.to_owned(),
        past: None,
    };
    if answered {
        page.past = Some(Box::new(Past::read(text, fixed)?));
    }
    Some(page)
}

/// Pass over a page.
pub(super) fn skip_page(text: &mut Reader<'_>, fixed: &mut Reader<'_>) -> Option<()> {
    fixed.word()?;
    let (_, answered) = (text.byte()?, text.byte()? != 0);
    for _ in 0..3 {
        text.varint()?;
    }
    for _ in 0..2 {
        let length = text.number()?;
        text.take(length)?;
    }
    if answered {
        Past::read(text, fixed)?;
    }
    Some(())
}

fn read_pages(text: &[u8], fixed: &[u8]) -> Option<Vec<Pending>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut pages = Vec::with_capacity(fixed.rest().len() / 8);
    while !text.is_empty() {
        pages.push(read_page(&mut text, &mut fixed)?);
    }
    fixed.is_empty().then_some(pages)
}

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
    fn seal_pages(&self, pages: &[Pending], block: &mut Block) -> Vec<u8> {
        block.clear();
        for page in pages {
            put_page(block, page);
        }
        self.packer.seal_lightly(block)
    }

    fn open_pages(&self, sealed: &[u8]) -> Option<Vec<Pending>> {
        let (text, fixed) = self.packer.open(sealed)?;
        read_pages(&text, fixed)
    }

    /// Append to the queue.
    pub(super) fn queue_append(
        &self,
        site: &mut SiteRow,
        pages: &[Pending],
        block: &mut Block,
    ) -> Result<(), Fault> {
        for part in pages.chunks(BLOCK) {
            let sealed = self.seal_pages(part, block);
            self.insert(
                "INSERT INTO pending (site, pages) VALUES (?1, ?2)",
                params![site.key, sealed],
            )?;
        }
        site.queued += pages.len() as i64;
        Ok(())
    }

    /// Take up to `count` pages from the front of the queue.
    pub(super) fn queue_take(
        &self,
        site: &mut SiteRow,
        count: usize,
        out: &mut Vec<Pending>,
        block: &mut Block,
    ) -> Result<(), Fault> {
        let mut count = count.min(site.queued as usize);
        site.queued -= count as i64;
        while count > 0 {
            let (id, mut pages) = self.queue_front(site.key)?;
            if pages.len() <= count {
                self.run("DELETE FROM pending WHERE id = ?1", [id])?;
            } else {
                let rest = pages.split_off(count);
                let sealed = self.seal_pages(&rest, block);
                self.run(
                    "UPDATE pending SET pages = ?2 WHERE id = ?1",
                    params![id, sealed],
                )?;
            }
            count -= pages.len();
            out.append(&mut pages);
        }
        Ok(())
    }

    fn queue_front(&self, site: i64) -> Result<(i64, Vec<Pending>), Fault> {
        let (id, sealed): (i64, Vec<u8>) = self
            .first(
                "SELECT id, pages FROM pending WHERE site = ?1 ORDER BY id LIMIT 1",
                [site],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .ok_or_else(|| Fault::damaged("queue of site", site))?;
        let pages = self
            .open_pages(&sealed)
            .filter(|pages| !pages.is_empty())
            .ok_or_else(|| Fault::damaged("block of pending pages", id))?;
        Ok((id, pages))
    }

    /// Whether the page is in the queue: reads all of it.
    pub(super) fn queue_has(&self, site: &SiteRow, key: PathKey) -> Result<bool, Fault> {
        let mut statement = self.statement("SELECT id, pages FROM pending WHERE site = ?1")?;
        let mut rows = statement.query([site.key])?;
        while let Some(row) = rows.next()? {
            let pages = self
                .open_pages(row.get_ref(1)?.as_blob().unwrap_or_default())
                .ok_or_else(|| Fault::damaged("block of pending pages", row.get(0).unwrap_or(0)))?;
            if pages.iter().any(|page| page.key == key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keep the pages whose records ask for another fetch, and those that are put off.
    pub(super) fn later_append(
        &self,
        site: &mut SiteRow,
        records: &[PageRecord],
        put_off: Vec<(i64, Pending)>,
        block: &mut Block,
    ) -> Result<(), Fault> {
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
        block: &mut Block,
    ) -> Result<Option<i64>, Fault> {
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

    fn open_later(&self, id: i64, sealed: &[u8]) -> Result<Vec<(i64, Pending)>, Fault> {
        self.packer
            .open(sealed)
            .and_then(|(text, fixed)| read_later(&text, fixed))
            .ok_or_else(|| Fault::damaged("block of pages for later", id))
    }

    /// Take up to `count` pages whose time has come.
    pub(super) fn later_take(
        &self,
        site: &mut SiteRow,
        now: i64,
        count: usize,
        out: &mut Vec<Pending>,
        block: &mut Block,
    ) -> Result<(), Fault> {
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
        block: &mut Block,
    ) -> Result<(), Fault> {
        let first = self.first(
            "SELECT id, pages FROM later WHERE site = ?1 AND again = ?2 ORDER BY due LIMIT 1",
            params![site.key, kind as i64],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)),
        )?;
        let (id, sealed) =
            first.ok_or_else(|| Fault::damaged("pages for later of site", site.key))?;
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
    fn later_look(&self, site: &mut SiteRow, kind: Kind) -> Result<(), Fault> {
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
        block: &mut Block,
    ) -> Result<(), Fault> {
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
        block: &mut Block,
    ) -> Result<u64, Fault> {
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
        block: &mut Block,
        mut change: impl FnMut(&mut i64, &mut Pending) -> Option<Kind>,
    ) -> Result<u64, Fault> {
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
    fn later_blocks(&self, site: i64, kind: Kind) -> Result<Vec<i64>, Fault> {
        self.all(
            "SELECT id FROM later WHERE site = ?1 AND again = ?2",
            params![site, kind as i64],
            |row| row.get(0),
        )
    }

    fn later_block(&self, id: i64) -> Result<Vec<(i64, Pending)>, Fault> {
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
    ) -> Result<Option<Waiting>, Fault> {
        for kind in Kind::ALL {
            for id in self.later_blocks(site.key, kind)? {
                let pages = self.later_block(id)?;
                if let Some((due, _)) = pages.iter().find(|(_, page)| page.key == key) {
                    return Ok(Some(match kind {
                        Kind::Later => Waiting::Later(*due),
                        Kind::Again => Waiting::Again(*due),
                    }));
                }
            }
        }
        Ok(None)
    }
}
