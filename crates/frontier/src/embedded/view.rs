//! Read-only access to a collection, also while a crawl writes to it.
//!
//! Readers never block the writer. Long listings read a batch of sites at a time, so that the write-ahead log can be
//! checkpointed in between. So a listing is not one snapshot: each batch shows the state at the time when it is read.

use std::collections::HashSet;
use std::path::Path;

use aranha_url::{CanonUrl, SiteKey};

use super::connection;
use super::lock::Lock;
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::codec::Packer;
use crate::{
    Explanation, FrontierError, FrontierStatus, Outcome, PageRecord, Pending, ProblemSite,
    SiteEntry, SiteFacts, SiteState,
};

/// Number of sites per query.
const BATCH: usize = 500;

/// The frontier of a collection, open for reading.
#[derive(Debug)]
pub struct View {
    store: Store,
    /// The process that had the collection open for writing when this view was opened.
    writer: Option<u32>,
}

/// Selects the page records of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFilter<'a> {
    /// If set, only records of the site with this name.
    pub site: Option<&'a str>,
    /// If set, only records with this outcome.
    pub outcome: Option<Outcome>,
    /// Whether to list all records of a page instead of only the latest.
    pub all: bool,
}

/// A page record with its site.
#[derive(Clone, Copy, Debug)]
pub struct PageEntry<'a> {
    /// Name of the site.
    pub site: &'a str,
    /// Preferred origin of the site.
    pub origin: &'a str,
    /// The record.
    pub record: &'a PageRecord,
}

impl PageEntry<'_> {
    /// The URL of the page, with the preferred origin of its site.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.record.path)
    }
}

/// A page that waits to be fetched.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPage<'a> {
    /// Preferred origin of the site.
    pub origin: &'a str,
    /// The page.
    pub page: &'a Pending,
    /// The time of the retry, if the page waits for one.
    pub due: Option<i64>,
}

impl QueuedPage<'_> {
    /// The URL of the page, with the preferred origin of its site.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.page.path)
    }
}

impl View {
    /// Open the frontier of the collection in `folder`.
    pub fn open(folder: &Path) -> Result<View, FrontierError> {
        let path = folder.join(super::FILE);
        if !path.exists() {
            return Err(FrontierError::Missing {
                path: folder.to_owned(),
            });
        }
        let packer = Packer::new().map_err(|source| FrontierError::File {
            path: path.clone(),
            source,
        })?;
        let db = connection::open_reader(&path).map_err(|error| error.at(&path))?;
        Ok(View {
            store: Store::new(db, packer, path),
            writer: Lock::holder(folder),
        })
    }

    /// The process that had the collection open for writing when this view was opened; 0 if its id is unknown. `None` if
    /// there was none: then leases are left over from a process that was killed, and their sites count as waiting.
    pub fn writer(&self) -> Option<u32> {
        self.writer
    }

    /// The totals of the crawl.
    pub fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let mut status = self.read(Store::status)?;
        status.sites.problems = self.read(Store::problems_read)?.len() as u64;
        if self.writer.is_none() && status.sites.leased > 0 {
            status.sites.waiting += std::mem::take(&mut status.sites.leased);
            status.next_due = Some(status.next_due.map_or(now, |due| due.min(now)));
        }
        if status.links_gathered > 0 {
            status.next_due = Some(status.next_due.map_or(now, |due| due.min(now)));
        }
        Ok(status)
    }

    /// Everything known about one URL.
    pub fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        let mut found = self.read(|store| store.explain(url))?;
        if let Some(site) = &mut found.site {
            self.release_if_abandoned(site);
        }
        found.lease = found.lease.filter(|_| self.writer.is_some());
        Ok(found)
    }

    /// Sites whose last visit was ended by a fault of the crawler, the latest fault first.
    pub fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.read(Store::problems_read)
    }

    /// All seeds, in the order in which they were added.
    pub fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.read(Store::seeds_read)
    }

    /// Call `visit` for every site, in order of key, until it returns false.
    pub fn sites(&self, mut visit: impl FnMut(SiteEntry) -> bool) -> Result<(), FrontierError> {
        self.read(|store| {
            each_site(store, |row| {
                let mut entry = row.entry();
                self.release_if_abandoned(&mut entry);
                Ok(visit(entry))
            })
        })
    }

    /// Call `visit` for every site with its facts, in order of key, until it returns false.
    pub fn sites_with_facts(
        &self,
        mut visit: impl FnMut(SiteEntry, SiteFacts) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| {
            each_site(store, |row| {
                let mut entry = row.entry();
                self.release_if_abandoned(&mut entry);
                Ok(visit(entry, store.facts_read(&row)?))
            })
        })
    }

    /// The site with this name, if it is known.
    pub fn site(&self, name: &str) -> Result<Option<SiteEntry>, FrontierError> {
        let row = self.read(|store| store.site(SiteKey::of(name).0 as i64))?;
        Ok(row.map(|row| row.entry()))
    }

    /// Call `visit` for every page that waits to be fetched or retried, site by site, until it returns false. `site`:
    /// only pages of the site with this name. Links in inboxes are not included.
    pub fn queued(
        &self,
        site: Option<&str>,
        mut visit: impl FnMut(QueuedPage<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| {
            if let Some(name) = site {
                if let Some(row) = store.site(SiteKey::of(name).0 as i64)? {
                    queued_of(store, &row, &mut visit)?;
                }
                return Ok(());
            }
            each_site(store, |row| queued_of(store, &row, &mut visit))
        })
    }

    /// Shows a leased site as waiting if no process visits it: the next crawl releases its lease and visits it at once.
    fn release_if_abandoned(&self, site: &mut SiteEntry) {
        if self.writer.is_none() && site.state == SiteState::Leased {
            site.state = SiteState::Waiting;
        }
    }

    /// Call `visit` for every selected record, site by site, the newest record first, until it returns false. Memory
    /// use is bounded by one batch of sites and the keys of one site.
    pub fn pages(
        &self,
        filter: &PageFilter<'_>,
        mut visit: impl FnMut(PageEntry<'_>) -> bool,
    ) -> Result<(), FrontierError> {
        self.read(|store| {
            if let Some(name) = filter.site {
                if let Some(row) = store.site(SiteKey::of(name).0 as i64)? {
                    pages_of(store, &row, filter, &mut visit)?;
                }
                return Ok(());
            }
            each_site(store, |row| pages_of(store, &row, filter, &mut visit))
        })
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        work(&self.store).map_err(|error| error.at(&self.store.path))
    }
}

/// Call `visit` for every site, in order of key, until it returns false.
fn each_site(
    store: &Store,
    mut visit: impl FnMut(SiteRow) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = store.sites_after(after, BATCH)?;
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
fn queued_of(
    store: &Store,
    site: &SiteRow,
    visit: &mut impl FnMut(QueuedPage<'_>) -> bool,
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
fn pages_of(
    store: &Store,
    site: &SiteRow,
    filter: &PageFilter<'_>,
    visit: &mut impl FnMut(PageEntry<'_>) -> bool,
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
