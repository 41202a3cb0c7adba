//! Links to other sites: gathered in a journal that all nodes share, then delivered to the inboxes of their sites.

use super::tables::MemoryTables;
use crate::codec::{BlockBuffer, Reader, put_varint};
use crate::links::gather::Gather;
use crate::links::outbox::Outbox;
use crate::links::run_link::RunLink;
use crate::sites::core::Core;
use crate::sites::store::Store;
use crate::sites::tables::{Inbox, Tables as _};
use crate::sites::totals::Totals;
use crate::sites::unique::Unique;
use crate::store_error::StoreError;
use crate::{External, Options, Outside};
use aranha_url::PathKey;

/// The links that wait for one site: for each delivery its number, and the key, head and via of each link.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteLinks(Vec<(i64, Vec<u8>)>);

impl SiteLinks {
    fn push(&mut self, link: &RunLink<'_>) {
        if self.0.last().is_none_or(|(run, _)| *run != link.run) {
            self.0.push((link.run, Vec::new()));
        }
        if let Some((_, bytes)) = self.0.last_mut() {
            bytes.extend_from_slice(&link.key.0.to_le_bytes());
            for part in [link.head, link.via] {
                put_varint(bytes, part.len() as u64);
                bytes.extend_from_slice(part);
            }
        }
    }

    /// Calls `visit` for each link that was delivered after `consumed`. Returns the newest delivery.
    pub(super) fn walk(
        &self,
        consumed: i64,
        mut visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        let mut newest = consumed;
        for (run, bytes) in self.0.iter().filter(|(run, _)| *run > consumed) {
            newest = newest.max(*run);
            let mut links = Reader::new(bytes);
            while !links.is_empty() {
                let link = read_link(*run, &mut links).and_then(&mut visit);
                link.ok_or_else(|| StoreError::damaged("links of run", *run))?;
            }
        }
        Ok(newest)
    }
}

fn read_link<'a>(run: i64, links: &mut Reader<'a>) -> Option<RunLink<'a>> {
    let key = PathKey(links.word()?);
    let length = links.number()?;
    let head = links.take(length)?;
    let length = links.number()?;
    let via = links.take(length)?;
    Some(RunLink {
        run,
        key,
        head,
        via,
    })
}

/// The links that the current call sends.
#[derive(Debug)]
pub(crate) struct MemoryInbox {
    outbox: Outbox,
}

impl MemoryInbox {
    pub(super) fn new(options: &Options) -> MemoryInbox {
        MemoryInbox {
            outbox: Outbox::new(options),
        }
    }
}

impl Inbox<MemoryTables> for MemoryInbox {
    fn send(&mut self, links: &[Outside], totals: &mut Totals) {
        self.outbox.send(links, totals);
    }

    fn send_unfiltered(&mut self, link: &Outside) {
        self.outbox.send_unfiltered(link);
    }

    fn read(
        &mut self,
        store: &Store<MemoryTables>,
        site: i64,
        consumed: i64,
        visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<i64, StoreError> {
        // The links are taken, so that `visit` can write to the tables.
        let links = store.tables.lock().inboxes.remove(&site);
        links.map_or(Ok(consumed), |links| links.walk(consumed, visit))
    }

    fn on_read(&mut self, _site: i64) {}
}

impl Core<MemoryTables> {
    /// Write the links that a call has sent to the journal.
    pub(super) fn journal(&mut self) -> Result<(), StoreError> {
        let gather = &mut self.inbox.outbox.gather;
        if gather.links.is_empty() {
            return Ok(());
        }
        let start = Gather::default().position();
        gather.encode_since(start, &mut self.block);
        gather.clear();
        let mut database = self.store.tables.lock();
        let read = database.journal.extend(&self.block.text, &self.block.fixed);
        read.ok_or_else(|| StoreError::Damaged("journal".to_owned()))
    }

    /// Deliver the links in the journal: create the rows of new sites, and make idle sites due.
    pub(super) fn deliver(&mut self, now: i64) -> Result<(), StoreError> {
        let mut database = self.store.tables.lock();
        let mut gather = std::mem::take(&mut database.journal);
        database.last_run += 1;
        let run = database.last_run;
        drop(database);
        gather.links.sort_unstable();
        let mut unique = Unique::default();
        let mut block = BlockBuffer::default();
        for links in gather.links.chunk_by(|one, other| one.site == other.site) {
            let entry = &links[0];
            let before = self.store.tables.site(entry.site)?;
            let policy = self.inbox.outbox.policy;
            if before.is_some() && policy == External::HomePage && !gather.has_request(links) {
                continue;
            }
            let mut row = if let Some(row) = &before {
                row.clone()
            } else {
                let outbox = &self.inbox.outbox;
                self.store
                    .new_site(now, run, (&gather, entry), outbox, &mut block)?
            };
            if !row.inbox {
                row.receive_links(now, self.store.horizon);
                match &before {
                    Some(_) => self.store.site_update(&row)?,
                    None => self.store.site_insert(&row)?,
                }
                self.totals.site(before.as_ref(), &row);
            }
            unique.begin(links.len());
            let mut database = self.store.tables.lock();
            let inbox = database.inboxes.entry(entry.site).or_default();
            for entry in links {
                if unique.is_new(entry.key) {
                    let link = gather.read(entry);
                    let link = link.ok_or_else(|| StoreError::damaged("journal", run))?;
                    inbox.push(&link.link(run, entry.key));
                }
            }
        }
        Ok(())
    }
}
