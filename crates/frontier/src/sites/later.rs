//! Pages that wait until their due time (table `later`): retries after a failure, and revisits.

use std::collections::{HashMap, HashSet};

use aranha_url::PathKey;

use super::page_block::{put_page, read_page};
use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::codec::{BlockBuffer, Reader, put_signed};
use crate::store_error::StoreError;
use crate::{Claim, Outcome, PageRecord, Pending, VisitOrder, Waiting};

/// Maximum number of pages in a block.
const BLOCK: usize = 256;

/// Decode a block: pages with their due times.
pub(crate) fn read_later(text: &[u8], fixed: &[u8]) -> Option<Vec<(i64, Pending)>> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    let mut pages = Vec::with_capacity(fixed.rest().len() / 8);
    while !text.is_empty() {
        let due = text.signed()?;
        pages.push((due, read_page(&mut text, &mut fixed)?));
    }
    fixed.is_empty().then_some(pages)
}

/// Why a page waits. The discriminants are the values of the column `again`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitKind {
    /// The page waits for a retry. A revisit is stored as `Retry` instead of `Revisit` if a fully trusted claim (weight
    /// 1.0) made it due after the horizon, because a `Revisit` would wait for the next crawl.
    Retry = 0,
    /// The page waits for a revisit.
    Revisit = 1,
}

impl WaitKind {
    pub(crate) const ALL: [WaitKind; 2] = [WaitKind::Retry, WaitKind::Revisit];

    fn other(self) -> WaitKind {
        match self {
            WaitKind::Retry => WaitKind::Revisit,
            WaitKind::Revisit => WaitKind::Retry,
        }
    }

    fn due(self, site: &mut SiteRow) -> &mut Option<i64> {
        match self {
            WaitKind::Retry => &mut site.later_due,
            WaitKind::Revisit => &mut site.again_due,
        }
    }

    fn count(self, site: &mut SiteRow) -> &mut i64 {
        match self {
            WaitKind::Retry => &mut site.later,
            WaitKind::Revisit => &mut site.again,
        }
    }
}

/// Whether the page waits for a revisit. A page that was fetched before and then failed waits for a retry.
fn is_revisit(page: &Pending) -> bool {
    page.past.is_some() && page.tries == 0
}

impl<T: Tables> Store<T> {
    /// Store the pages whose records have a next fetch, and the postponed pages.
    pub(crate) fn later_append(
        &self,
        site: &mut SiteRow,
        records: &[PageRecord],
        postponed: Vec<(i64, Pending)>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let scheduled = records.iter().filter_map(|record| {
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
            // A refused page has not failed. It waits for its next visit like a page that was fetched.
            let is_refused = record.outcome == Outcome::RobotsRefused;
            let is_revisit = is_refused || is_revisit(&page);
            Some((is_revisit, (record.next?, page)))
        });
        let postponed = postponed
            .into_iter()
            .map(|page| (is_revisit(&page.1), page));
        let (mut revisits, mut retries) = (Vec::new(), Vec::new());
        for (is_revisit, page) in scheduled.chain(postponed) {
            if is_revisit {
                revisits.push(page);
            } else {
                retries.push(page);
            }
        }
        site.later += retries.len() as i64;
        site.again += revisits.len() as i64;
        for (pages, kind) in [
            (&mut retries, WaitKind::Retry),
            (&mut revisits, WaitKind::Revisit),
        ] {
            if let Some(due) = self.later_insert(site.key, kind, pages, block)? {
                let earliest = kind.due(site);
                *earliest = Some(earliest.map_or(due, |earlier| earlier.min(due)));
            }
        }
        Ok(())
    }

