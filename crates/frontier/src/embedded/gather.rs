//! Links on their way: gathered in memory, written to the journal in the same transaction as the pages they were found
//! on (invariant 5), and sorted into a run when there are enough.
//!
//! No look-up is made for a link that is sent (V 5.3; Mercator's sieve, the DRUM of `IRLbot`). A link here is
//!
//! ```text
//! site key          8 bytes, lowest first
//! name, origin      strings: used when the site proves new
//! path key          8 bytes
//! depth, hop        varints
//! path, via         strings
//! ```
//!
//! A journal entry is the links of one group commit, one after the other, in an envelope.

use aranha_url::PathKey;

use super::fault::Fault;
use super::store::Store;
use crate::codec::{Block, Reader, put_str, put_varint};
use crate::{External, Outside};

/// Links gathered since the last run.
#[derive(Debug, Default)]
pub(super) struct Gather {
    /// The links, one after the other.
    pub(super) bytes: Vec<u8>,
    /// Where each begins, with its site.
    pub(super) links: Vec<(i64, u32)>,
    /// Newest journal entry that holds them.
    pub(super) journal: i64,
}

/// Offsets are 32 bits: a run is made before this many bytes are gathered.
const MOST_BYTES: usize = 256 << 20;

impl Gather {
    pub(super) fn is_full(&self, links: usize) -> bool {
        self.links.len() >= links || self.bytes.len() >= MOST_BYTES
    }

    /// Append a link; under the home page policy it stands for its site's home page (F5).
    pub(super) fn push(&mut self, link: &Outside, policy: External, home: PathKey) {
        let (path, key) = match policy {
            External::HomePage => ("/", home),
            External::DeepLink | External::Combined => (link.path.as_str(), link.path_key),
        };
        self.links
            .push((link.site_key.0 as i64, self.bytes.len() as u32));
        let out = &mut self.bytes;
        out.extend_from_slice(&link.site_key.0.to_le_bytes());
        put_str(out, &link.site);
        put_str(out, &link.origin);
        out.extend_from_slice(&key.0.to_le_bytes());
        put_varint(out, u64::from(link.depth));
        put_varint(out, u64::from(u32::from(link.hop)));
        put_str(out, path);
        put_str(out, &link.via);
    }

    /// Take up links read back from the journal.
    fn extend(&mut self, bytes: &[u8]) -> Option<()> {
        let base = self.bytes.len();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let at = base + (bytes.len() - reader.rest().len());
            let link = Gathered::read(&mut reader)?;
            self.links.push((link.site, u32::try_from(at).ok()?));
        }
        self.bytes.extend_from_slice(bytes);
        Some(())
    }

    pub(super) fn read(&self, offset: u32) -> Option<Gathered<'_>> {
        Gathered::read(&mut Reader::new(self.bytes.get(offset as usize..)?))
    }
}

/// One gathered link.
#[derive(Debug)]
pub(super) struct Gathered<'a> {
    pub(super) site: i64,
    pub(super) name: &'a str,
    pub(super) origin: &'a str,
    pub(super) key: u64,
    /// Depth, hop, path and via, as they were written: a run takes these bytes as they are.
    pub(super) body: &'a [u8],
}

impl<'a> Gathered<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Gathered<'a>> {
        let site = reader.word()? as i64;
        let (name, origin) = (reader.text()?, reader.text()?);
        let key = reader.word()?;
        let start = reader.rest();
        reader.varint()?;
        reader.varint()?;
        for _ in 0..2 {
            let length = reader.number()?;
            reader.take(length)?;
        }
        let body = &start[..start.len() - reader.rest().len()];
        Some(Gathered {
            site,
            name,
            origin,
            key,
            body,
        })
    }
}

/// Remembers which links were sent lately, so that a popular one is not sent a thousand times: a table of hashes in
/// which a newer link takes the place of an older one. Losing an entry costs a duplicate, never a link.
#[derive(Debug)]
pub(super) struct Recent {
    slots: Vec<u64>,
}

impl Recent {
    pub(super) fn new(links: usize) -> Recent {
        Recent {
            slots: vec![0; links.next_power_of_two()],
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
    }

    /// Note the link; false when it was noted already.
    pub(super) fn note(&mut self, site: u64, path: u64) -> bool {
        let hash = (site ^ path.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let place = (hash >> 32) as usize & (self.slots.len() - 1);
        std::mem::replace(&mut self.slots[place], hash) != hash
    }
}

impl Store {
    /// Make the links from `start` on durable with the transaction under way.
    pub(super) fn journal_append(
        &self,
        gather: &mut Gather,
        start: usize,
        block: &mut Block,
    ) -> Result<(), Fault> {
        if gather.bytes.len() == start {
            return Ok(());
        }
        block.clear();
        block.text.extend_from_slice(&gather.bytes[start..]);
        gather.journal = self.insert(
            "INSERT INTO journal (links) VALUES (?1)",
            [self.packer.seal(block)],
        )?;
        Ok(())
    }

    /// Read back the links of journal entries after `after`, up to `upto`.
    pub(super) fn journal_read(&self, after: i64, upto: i64) -> Result<Gather, Fault> {
        let mut gather = Gather::default();
        let mut statement =
            self.statement("SELECT id, links FROM journal WHERE id > ?1 AND id <= ?2 ORDER BY id")?;
        let mut rows = statement.query((after, upto))?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            self.packer
                .open(row.get_ref(1)?.as_blob().unwrap_or_default())
                .and_then(|(text, _)| gather.extend(&text))
                .ok_or_else(|| Fault::damaged("journal entry", id))?;
            gather.journal = id;
        }
        Ok(gather)
    }

    pub(super) fn journal_delete(&self, upto: i64) -> Result<(), Fault> {
        self.run("DELETE FROM journal WHERE id <= ?1", [upto])?;
        Ok(())
    }
}
