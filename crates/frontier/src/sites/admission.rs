//! Merges the inbox of a site at check-out: links to unknown pages are added to the window or the queue (F4).
//!
//! Most sites have many known keys and few links in the inbox. For such a site the links are collected and compared
//! with the keys in one pass, without a hash table of all keys. If the links exceed one batch, a hash table of all keys
//! is built, and the pages are appended to the queue one batch at a time. So only the keys of a large inbox are all in
//! memory, not its links.

use aranha_url::PathKey;

use super::site_row::SiteRow;
use super::sources::add_source;
use super::store::Store;
use super::tables::Tables;
use super::unique::Unique;
use crate::Pending;
use crate::codec::{BlockBuffer, Reader};
use crate::links::run_link::RunLink;
use crate::seen::Seen;
use crate::store_error::StoreError;

/// Maximum number of pages in a batch.
const BATCH: usize = if cfg!(test) { 16 } else { 1024 };

/// The state of merging one inbox.
pub(crate) struct Admission<'a, T: Tables> {
    pub(crate) store: &'a Store<T>,
    pub(crate) site: &'a mut SiteRow,
    /// Known keys of the site. The keys of admitted pages are added to them.
    pub(crate) known: &'a mut Vec<PathKey>,
    pub(crate) window: &'a mut Vec<Pending>,
    /// The domains of the links, as in [`SiteFacts::sources`](crate::SiteFacts::sources).
    sources: u64,
    /// Maximum number of pages in the window.
    pub(crate) limit: usize,
    pub(crate) block: &'a mut BlockBuffer,
    batch: Vec<Pending>,
    unique: Unique,
    /// The known keys of the site and the keys of the links so far. Set when the first batch is full.
    seen: Option<Seen>,
    failed: Option<StoreError>,
}

impl<'a, T: Tables> Admission<'a, T> {
    pub(crate) fn new(
        store: &'a Store<T>,
        site: &'a mut SiteRow,
        known: &'a mut Vec<PathKey>,
        window: &'a mut Vec<Pending>,
        limit: usize,
        block: &'a mut BlockBuffer,
    ) -> Admission<'a, T> {
        let mut unique = Unique::default();
        unique.begin(0);
        Admission {
            store,
            site,
            known,
            window,
            sources: 0,
            limit,
            block,
            batch: Vec::new(),
            unique,
            seen: None,
            failed: None,
        }
    }

    /// Add a link. Returns `None` if the link cannot be decoded, or if a batch could not be stored.
    pub(crate) fn take(&mut self, link: &RunLink<'_>) -> Option<()> {
        let via = Reader::new(link.via).text()?;
        self.sources = add_source(self.sources, &self.site.name, via);
        let new = match &mut self.seen {
            Some(seen) => seen.insert(link.key.0),
            None => self.unique.is_new(link.key.0),
        };
        if !new {
            return Some(());
        }
        let (depth, hop, path, via) = link.fields()?;
        self.batch.push(Pending {
            path: path.to_owned(),
            key: link.key,
            depth,
            site_depth: 0,
            tries: 0,
            hop,
            via: via.to_owned(),
            past: None,
        });
        if self.batch.len() < BATCH {
            return Some(());
        }
        if self.seen.is_none() {
            let mut seen: Seen = self.known.iter().map(|key| key.0).collect();
            self.batch.retain(|page| seen.insert(page.key.0));
            self.seen = Some(seen);
        }
        self.failed = self.store_batch().err();
        self.failed.is_none().then_some(())
    }

    /// Fill the window with pages of the batch if the queue is empty. Append the other pages to the queue.
    fn store_batch(&mut self) -> Result<(), StoreError> {
        let keys: Vec<PathKey> = self.batch.iter().map(|page| page.key).collect();
        let room = if self.site.queued > 0 {
            0
        } else {
            self.limit.saturating_sub(self.window.len())
        };
        let rest = self.batch.split_off(room.min(self.batch.len()));
        self.window.append(&mut self.batch);
        self.store.queue_append(self.site, &rest, self.block)?;
        self.store.keys_append(self.site, &keys)?;
        self.known.extend(keys);
        Ok(())
    }

    /// Store the last batch. `newest` is the newest link run that was read.
    /// Returns the domains of the links.
    pub(crate) fn end(mut self, newest: Result<i64, StoreError>) -> Result<u64, StoreError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.site.consumed = newest?;
        self.site.inbox = false;
        if self.seen.is_none() {
            drop_known(self.known, &mut self.batch);
        }
        self.store_batch()?;
        Ok(self.sources)
    }
}

/// Remove the pages whose keys are known.
fn drop_known(known: &[PathKey], pages: &mut Vec<Pending>) {
    if pages.is_empty() {
        return;
    }
    // A bitmap of 16,384 bits excludes most of the known keys before the hash table is searched.
    let mut bits = [0u64; 256];
    let position = |key: u64| ((key >> 6) as usize % 256, key % 64);
    for page in pages.iter() {
        let (word, bit) = position(page.key.0);
        bits[word] |= 1 << bit;
    }
    let wanted: Seen = pages.iter().map(|page| page.key.0).collect();
    let mut found = Seen::default();
    for key in known {
        let (word, bit) = position(key.0);
        if bits[word] & (1 << bit) != 0 && wanted.contains(&key.0) {
            found.insert(key.0);
        }
    }
    pages.retain(|page| !found.contains(&page.key.0));
}
