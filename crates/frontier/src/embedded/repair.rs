//! Repairs of a frontier, for `aranha check --repair`: restores page records from an archive, and lets pages be fetched
//! again whose stored responses are lost.

use std::collections::HashSet;

use aranha_url::{PathKey, SiteKey};

use super::Embedded;
use super::later::WaitKind;
use super::sites::SiteRow;
use super::store_error::StoreError;
use crate::{FrontierError, PageRecord, Pending};

impl Embedded {
    /// Add page records, oldest first, to the history of a site. A site that is unknown is created. The pages get no next
    /// visit: see [`crate::Frontier::make_all_due`].
    pub fn restore(
        &mut self,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<(), FrontierError> {
        self.transact(true, |engine| engine.restore_site(site, origin, records))
    }

    /// Let pages of a site be fetched again, unconditionally and as soon as possible. Returns the number of pages found.
    pub fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        self.transact(true, |engine| engine.refetch_pages(now, site, pages))
    }

    fn restore_site(
        &mut self,
        name: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<(), StoreError> {
        let key = SiteKey::of(name).0 as i64;
        let before = self.store.site(key)?;
        let mut site = before
            .clone()
            .unwrap_or_else(|| SiteRow::new(key, name, origin, 0));
        let mut known: HashSet<PathKey> = self.store.keys_read(&site)?.into_iter().collect();
        let keys = records.iter().map(|record| record.key);
        let new: Vec<PathKey> = keys.filter(|key| known.insert(*key)).collect();
        self.store
            .pages_append(&mut site, records, &mut self.block)?;
        self.store.keys_append(&mut site, &new)?;
        self.totals.records(records);
        if let Some(before) = &before {
            self.save(before, &site)?;
        } else {
            self.store.site_insert(&site)?;
            self.totals.site(None, &site);
        }
        Ok(())
    }

    fn refetch_pages(
        &mut self,
        now: i64,
        name: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, StoreError> {
        let Some(before) = self.store.site(SiteKey::of(name).0 as i64)? else {
            return Ok(0);
        };
        let mut site = before.clone();
        let mut found = HashSet::new();
        self.forget_queued(&mut site, pages, &mut found)?;
        let (store, block) = (&self.store, &mut self.block);
        for kind in WaitKind::ALL {
            store.later_change(&mut site, kind, block, |due, page| {
                if !pages.contains(&page.key) {
                    return None;
                }
                found.insert(page.key);
                page.past = None;
                *due = now.min(*due);
                Some(WaitKind::Retry)
            })?;
        }
        let mut finished = Vec::new();
        store.pages_walk(&site, |records| {
            let newest = records.into_iter().rev();
            let lost = newest.filter(|record| pages.contains(&record.key));
            finished.extend(
                lost.filter(|record| found.insert(record.key))
                    .map(unfetched),
            );
            found.len() < pages.len()
        })?;
        store.queue_append(&mut site, &finished, block)?;
        site.schedule(now, self.store.horizon);
        self.save(&before, &site)?;
        Ok(found.len() as u64)
    }

    /// Remove the past of pages that are in the window or in the queue.
    fn forget_queued(
        &mut self,
        site: &mut SiteRow,
        pages: &HashSet<PathKey>,
        found: &mut HashSet<PathKey>,
    ) -> Result<(), StoreError> {
        let (store, block) = (&self.store, &mut self.block);
        let mut forget = |queued: &mut Vec<Pending>| {
            for page in queued.iter_mut().filter(|page| pages.contains(&page.key)) {
                found.insert(page.key);
                page.past = None;
            }
        };
        let mut window = store.window_read(site)?;
        if window.iter().any(|page| pages.contains(&page.key)) {
            forget(&mut window);
            store.window_keep(site, 0)?;
            store.window_push(site, &window, block)?;
        }
        if store
            .queue_keys(site)?
            .iter()
            .any(|key| pages.contains(key))
        {
            let mut queued = Vec::new();
            store.queue_take(site, site.queued as usize, &mut queued, block)?;
            forget(&mut queued);
            store.queue_append(site, &queued, block)?;
        }
        Ok(())
    }
}

/// Turns the last record of a page into a page to fetch as if it had never been fetched.
fn unfetched(record: PageRecord) -> Pending {
    Pending {
        path: record.path,
        key: record.key,
        depth: record.depth,
        site_depth: record.site_depth,
        tries: 0,
        hop: record.hop,
        via: record.via,
        past: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{page, record, release, seed, small, url};
    use crate::{Frontier as _, Outcome, Past, Then, WindowUpdate};

    /// A page with a past that would make its next request conditional.
    fn fetched(path: &str) -> Pending {
        let past = Past {
            etag: "\"1\"".into(),
            ..Past::default()
        };
        Pending {
            past: Some(Box::new(past)),
            ..page(path)
        }
    }

    #[test]
    fn a_lost_page_is_fetched_again_without_its_past() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut frontier = Embedded::open(folder.path(), small()).expect("opens");
        frontier
            .seed(0, &[seed("https://a.example/")])
            .expect("seeds");
        let lease = frontier.check_out(1, "n", 1).expect("checks out").remove(0);
        // One page in each place: done, waiting for a revisit, in the window, in the queue behind it.
        let done = record(&page("/done"), 1, Outcome::Answer(200));
        let mut revisit = record(&page("/revisit"), 1, Outcome::Answer(200));
        revisit.next = Some(1000);
        revisit.past = fetched("/revisit").past;
        let mut entry = release(&lease, 2);
        entry.then = Then::Release { due: 500 };
        entry.done = vec![done, revisit];
        entry.window = WindowUpdate::Replace(vec![fetched("/window"), fetched("/kept")]);
        entry.overflow = vec![fetched("/queue")];
        let paths = ["/done", "/revisit", "/window", "/queue", "/kept"];
        entry.keys = paths.map(PathKey::of).to_vec();
        let replies = frontier.check_in(2, vec![entry]).expect("stored");
        assert!(replies[0].is_ok());

        let lost: HashSet<_> = paths[..4].iter().map(|path| PathKey::of(path)).collect();
        let unknown = HashSet::from([PathKey::of("/unknown")]);
        assert_eq!(
            frontier.refetch(3, "a.example", &lost).expect("refetches"),
            4
        );
        assert_eq!(
            frontier
                .refetch(3, "a.example", &unknown)
                .expect("refetches"),
            0
        );
        assert_eq!(
            frontier.refetch(3, "b.example", &lost).expect("refetches"),
            0
        );
        let lease = frontier
            .check_out(500, "n", 1)
            .expect("checks out")
            .remove(0);
        let mut pages = lease.pending;
        let mut rest = release_for_more(&mut frontier, lease.id);
        pages.append(&mut rest);
        let mut found: Vec<_> = pages
            .iter()
            .map(|page| (page.path.as_str(), page.past.is_some()))
            .collect();
        found.sort_unstable();
        let expected = [
            ("/done", false),
            ("/kept", true),
            ("/queue", false),
            ("/revisit", false),
            ("/window", false),
        ];
        assert_eq!(found, expected);
    }

    /// The pages of the site that a check-in returns.
    fn release_for_more(frontier: &mut Embedded, lease: u64) -> Vec<Pending> {
        let mut replies = Vec::new();
        let entry = crate::CheckIn {
            lease,
            done: Vec::new(),
            window: WindowUpdate::default(),
            later: Vec::new(),
            claims: Vec::new(),
            overflow: Vec::new(),
            keys: Vec::new(),
            outside: Vec::new(),
            facts: None,
            then: Then::Keep { want: 10 },
        };
        replies.append(&mut frontier.check_in(501, vec![entry]).expect("stored"));
        replies.remove(0).expect("lease in force").more
    }

    #[test]
    fn restored_records_are_the_history_of_their_pages() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut frontier = Embedded::open(folder.path(), small()).expect("opens");
        let first = record(&page("/a"), 1, Outcome::Answer(200));
        let second = record(&page("/a"), 2, Outcome::Answer(404));
        let origin = "https://a.example";
        for records in [[first.clone()], [second.clone()]] {
            frontier
                .restore("a.example", origin, &records)
                .expect("restores");
        }
        let known = frontier
            .explain(&url("https://a.example/a"))
            .expect("explains");
        assert_eq!(known.records, [first, second]);
        let status = frontier.status(3).expect("status");
        assert_eq!(
            (status.sites.known, status.pages.known, status.records),
            (1, 1, 2)
        );
        let order = crate::VisitOrder {
            source: 1,
            unconditional: true,
            max_age: 0,
        };
        frontier.make_all_due(3, &order).expect("makes due");
        let lease = frontier.check_out(4, "n", 1).expect("checks out").remove(0);
        assert_eq!(lease.facts.origin, origin);
        assert_eq!(lease.pending.len(), 1);
    }
}
