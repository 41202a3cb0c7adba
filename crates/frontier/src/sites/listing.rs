//! Lists sites and pages for readers. Long listings read a batch of sites at a time, so that no transaction is long.

use std::collections::HashSet;
use std::path::PathBuf;

use aranha_url::{CanonUrl, SiteKey};

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::reader::{FrontierReader, PageEntry, PageFilter, QueuedPage};
use crate::store_error::StoreError;
use crate::{
    Explanation, FrontierError, FrontierStatus, Pending, ProblemSite, SiteEntry, SiteFacts,
    SiteSettings, SiteState,
};

/// Number of sites per query.
const BATCH: usize = 500;

/// A reader of the tables of an engine.
#[derive(Debug)]
pub(crate) struct StoreReader<T: Tables> {
    pub(crate) store: Store<T>,
    /// The database, for error messages.
    pub(crate) place: PathBuf,
    /// See [`FrontierReader::writer`].
    pub(crate) writer: Option<u32>,
    /// Whether no process visits the leased sites. If so, the next crawl releases the leases and can visit the sites at
    /// once.
    pub(crate) leases_are_abandoned: bool,
}

impl<T: Tables> StoreReader<T> {
    fn read<R>(
        &self,
        work: impl FnOnce(&Store<T>) -> Result<R, StoreError>,
    ) -> Result<R, FrontierError> {
        work(&self.store).map_err(|error| error.at(&self.place))
    }

    /// The row of a site as it is shown to people.
    fn entry(&self, row: &SiteRow) -> SiteEntry {
        let mut entry = row.entry();
        if self.leases_are_abandoned && entry.state == SiteState::Leased {
            entry.state = SiteState::Waiting;
        }
        entry
    }
}

impl<T: Tables> FrontierReader for StoreReader<T> {
    fn writer(&self) -> Option<u32> {
        self.writer
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let mut status = self.read(|store| store.tables.status(store.horizon))?;
        status.sites.problems = self.read(|store| store.tables.problems())?.len() as u64;
        if self.leases_are_abandoned && status.sites.leased > 0 {
            status.sites.waiting += std::mem::take(&mut status.sites.leased);
            status.next_due = Some(status.next_due.map_or(now, |due| due.min(now)));
        }
        if status.links_gathered > 0 {
            status.next_due = Some(status.next_due.map_or(now, |due| due.min(now)));
        }
        Ok(status)
    }

    fn explain_all(&self, urls: &[CanonUrl]) -> Result<Vec<Explanation>, FrontierError> {
        let mut found = self.read(|store| store.explain_all(urls))?;
        for explanation in found.iter_mut().filter(|_| self.leases_are_abandoned) {
            explanation.lease = None;
            if let Some(site) = &mut explanation.site
                && site.state == SiteState::Leased
            {
                site.state = SiteState::Waiting;
            }
        }
        Ok(found)
    }

    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.read(|store| store.tables.problems())
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.read(|store| store.tables.seeds())
    }

    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        self.read(|store| store.tables.seed_settings(None))
    }

    fn each_site(&self, visit: &mut dyn FnMut(SiteEntry) -> bool) -> Result<(), FrontierError> {
        self.read(|store| each_site(store, |row| Ok(visit(self.entry(&row)))))
    }

    fn each_site_with_facts(
        &self,
        visit: &mut dyn FnMut(SiteEntry, SiteFacts) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| {
            each_site(store, |row| {
                Ok(visit(self.entry(&row), store.facts_read(&row)?))
            })
        })
    }

    fn site(&self, name: &str) -> Result<Option<SiteEntry>, FrontierError> {
        let row = self.read(|store| store.tables.site(SiteKey::of(name).0 as i64))?;
        Ok(row.map(|row| row.entry()))
    }

    fn each_queued(
        &self,
        site: Option<&str>,
        visit: &mut dyn FnMut(QueuedPage<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| each_site_or_one(store, site, |row| queued_of(store, &row, visit)))
    }

    fn each_page(
        &self,
        filter: &PageFilter<'_>,
        visit: &mut dyn FnMut(PageEntry<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| {
            each_site_or_one(store, filter.site, |row| {
                pages_of(store, &row, filter, visit)
            })
        })
    }
}

/// Call `visit` for the site with this name, if it is known. Without a name, call it for every site until it returns
/// false.
fn each_site_or_one<T: Tables>(
    store: &Store<T>,
    name: Option<&str>,
    mut visit: impl FnMut(SiteRow) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let Some(name) = name else {
        return each_site(store, visit);
    };
    if let Some(row) = store.tables.site(SiteKey::of(name).0 as i64)? {
        visit(row)?;
    }
    Ok(())
}

/// Call `visit` for every site, in order of key, until it returns false.
fn each_site<T: Tables>(
    store: &Store<T>,
    mut visit: impl FnMut(SiteRow) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = store.tables.sites_after(after, BATCH)?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = Some(last.key);
        for row in rows {
            if !visit(row)? {
                return Ok(());
            }
        }
    }
}

/// List the pages of one site that wait. Returns false if `visit` returned false.
fn queued_of<T: Tables>(
    store: &Store<T>,
    site: &SiteRow,
    visit: &mut dyn FnMut(QueuedPage<'_>) -> bool,
) -> Result<bool, StoreError> {
    let mut show = |page: &Pending, due| {
        visit(QueuedPage {
            origin: &site.origin,
            page,
            due,
        })
    };
    let mut wants_more = store.window_read(site)?.iter().all(|page| show(page, None));
    if wants_more {
        store.queue_walk(site, |pages| {
            wants_more = pages.iter().all(|page| show(page, None));
            wants_more
        })?;
    }
    if wants_more {
        store.retries_walk(site, |pages| {
            wants_more = pages.iter().all(|(due, page)| show(page, Some(*due)));
            wants_more
        })?;
    }
    Ok(wants_more)
}

/// List the records of one site. Returns false if `visit` returned false.
fn pages_of<T: Tables>(
    store: &Store<T>,
    site: &SiteRow,
    filter: &PageFilter<'_>,
    visit: &mut dyn FnMut(PageEntry<'_>) -> bool,
) -> Result<bool, StoreError> {
    let mut seen = HashSet::new();
    let mut wants_more = true;
    store.pages_walk(site, |records| {
        for record in records.iter().rev() {
            let latest = seen.insert(record.key);
            if (filter.all || latest)
                && filter.outcome.is_none_or(|wanted| wanted == record.outcome)
            {
                wants_more = visit(PageEntry {
                    site: &site.name,
                    origin: &site.origin,
                    record,
                });
                if !wants_more {
                    break;
                }
            }
        }
        wants_more
    })?;
    Ok(wants_more)
}
