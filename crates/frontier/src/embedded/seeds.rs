//! Adds seeds (F6, F10; Viuva Negra 3.1), and makes sites due at the request of the user.
//!
//! A seed of a site that is not leased is admitted at once. A visit under way has its own copy of the site's keys, so a
//! seed of a leased site goes to the inbox like a link, and is admitted at the next check-out.

use std::collections::{BTreeSet, HashSet};

use aranha_url::PathKey;

use super::Embedded;
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use super::totals::Count;
use crate::{Hop, Outcome, Outside, PageRecord, Past, Pending, Seed, Seeded};

impl Embedded {
    pub(super) fn add_seeds(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, StoreError> {
        let start = self.inbox.position();
        let mut seeded = Seeded::default();
        for seed in seeds {
            if self.store.seed_insert(now, seed)? {
                self.totals.add(Count::Seeds, 1);
            }
        }
        // Seeds are grouped by site, so that the keys of a site are read once. The sort is stable: seeds of a site keep
        // their order.
        let mut order: Vec<&Seed> = seeds.iter().collect();
        order.sort_by_key(|seed| seed.site_key.0 as i64);
        for group in order.chunk_by(|a, b| a.site_key == b.site_key) {
            let added = self.seed_site(now, group)?;
            seeded.added += added;
            seeded.known += group.len() as u64 - added;
        }
        self.inbox.journal(&self.store, start, &mut self.block)?;
        Ok(seeded)
    }

    /// Add the seeds of one site. Returns the number of new pages.
    fn seed_site(&mut self, now: i64, seeds: &[&Seed]) -> Result<u64, StoreError> {
        let first = seeds[0];
        let key = first.site_key.0 as i64;
        let before = self.store.site(key)?;
        let mut site = before
            .clone()
            .unwrap_or_else(|| SiteRow::new(key, &first.site, &first.origin, 0));
        site.seed = true;
        let mut known: HashSet<_> = self.store.keys_read(&site)?.into_iter().collect();
        let new: Vec<&&Seed> = seeds
            .iter()
            .filter(|seed| known.insert(seed.path_key))
            .collect();
        if site.lease.is_some() {
            for seed in &new {
                self.inbox.send_unfiltered(&outside(seed));
            }
        } else {
            let keys: Vec<_> = new.iter().map(|seed| seed.path_key).collect();
            let pages: Vec<_> = new.iter().map(|seed| pending(seed)).collect();
            self.store.keys_append(&mut site, &keys)?;
            self.admit_seeds(&mut site, pages)?;
        }
        if before.is_none() {
            site.free = now;
            site.schedule(now, self.store.horizon);
            self.store.site_insert(&site)?;
            self.totals.site(None, &site);
        } else if let Some(before) = before {
            site.schedule(now, self.store.horizon);
            self.save(&before, &site)?;
        }
        Ok(new.len() as u64)
    }

    /// Make the sites of these seeds and their retries due.
    pub(super) fn make_sites_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), StoreError> {
        // A site with several seeds is handled only once, because handling it reads all its retries.
        let sites: BTreeSet<i64> = seeds.iter().map(|seed| seed.site_key.0 as i64).collect();
        for key in sites {
            let Some(before) = self.store.site(key)? else {
                continue;
            };
            let mut site = before.clone();
            site.free = site.free.min(now);
            self.store
                .later_make_due(&mut site, None, now, &mut self.block)?;
            site.schedule(now, self.store.horizon);
            self.save(&before, &site)?;
        }
        Ok(())
    }

    /// Take the next 500 sites in order of key, beginning after the key `after`, and make all their pages due. Returns
    /// the key of the last site; `None` if no site has a key after `after`.
    pub(super) fn make_next_sites_due(
        &mut self,
        now: i64,
        source: u8,
        after: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        /// Sites per transaction.
        const SITES: usize = 500;
        let sites = self.store.sites_after(after, SITES)?;
        for before in sites.iter().filter(|site| !site.blocked) {
            let mut site = before.clone();
            site.free = site.free.min(now);
            self.queue_finished_pages(&mut site, source)?;
            self.store
                .later_make_due(&mut site, Some(source), now, &mut self.block)?;
            site.schedule(now, self.store.horizon);
            self.save(before, &site)?;
        }
        Ok(sites.last().map(|site| site.key))
    }

