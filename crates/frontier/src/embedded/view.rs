//! The reading side: commands look at a collection while a crawl writes it.
//!
//! Reading takes no lock that a writer would wait for. Long listings read site by site, so that the write-ahead log can
//! be folded meanwhile; they show each site as it is when they come to it.

use std::collections::HashSet;
use std::path::Path;

use aranha_url::{CanonUrl, SiteKey};

use super::schema;
use super::store::Store;
use super::store_error::StoreError;
use crate::codec::Packer;
use crate::{Explanation, FrontierError, FrontierStatus, Outcome, PageRecord, SiteEntry};

/// Sites read at a time.
const BATCH: usize = 500;

/// A collection, open for reading.
#[derive(Debug)]
pub struct View {
    store: Store,
}

/// Which pages to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFilter<'a> {
    /// Only this site, by name.
    pub site: Option<&'a str>,
    /// Only entries with this outcome.
    pub outcome: Option<Outcome>,
    /// Every entry of a page's history, not only the latest.
    pub all: bool,
}

/// A page record with the site it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct PageEntry<'a> {
    /// The site's name.
    pub site: &'a str,
    /// Its preferred origin; with the record's path it makes the URL.
    pub origin: &'a str,
    /// The record.
    pub record: &'a PageRecord,
}

impl PageEntry<'_> {
    /// The page's URL, under the site's preferred name.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.record.path)
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
        let db = schema::open_reader(&path).map_err(|fault| fault.at(&path))?;
        Ok(View {
            store: Store::new(db, packer, path),
        })
    }

    /// Where the crawl stands.
    pub fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        let mut status = self.read(Store::status)?;
        if status.links_gathered > 0 {
            status.next_due = Some(status.next_due.map_or(now, |due| due.min(now)));
        }
        Ok(status)
    }

    /// Everything known about one URL.
    pub fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        self.read(|store| store.explain(url))
    }

    /// The seeds, in the order in which they were given.
    pub fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.read(Store::seeds_read)
    }

    /// Show every site, in the order of their keys, until `visit` answers false.
    pub fn sites(&self, mut visit: impl FnMut(SiteEntry) -> bool) -> Result<(), FrontierError> {
        self.read(|store| {
            let mut after = None;
            loop {
                let rows = store.sites_after(after, BATCH)?;
                let Some(last) = rows.last() else {
                    return Ok(());
                };
                after = Some(last.key);
                for row in rows {
                    if !visit(row.entry()) {
                        return Ok(());
                    }
                }
            }
        })
    }

    /// Show page records, site by site, the newest first, until `visit` answers false. Memory: the keys of one site.
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
            let mut after = None;
            loop {
                let rows = store.sites_after(after, BATCH)?;
                let Some(last) = rows.last() else {
                    return Ok(());
                };
                after = Some(last.key);
                for row in rows {
                    if !pages_of(store, &row, filter, &mut visit)? {
                        return Ok(());
                    }
                }
            }
        })
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        work(&self.store).map_err(|fault| fault.at(&self.store.path))
    }
}

/// False when the visitor has seen enough.
fn pages_of(
    store: &Store,
    site: &super::sites::SiteRow,
    filter: &PageFilter<'_>,
    visit: &mut impl FnMut(PageEntry<'_>) -> bool,
) -> Result<bool, StoreError> {
    let mut seen = HashSet::new();
    let mut goes_on = true;
    store.pages_walk(site, |records| {
        for record in records.iter().rev() {
            let latest = seen.insert(record.key);
            if (filter.all || latest)
                && filter.outcome.is_none_or(|wanted| wanted == record.outcome)
            {
                goes_on = visit(PageEntry {
                    site: &site.name,
                    origin: &site.origin,
                    record,
                });
                if !goes_on {
                    break;
                }
            }
        }
        goes_on
    })?;
    Ok(goes_on)
}
