//! Adds seeds (F6, F10; Viuva Negra 3.1).
//!
//! A seed of a site that is not leased is admitted at once. A visit under way has its own copy of the site's keys, so a
//! seed of a leased site goes to the inbox like a link, and is admitted at the next check-out.

use std::collections::HashSet;

use super::core::Core;
use super::site_row::SiteRow;
use super::tables::{Inbox as _, Tables};
use super::totals::Count;
use crate::store_error::StoreError;
use crate::{Hop, Outside, Pending, Seed, Seeded, SiteSettings};

impl<T: Tables> Core<T> {
    pub(crate) fn add_seeds(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, StoreError> {
        let mut seeded = Seeded::default();
        for seed in seeds {
            if self.store.tables.seed_insert(now, seed)? {
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
        Ok(seeded)
    }

    pub(crate) fn set_seed_settings(&self, settings: &[SiteSettings]) -> Result<(), StoreError> {
        for (site, settings) in settings {
            self.store
                .tables
                .seed_settings_write(site.0 as i64, settings)?;
        }
        Ok(())
    }

    /// Add the seeds of one site. Returns the number of new pages.
    fn seed_site(&mut self, now: i64, seeds: &[&Seed]) -> Result<u64, StoreError> {
        let first = seeds[0];
        let key = first.site_key.0 as i64;
        let before = self.store.tables.site(key)?;
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
            self.queue_pages(&mut site, pages)?;
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

    /// Fill the window with pages if the queue is empty. Append the other pages to the queue.
    pub(crate) fn queue_pages(
        &mut self,
        site: &mut SiteRow,
        mut pages: Vec<Pending>,
    ) -> Result<(), StoreError> {
        // A visit under way counts the pages of its window.
        let fits = if site.queued > 0 || site.lease.is_some() {
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
