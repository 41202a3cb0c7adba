//! Everything known about one URL, for the engine and for readers beside it (invariant 9).

use aranha_url::CanonUrl;

use super::fault::Fault;
use super::sites::SiteRow;
use super::store::Store;
use crate::{Explanation, Waiting};

impl Store {
    pub(super) fn explain(&self, url: &CanonUrl) -> Result<Explanation, Fault> {
        // One snapshot, so that a run does not vanish between the list of runs and the look into it.
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
    ) -> Result<(), Fault> {
        let key = url.path_key();
        found.known = self.keys_read(site)?.contains(&key);
        found.waiting = if self.held_read(site)?.iter().any(|page| page.key == key) {
            Some(Waiting::Window)
        } else if self.queue_has(site, key)? {
            Some(Waiting::Queue)
        } else {
            self.later_find(site, key)?.map(Waiting::Later)
        };
        let runs = self.runs_read()?;
        self.inbox_walk(&runs, site.key, site.consumed, |link| {
            found.inbox |= link.key == key;
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

    fn is_in_journal(&self, site: i64, path: u64) -> Result<bool, Fault> {
        let gather = self.journal_read(0, i64::MAX)?;
        Ok(gather.links.iter().any(|(other, offset)| {
            *other == site && gather.read(*offset).is_some_and(|link| link.key == path)
        }))
    }
}
