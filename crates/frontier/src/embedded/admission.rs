//! Merging a site's inbox: which of the links that wait are new pages, and where those go (F4).
//!
//! A site has many known keys and few links that wait, mostly: the links are gathered and looked for among the keys, one
//! pass without a table of them all. Where more wait than fit a batch the table is made, and the pages go to the queue a
//! batch at a time: a million links are not held in memory, only their keys.

use aranha_url::PathKey;

use super::link_run_file::RunLink;
use super::sites::SiteRow;
use super::store::Store;
use super::store_error::StoreError;
use super::unique::Unique;
use crate::Pending;
use crate::codec::BlockBuffer;
use crate::seen::Seen;

/// Pages held at a time.
const BATCH: usize = if cfg!(test) { 16 } else { 1024 };

/// The merging of one inbox.
pub(super) struct Admission<'a> {
    pub(super) store: &'a Store,
    pub(super) site: &'a mut SiteRow,
    /// Keys of the site; those of the pages admitted are added.
    pub(super) known: &'a mut Vec<PathKey>,
    pub(super) window: &'a mut Vec<Pending>,
    /// Pages in the window at most.
    pub(super) limit: usize,
    pub(super) block: &'a mut BlockBuffer,
    batch: Vec<Pending>,
    unique: Unique,
    /// Every key seen, once more than a batch has come.
    seen: Option<Seen>,
    failed: Option<StoreError>,
}

impl<'a> Admission<'a> {
    pub(super) fn new(
        store: &'a Store,
        site: &'a mut SiteRow,
        known: &'a mut Vec<PathKey>,
        window: &'a mut Vec<Pending>,
        limit: usize,
        block: &'a mut BlockBuffer,
    ) -> Admission<'a> {
        let mut unique = Unique::default();
        unique.begin(0);
        Admission {
            store,
            site,
            known,
            window,
            limit,
            block,
            batch: Vec::new(),
            unique,
            seen: None,
            failed: None,
        }
    }

    /// Take a link; `None`: it cannot be read, or what came before could not be stored.
    pub(super) fn take(&mut self, link: &RunLink<'_>) -> Option<()> {
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
        self.failed = self.place().err();
        self.failed.is_none().then_some(())
    }

    /// Put the batch behind everything that waits already: what does not fit the window, or must not overtake, goes to
    /// the queue.
    fn place(&mut self) -> Result<(), StoreError> {
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

    /// The last batch. `newest`: the newest run that was looked into.
    pub(super) fn end(mut self, newest: Result<i64, StoreError>) -> Result<(), StoreError> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        self.site.consumed = newest?;
        self.site.inbox = false;
        if self.seen.is_none() {
            drop_known(self.known, &mut self.batch);
        }
        self.place()
    }
}

/// Drop the pages whose keys are among these.
fn drop_known(known: &[PathKey], pages: &mut Vec<Pending>) {
    if pages.is_empty() {
        return;
    }
    // A few bits of each key tell nearly all of the others apart.
    let mut bits = [0u64; 256];
    let place = |key: u64| ((key >> 6) as usize % 256, key % 64);
    for page in pages.iter() {
        let (word, bit) = place(page.key.0);
        bits[word] |= 1 << bit;
    }
    let wanted: Seen = pages.iter().map(|page| page.key.0).collect();
    let mut found = Seen::default();
    for key in known {
        let (word, bit) = place(key.0);
        if bits[word] & (1 << bit) != 0 && wanted.contains(&key.0) {
            found.insert(key.0);
        }
    }
    pages.retain(|page| !found.contains(&page.key.0));
}