    /// Bring forward the revisits of the next 500 sites in order of key, beginning after the key `after`. Returns the
    /// key of the last of these sites; `None` if there were no more sites.
    pub(super) fn bring_next_sites_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
        after: Option<i64>,
    ) -> Result<Option<i64>, StoreError> {
        /// Sites per transaction.
        const SITES: usize = 500;
        let sites = self.store.sites_with_revisits(until, after, SITES)?;
        for before in &sites {
            let mut site = before.clone();
            let block = &mut self.block;
            self.store
                .later_bring_forward(&mut site, now, until, visited_by, block)?;
            site.schedule(now, self.store.horizon);
            self.save(before, &site)?;
        }
        Ok(sites.last().map(|site| site.key))
    }

    /// Append to the queue all pages that have a record but no next visit: failures that are not temporary, and all
    /// pages fetched under the policy `never`.
    fn queue_finished_pages(&mut self, site: &mut SiteRow, source: u8) -> Result<(), StoreError> {
        if site.known <= site.held + site.queued + site.later + site.again {
            return Ok(());
        }
        let (store, block) = (&self.store, &mut self.block);
        // A page that is already in the window or the queue, or that was postponed, may have such a record too, and must
        // not be queued twice.
        let mut seen: HashSet<PathKey> = store.queue_keys(site)?;
        store.later_keys(site, &mut seen)?;
        seen.extend(store.window_read(site)?.iter().map(|page| page.key));
        let mut appended = Ok(());
        store.pages_walk(&site.clone(), |records| {
            // The newest record of a page counts.
            let newest = records
                .into_iter()
                .rev()
                .filter(|record| seen.insert(record.key));
            let finished = newest.filter(|record| record.next.is_none());
            let pages: Vec<_> = finished
                .map(|record| finished_page(record, source))
                .collect();
            appended = store.queue_append(site, &pages, block);
            appended.is_ok()
        })?;
        appended
    }

    /// Fill the window with pages if the queue is empty. Append the other pages to the queue.
    fn admit_seeds(
        &mut self,
        site: &mut SiteRow,
        mut pages: Vec<Pending>,
    ) -> Result<(), StoreError> {
        let fits = if site.queued > 0 {
            0
        } else {
            self.options.window.saturating_sub(site.held as usize)
        };
        let rest = pages.split_off(fits.min(pages.len()));
        self.store.window_push(site, &pages, &mut self.block)?;
        self.store.queue_append(site, &rest, &mut self.block)
    }
}

fn pending(seed: &Seed) -> Pending {
    Pending {
        path: seed.path.clone(),
        key: seed.path_key,
        depth: 0,
        site_depth: 0,
        tries: 0,
        hop: Hop::Seed,
        via: String::new(),
        past: None,
    }
}

/// Turns the last record of a page into a page to fetch. If the record has a text digest, the page gets a past with it,
/// so that the visit can detect a change of the text.
fn finished_page(record: PageRecord, source: u8) -> Pending {
    let has_text = record.outcome == Outcome::Answer(200) && record.text_digest != 0;
    let past = has_text.then(|| {
        Box::new(Past {
            time: record.time,
            visited: record.time,
            digest: record.digest.unwrap_or_default(),
            fingerprint: record.text_digest,
            text: true,
            location: record.location,
            media_type: record.media_type,
            size: record.size,
            claim: source,
            ..Past::default()
        })
    });
    Pending {
        path: record.path,
        key: record.key,
        depth: record.depth,
        site_depth: record.site_depth,
        tries: 0,
        hop: record.hop,
        via: record.via,
        past,
    }
}

fn outside(seed: &Seed) -> Outside {
    Outside {
        site: seed.site.clone(),
        origin: seed.origin.clone(),
        path: seed.path.clone(),
        site_key: seed.site_key,
        path_key: seed.path_key,
        depth: 0,
        hop: Hop::Seed,
        via: String::new(),
    }
}

impl Store {
    /// Insert a seed. Returns false if it is already in the table.
    fn seed_insert(&self, now: i64, seed: &Seed) -> Result<bool, StoreError> {
        let changed = self.run(
            "INSERT INTO seeds (url, site, path, time) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            (
                format!("{}{}", seed.origin, seed.path),
                seed.site_key.0 as i64,
                seed.path_key.0 as i64,
                now,
            ),
        )?;
        Ok(changed > 0)
    }

    pub(super) fn seeds_read(&self) -> Result<Vec<String>, StoreError> {
        self.all("SELECT url FROM seeds ORDER BY id", [], |row| row.get(0))
    }

    pub(super) fn seeds_has(&self, site: i64, path: i64) -> Result<bool, StoreError> {
        let found = self.first(
            "SELECT 1 FROM seeds WHERE site = ?1 AND path = ?2",
            (site, path),
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }
}
