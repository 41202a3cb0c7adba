//! Links on their way: gathered in memory, written to the journal in the same transaction as the pages they were found
//! on (invariant 5), and sorted into a run when there are enough.
//!
//! No look-up is made for a link that is sent (V 5.3; Mercator's sieve, the DRUM of `IRLbot`). A link here is
//!
//! ```text
//! name              string: used when the site proves new
//! origin            1 to 4: https://, http://, the same with www., and the name; 0: a string follows
//! depth, hop        varints
//! path              string
//! via               varint 0 and a string; or how far before this link that string stands
//! ```
//!
//! with the keys of site and path beside it. A journal entry is the links of one group commit, one after the other, in an
//! envelope: the links as text, the keys of site and path (8 bytes each) behind it. No link refers to an earlier entry.

use aranha_url::PathKey;

use super::link_run_file::{RunLink, skip_str};
use super::store::Store;
use super::store_error::StoreError;
use crate::codec::{BlockBuffer, Reader, put_str, put_varint};
use crate::{External, Outside};

/// Beginnings of origins that go on with the site's name, by their number less one.
const ORIGINS: [&str; 4] = ["https://", "http://", "https://www.", "http://www."];

/// A link that was sent: where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Sent {
    pub(super) site: i64,
    /// Of its first byte. Links of a site are in the order of arrival.
    offset: u32,
    pub(super) key: u64,
}

/// Links gathered since the last run.
#[derive(Debug, Default)]
pub(super) struct Gather {
    /// The links, one after the other.
    bytes: Vec<u8>,
    /// Where each begins, with its keys.
    pub(super) links: Vec<Sent>,
    /// Newest journal entry that holds them.
    pub(super) journal: i64,
    /// Where the last via of this entry stands.
    via: Option<usize>,
}

/// Offsets are 32 bits: a run is made before this many bytes are gathered.
const MOST_BYTES: usize = 256 << 20;

/// Bytes that the numbers of a link take at most.
const MOST_NUMBERS: usize = 64;

/// Room for more, an eighth of what is there at a time: a batch keeps its memory, and one that is a little larger than those
/// before must not double it.
fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 8).max(1024));
    }
}

/// The end of what was gathered at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    bytes: usize,
    links: usize,
}

impl Gather {
    pub(super) fn is_full(&self, links: usize) -> bool {
        self.links.len() >= links || self.bytes.len() >= MOST_BYTES
    }

    pub(super) fn bytes_since(&self, mark: Mark) -> usize {
        self.bytes.len() - mark.bytes
    }

    /// Forget the links and keep the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.links.clear();
        (self.journal, self.via) = (0, None);
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            links: self.links.len(),
        }
    }

    /// Append a link; under the home page policy it stands for its site's home page (F5).
    pub(super) fn push(&mut self, link: &Outside, policy: External, home: PathKey) {
        let (path, key) = match policy {
            External::HomePage => ("/", home),
            External::DeepLink | External::Combined => (link.path.as_str(), link.path_key),
        };
        let start = self.bytes.len();
        make_room(&mut self.links, 1);
        let texts = [&link.site, &link.origin, &link.path, &link.via];
        make_room(
            &mut self.bytes,
            texts.map(String::len).iter().sum::<usize>() + MOST_NUMBERS,
        );
        self.links.push(Sent {
            site: link.site_key.0 as i64,
            offset: start as u32,
            key: key.0,
        });
        let out = &mut self.bytes;
        put_str(out, &link.site);
        let before = link.origin.strip_suffix(link.site.as_str());
        if let Some(place) = ORIGINS.iter().position(|origin| before == Some(origin)) {
            out.push(place as u8 + 1);
        } else {
            out.push(0);
            put_str(out, &link.origin);
        }
        put_varint(out, u64::from(link.depth));
        out.push(link.hop as u8);
        put_str(out, path);
        let same = self.via.filter(|at| {
            let via = Reader::new(&out[*at..]).text();
            via == Some(link.via.as_str())
        });
        if let Some(at) = same {
            put_varint(out, (start - at) as u64);
        } else {
            put_varint(out, 0);
            self.via = Some(out.len());
            put_str(out, &link.via);
        }
    }

    /// Take up links read back from the journal.
    fn extend(&mut self, text: &[u8], keys: &[u8]) -> Option<()> {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(text);
        let mut keys = Reader::new(keys);
        let mut offset = base;
        while offset < self.bytes.len() {
            let (_, end) = Gathered::read(&self.bytes, offset)?;
            self.links.push(Sent {
                site: keys.word()? as i64,
                offset: u32::try_from(offset).ok()?,
                key: keys.word()?,
            });
            offset = end;
        }
        keys.is_empty().then_some(())
    }

    pub(super) fn read(&self, sent: &Sent) -> Option<Gathered<'_>> {
        Gathered::read(&self.bytes, sent.offset as usize).map(|(link, _)| link)
    }

    /// The links to one site, when they are sorted.
    pub(super) fn of_site(&self, site: i64) -> &[Sent] {
        let start = self.links.partition_point(|sent| sent.site < site);
        let count = self.links[start..].partition_point(|sent| sent.site == site);
        &self.links[start..start + count]
    }
}

/// One gathered link.
#[derive(Debug)]
pub(super) struct Gathered<'a> {
    pub(super) name: &'a str,
    origin: u8,
    other_origin: &'a str,
    /// Depth, hop and path; then via: a run takes these bytes as they are.
    head: &'a [u8],
    via: &'a [u8],
}

