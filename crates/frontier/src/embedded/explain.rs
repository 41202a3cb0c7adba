//! Collects everything known about one URL. The writer and the readers use it.

use aranha_url::CanonUrl;

use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use crate::{Explanation, Waiting};

/// Maximum number of times that reading is repeated because a merge removed the file of a link run in the meantime.
const MAX_RETRIES: usize = 5;

impl Store {
    pub(super) fn explain(&self, url: &CanonUrl) -> Result<Explanation, StoreError> {
        for _ in 0..MAX_RETRIES {
            match self.explain_once(url) {
                // The writer has merged a link run and removed its file. Try again with the new list of link runs.
                Err(error) if error.is_missing_file() => {}
                result => return result,
            }
        }
        self.explain_once(url)
    }

    fn explain_once(&self, url: &CanonUrl) -> Result<Explanation, StoreError> {
        // All reads are from one snapshot, so that a link is either in a link run or among the keys of its site.
        let snapshot = self.db.unchecked_transaction()?;
        let (site, path) = (url.site_key().0 as i64, url.path_key());
        let seed = self.seeds_has(site, path.0 as i64)?;
        let mut found = Explanation {
            seed,
            inbox: self.is_in_journal(site, path.0)?,
            ..Explanation::default()
        };
        if let Some(row) = self.site(site)? {
            self.explain_page(&row, url, &mut found)?;
            found.lease = match row.lease {
                Some(id) => self.lease_entry(id)?,
                None => None,
            };
            found.facts = Some(self.facts_read(&row)?);
            found.site = Some(row.entry());
        }
        drop(snapshot);
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
        // The links of a link run that is being written are not passed here (`None`), because they are still in the
        // journal, which `is_in_journal` searches.
        let mut runs = self.runs_read()?;
        self.runs_open(&mut runs)?;
        self.inbox_walk(&runs, None, site.key, site.consumed, |link| {
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

    fn is_in_journal(&self, site: i64, path: u64) -> Result<bool, StoreError> {
        let gather = self.journal_read(0, i64::MAX)?;
        Ok(gather
            .links
            .iter()
            .any(|link| link.site == site && link.key == path))
    }
}
