//! Collects everything known about URLs. Writers and readers use it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aranha_url::{CanonUrl, PathKey};

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::store_error::StoreError;
use crate::{Explanation, Pending, Waiting};

/// Explanations of pages of one site, by the key of the page.
type Explanations = HashMap<PathKey, Explanation>;

impl<T: Tables> Store<T> {
    pub(crate) fn explain(&self, url: &CanonUrl) -> Result<Explanation, StoreError> {
        let found = self.explain_all(std::slice::from_ref(url))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// What is known about each of these URLs. The pages of a site are read once, however many of the URLs are on it.
    pub(crate) fn explain_all(&self, urls: &[CanonUrl]) -> Result<Vec<Explanation>, StoreError> {
        let mut sites: BTreeMap<i64, HashSet<PathKey>> = BTreeMap::new();
        for url in urls {
            let pages = sites.entry(url.site_key().0 as i64).or_default();
            pages.insert(url.path_key());
        }
        let mut found: HashMap<i64, Explanations> = HashMap::new();
        for (site, pages) in sites {
            // All reads are from one snapshot, so that a link is either in a link run or among the keys of its site.
            let of_site = self
                .tables
                .snapshot(|| self.explain_in_snapshot(site, &pages))?;
            found.insert(site, of_site);
        }
        let explanation = |url: &CanonUrl| {
            let of_site = found.get(&(url.site_key().0 as i64))?;
            of_site.get(&url.path_key()).cloned()
        };
        Ok(urls
            .iter()
            .map(|url| explanation(url).unwrap_or_default())
            .collect())
    }

    fn explain_in_snapshot(
        &self,
        site: i64,
        pages: &HashSet<PathKey>,
    ) -> Result<Explanations, StoreError> {
        let settings = self.tables.seed_settings(Some(site))?;
        let mut found = Explanations::new();
        for page in pages {
            let explanation = Explanation {
                seed: self.tables.seeds_has(site, page.0 as i64)?,
                settings: settings.first().map(|found| found.1).unwrap_or_default(),
                inbox: T::is_gathered(self, site, page.0)?,
                ..Explanation::default()
            };
            found.insert(*page, explanation);
        }
        if let Some(row) = self.tables.site(site)? {
            self.explain_pages(&row, &mut found)?;
            let lease = self.tables.lease_entry(&row)?;
            let facts = Arc::new(self.facts_read(&row)?);
            for explanation in found.values_mut() {
                explanation.lease.clone_from(&lease);
                explanation.facts = Some(Arc::clone(&facts));
                explanation.site = Some(row.entry());
            }
        }
        Ok(found)
    }

    fn explain_pages(&self, site: &SiteRow, found: &mut Explanations) -> Result<(), StoreError> {
        for key in self.keys_read(site)? {
            if let Some(explanation) = found.get_mut(&key) {
                explanation.known = true;
            }
        }
        let mut waits = |page: &Pending, waiting| {
            if let Some(explanation) = found.get_mut(&page.key)
                && explanation.waiting.is_none()
            {
                explanation.waiting = Some(waiting);
                explanation.link = Some((page.depth, page.hop));
            }
        };
        for page in self.window_read(site)? {
            waits(&page, Waiting::Window);
        }
        self.queue_walk(site, |pages| {
            for page in pages {
                waits(page, Waiting::Queue);
            }
            true
        })?;
        self.later_walk(site, |waiting, page| waits(page, waiting))?;
        T::unread_links(self, site, &mut |link| {
            if let Some(explanation) = found.get_mut(&link.key) {
                let (depth, hop, ..) = link.fields()?;
                explanation.inbox = true;
                explanation.link.get_or_insert((depth, hop));
            }
            Some(())
        })?;
        self.pages_walk(site, |records| {
            for record in records.into_iter().rev() {
                if let Some(explanation) = found.get_mut(&record.key) {
                    explanation.records.push(record);
                }
            }
            true
        })?;
        for explanation in found.values_mut() {
            explanation.records.reverse();
        }
        Ok(())
    }
}