impl<'a> Gathered<'a> {
    /// The link at `offset`, and where it ends.
    fn read(bytes: &'a [u8], offset: usize) -> Option<(Gathered<'a>, usize)> {
        let mut reader = Reader::new(bytes.get(offset..)?);
        let name = reader.text()?;
        let origin = reader.byte()?;
        let other_origin = if origin == 0 { reader.text()? } else { "" };
        let start = reader.rest();
        reader.varint()?;
        reader.varint()?;
        skip_str(&mut reader)?;
        let head = &start[..start.len() - reader.rest().len()];
        let via = match reader.number::<usize>()? {
            0 => skip_str(&mut reader)?,
            back => skip_str(&mut Reader::new(bytes.get(offset.checked_sub(back)?..)?))?,
        };
        let link = Gathered {
            name,
            origin,
            other_origin,
            head,
            via,
        };
        Some((link, bytes.len() - reader.rest().len()))
    }

    pub(super) fn origin(&self) -> String {
        match ORIGINS.get(usize::from(self.origin).wrapping_sub(1)) {
            Some(origin) => format!("{origin}{}", self.name),
            None => self.other_origin.to_owned(),
        }
    }

    /// As a link of a run.
    pub(super) fn link(&self, run: i64, key: u64) -> RunLink<'a> {
        RunLink {
            run,
            key: PathKey(key),
            head: self.head,
            via: self.via,
        }
    }
}

/// Remembers which links were sent lately, so that a popular one is not sent a thousand times: a table of hashes in
/// which a newer link takes the place of an older one. Losing an entry costs a duplicate, never a link.
#[derive(Debug)]
pub(super) struct Recent {
    slots: Vec<u64>,
    /// Something was noted.
    used: bool,
}

impl Recent {
    pub(super) fn new(links: usize) -> Recent {
        Recent {
            slots: vec![0; links.next_power_of_two()],
            used: false,
        }
    }

    /// The table of a crawl that has just begun is memory that the system has not given yet, and most of it stays so while
    /// the crawl is small: it is not touched without need.
    pub(super) fn clear(&mut self) {
        if self.used {
            *self = Recent::new(self.slots.len());
        }
    }

    /// Note the link; false when it was noted already.
    pub(super) fn note(&mut self, site: u64, path: u64) -> bool {
        let hash = (site ^ path.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let place = (hash >> 32) as usize & (self.slots.len() - 1);
        self.used = true;
        std::mem::replace(&mut self.slots[place], hash) != hash
    }
}

/// Sites whose links are known to wait, so that another link to them needs no look-up: a table in which a newer site
/// takes the place of an older one. Losing an entry costs a look-up.
#[derive(Debug)]
pub(super) struct SitesWithInbox {
    sets: Vec<[i64; WAYS]>,
    /// Insertions so far: they take turns to replace the ways of a set that is full.
    turn: usize,
}

const WAYS: usize = 4;

impl SitesWithInbox {
    pub(super) fn new(sites: usize) -> SitesWithInbox {
        SitesWithInbox {
            sets: vec![[0; WAYS]; (sites / WAYS).next_power_of_two()],
            turn: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        if self.turn > 0 {
            *self = SitesWithInbox::new(self.sets.len() * WAYS);
        }
    }

    fn set(&mut self, site: i64) -> &mut [i64; WAYS] {
        let place = (site as u64 >> 20) as usize & (self.sets.len() - 1);
        &mut self.sets[place]
    }

    pub(super) fn has(&mut self, site: i64) -> bool {
        site != 0 && self.set(site).contains(&site)
    }

    pub(super) fn insert(&mut self, site: i64) {
        self.turn += 1;
        let turn = self.turn % WAYS;
        let set = self.set(site);
        if !set.contains(&site) {
            let place = set.iter().position(|other| *other == 0).unwrap_or(turn);
            set[place] = site;
        }
    }

    pub(super) fn remove(&mut self, site: i64) {
        for slot in self.set(site) {
            if *slot == site {
                *slot = 0;
            }
        }
    }
}

impl Store {
    /// Make the links from `start` on durable with the transaction under way.
    pub(super) fn journal_append(
        &self,
        gather: &mut Gather,
        start: Mark,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        gather.via = None;
        if gather.links.len() == start.links {
            return Ok(());
        }
        block.clear();
        block.text.extend_from_slice(&gather.bytes[start.bytes..]);
        for sent in &gather.links[start.links..] {
            block.fixed.extend_from_slice(&sent.site.to_le_bytes());
            block.fixed.extend_from_slice(&sent.key.to_le_bytes());
        }
        gather.journal = self.insert(
            "INSERT INTO journal (links) VALUES (?1)",
            [self.packer.seal_lightly(block)],
        )?;
        Ok(())
    }

    /// Read back the links of journal entries after `after`, up to `upto`.
    pub(super) fn journal_read(&self, after: i64, upto: i64) -> Result<Gather, StoreError> {
        let mut gather = Gather::default();
        let mut statement =
            self.statement("SELECT id, links FROM journal WHERE id > ?1 AND id <= ?2 ORDER BY id")?;
        let mut rows = statement.query((after, upto))?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            self.packer
                .open(row.get_ref(1)?.as_blob().unwrap_or_default())
                .and_then(|(text, keys)| gather.extend(&text, keys))
                .ok_or_else(|| StoreError::damaged("journal entry", id))?;
            gather.journal = id;
        }
        Ok(gather)
    }

    pub(super) fn journal_delete(&self, upto: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM journal WHERE id <= ?1", [upto])?;
        Ok(())
    }
}