    /// Write pages in blocks, in order of due time. Returns the earliest due time.
    fn later_insert(
        &self,
        site: i64,
        kind: WaitKind,
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
            self.tables
                .later_insert(site, kind, part[0].0, self.packer.seal(block))?;
        }
        Ok(pages.first().map(|(due, _)| *due))
    }

    fn open_later(&self, id: i64, sealed: &[u8]) -> Result<Vec<(i64, Pending)>, StoreError> {
        self.packer
            .open(sealed)
            .and_then(|(text, fixed)| read_later(&text, fixed))
            .ok_or_else(|| StoreError::damaged("block of waiting pages", id))
    }

    /// Take up to `count` due pages.
    pub(crate) fn later_take(
        &self,
        site: &mut SiteRow,
        now: i64,
        count: usize,
        out: &mut Vec<Pending>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let full = out.len() + count;
        for (kind, until) in [
            (WaitKind::Retry, now),
            (WaitKind::Revisit, now.min(self.horizon)),
        ] {
            while out.len() < full && kind.due(site).is_some_and(|due| due <= until) {
                self.later_take_block(site, kind, until, full, out, block)?;
            }
        }
        Ok(())
    }

    /// Take the due pages of the earliest block.
    fn later_take_block(
        &self,
        site: &mut SiteRow,
        kind: WaitKind,
        until: i64,
        full: usize,
        out: &mut Vec<Pending>,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        let first = self.tables.later_first(site.key, kind)?;
        let (id, sealed) =
            first.ok_or_else(|| StoreError::damaged("waiting pages of site", site.key))?;
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
        self.tables.later_delete(site.key, id)?;
        self.later_insert(site.key, kind, &mut rest, block)?;
        self.later_update_due(site, kind)
    }

    /// Update the row of the site: set the earliest due time of its pages that wait for this reason (`kind`).
    fn later_update_due(&self, site: &mut SiteRow, kind: WaitKind) -> Result<(), StoreError> {
        *kind.due(site) = self.tables.later_due(site.key, kind)?;
        Ok(())
    }

    /// Make all retries of the site due now.
    pub(crate) fn later_make_due(
        &self,
        site: &mut SiteRow,
        now: i64,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        self.later_change(site, WaitKind::Retry, block, |due, _| {
            let is_later = *due > now;
            *due = now.min(*due);
            is_later.then_some(WaitKind::Retry)
        })?;
        Ok(())
    }

    /// Make all retries and revisits of the site due now by an order of the user, except the pages in `visited`.
    pub(crate) fn later_make_all_due(
        &self,
        site: &mut SiteRow,
        order: &VisitOrder,
        visited: &HashSet<PathKey>,
        now: i64,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        for kind in WaitKind::ALL {
            self.later_change(site, kind, block, |due, page| {
                if visited.contains(&page.key) {
                    return None;
                }
                let mut changed = *due > now;
                *due = now.min(*due);
                if let Some(past) = &mut page.past {
                    // An earlier claim is kept, because the visit will show whether it was right.
                    if past.claim == 0 {
                        past.claim = order.source;
                        changed = true;
                    }
                    changed |= order.unconditional && past.forget_validators();
                }
                changed.then_some(kind)
            })?;
        }
        Ok(())
    }

    /// Bring revisits forward: a revisit that is due by `until` becomes due now, if the page was last visited at
    /// `visited_by` or before.
    pub(crate) fn later_bring_forward(
        &self,
        site: &mut SiteRow,
        now: i64,
        until: i64,
        visited_by: i64,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        self.later_change(site, WaitKind::Revisit, block, |due, page| {
            let past = page.past.as_ref()?;
            let is_early = *due > now && *due <= until && past.visited.max(past.time) <= visited_by;
            is_early.then(|| {
                *due = now;
                WaitKind::Revisit
            })
        })?;
        Ok(())
    }

    /// Bring the visits of claimed pages forward. Returns the number of pages brought forward. If `orders` is true, a
    /// claim of weight 1.0 is an order: it also brings retries forward, and it makes a page due even after the horizon.
    pub(crate) fn later_claim(
        &self,
        site: &mut SiteRow,
        claims: &[Claim],
        now: i64,
        orders: bool,
        block: &mut BlockBuffer,
    ) -> Result<u64, StoreError> {
        let is_order = |claim: &Claim| orders && claim.weight >= 1.0 && claim.at <= now;
        let has_orders = claims.iter().any(is_order) && site.later > 0;
        if claims.is_empty() || (site.again == 0 && !has_orders) {
            return Ok(0);
        }
        // If a page has several claims, the one with the highest weight is used, because it is inserted last.
        let mut by_weight: Vec<&Claim> = claims.iter().collect();
        by_weight.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let claims: HashMap<PathKey, &Claim> = by_weight
            .into_iter()
            .map(|claim| (claim.key, claim))
            .collect();
        let mut brought_forward = 0;
        if has_orders {
            brought_forward += self.later_change(site, WaitKind::Retry, block, |due, page| {
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
                Some(WaitKind::Retry)
            })?;
        }
        brought_forward += self.later_change(site, WaitKind::Revisit, block, |due, page| {
            let (claim, past) = (claims.get(&page.key)?, page.past.as_mut()?);
            let kind = if is_order(claim) && claim.is_news(past) && now > self.horizon {
                *due = now.min(*due);
                WaitKind::Retry
            } else {
                *due = claim.earlier_due(past, *due, now)?;
                WaitKind::Revisit
            };
            past.claim = claim.source;
            Some(kind)
        })?;
        Ok(brought_forward)
    }

    /// Call `change` for every page of the site that waits for this reason (`kind`). `change` returns the new kind of a
    /// page that it changed, and `None` for an unchanged page. Returns the number of changed pages.
    pub(crate) fn later_change(
        &self,
        site: &mut SiteRow,
        kind: WaitKind,
        block: &mut BlockBuffer,
        mut change: impl FnMut(&mut i64, &mut Pending) -> Option<WaitKind>,
    ) -> Result<u64, StoreError> {
        let mut changed = 0;
        let mut moved = Vec::new();
        for id in self.tables.later_ids(site.key, kind)? {
            let mut stay = Vec::new();
            let before = changed;
            for (mut due, mut page) in self.later_block(site.key, id)? {
                let after = change(&mut due, &mut page);
                changed += u64::from(after.is_some());
                match after {
                    Some(after) if after != kind => moved.push((due, page)),
                    _ => stay.push((due, page)),
                }
            }
            if changed > before {
                self.tables.later_delete(site.key, id)?;
                self.later_insert(site.key, kind, &mut stay, block)?;
            }
        }
        if !moved.is_empty() {
            let other = kind.other();
            *kind.count(site) -= moved.len() as i64;
            *other.count(site) += moved.len() as i64;
            self.later_insert(site.key, other, &mut moved, block)?;
            self.later_update_due(site, other)?;
        }
        self.later_update_due(site, kind)?;
        Ok(changed)
    }

    fn later_block(&self, site: i64, id: i64) -> Result<Vec<(i64, Pending)>, StoreError> {
        let sealed = self.tables.later_block(site, id)?;
        self.open_later(id, &sealed.unwrap_or_default())
    }

    /// Add the keys of all pages of the site that wait to `keys`.
    pub(crate) fn later_keys(
        &self,
        site: &SiteRow,
        keys: &mut HashSet<PathKey>,
    ) -> Result<(), StoreError> {
        for kind in WaitKind::ALL {
            for id in self.tables.later_ids(site.key, kind)? {
                keys.extend(
                    self.later_block(site.key, id)?
                        .iter()
                        .map(|(_, page)| page.key),
                );
            }
        }
        Ok(())
    }

    /// Call `visit` for each block of pages that wait for a retry, with their due times, until it returns false.
    pub(crate) fn retries_walk(
        &self,
        site: &SiteRow,
        mut visit: impl FnMut(Vec<(i64, Pending)>) -> bool,
    ) -> Result<(), StoreError> {
        for id in self.tables.later_ids(site.key, WaitKind::Retry)? {
            if !visit(self.later_block(site.key, id)?) {
                break;
            }
        }
        Ok(())
    }

    /// Call `visit` for every page of the site that waits, with its kind of wait and its due time.
    pub(crate) fn later_walk(
        &self,
        site: &SiteRow,
        mut visit: impl FnMut(Waiting, &Pending),
    ) -> Result<(), StoreError> {
        for kind in WaitKind::ALL {
            for id in self.tables.later_ids(site.key, kind)? {
                for (due, page) in self.later_block(site.key, id)? {
                    let waiting = match kind {
                        WaitKind::Retry => Waiting::Retry(due),
                        WaitKind::Revisit => Waiting::Revisit(due),
                    };
                    visit(waiting, &page);
                }
            }
        }
        Ok(())
    }
}
