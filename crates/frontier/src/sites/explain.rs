//! Collects everything known about one URL. Writers and readers use it.

use aranha_url::CanonUrl;

use super::site_row::SiteRow;
use super::store::Store;
use super::tables::Tables;
use crate::store_error::StoreError;
use crate::{Explanation, Waiting};

impl<T: Tables> Store<T> {
    pub(crate) fn explain(&self, url: &CanonUrl) -> Result<Explanation, StoreError> {
        // All reads are from one snapshot, so that a link is either in a link run or among the keys of its site.
        self.tables.snapshot(|| self.explain_in_snapshot(url))
    }

    fn explain_in_snapshot(&self, url: &CanonUrl) -> Result<Explanation, StoreError> {
        let (site, path) = (url.site_key().0 as i64, url.path_key());
        let seed = self.tables.seeds_has(site, path.0 as i64)?;
        let settings = self.tables.seed_settings(Some(site))?;
        let mut found = Explanation {
            seed,
            settings: settings.first().map(|found| found.1).unwrap_or_default(),
            inbox: T::is_gathered(self, site, path.0)?,
            ..Explanation::default()
        };
        if let Some(row) = self.tables.site(site)? {
            self.explain_page(&row, url, &mut found)?;
            found.lease = self.tables.lease_entry(&row)?;
            found.facts = Some(self.facts_read(&row)?);
            found.site = Some(row.entry());
        }
        Ok(found)
    }

    fn explain_page(
        &self,
        site: &SiteRow,
        url: &CanonUrl,
        found: &mut Explanation,
    ) -> Result<(), StoreError> {
        let key = url.path_key();
        found.known = self.keys_read(site)?.contains(&key);
        let window = self.window_read(site)?;
        let (waiting, page) = if let Some(page) = window.into_iter().find(|page| page.key == key) {
            (Some(Waiting::Window), Some(page))
        } else if let Some(page) = self.queue_find(site, key)? {
            (Some(Waiting::Queue), Some(page))
        } else {
            self.later_find(site, key)?.unzip()
        };
        found.waiting = waiting;
        found.link = page.map(|page| (page.depth, page.hop));
        T::unread_links(self, site, &mut |link| {
            if link.key == key {
                let (depth, hop, ..) = link.fields()?;
                found.inbox = true;
                found.link.get_or_insert((depth, hop));
            }
            Some(())
        })?;
        self.pages_walk(site, |records| {
            let mut records: Vec<_> = records.into_iter().filter(|r| r.key == key).collect();
            records.reverse();
            found.records.append(&mut records);
            true
        })?;
        found.records.reverse();
        Ok(())
    }
}
