//! Gathered links: links to other sites, in memory and in the journal (`journal.rs`), until there are enough for a link
//! run.
//!
//! A link is gathered without a look-up (Viuva Negra 5.3; the sieve of Mercator, the DRUM of `IRLbot`). The *via* of a
//! link is the URL of the page on which it was found. The encoding of a link:
//!
//! ```text
//! name              string; needed if the site is new
//! origin            1 to 4 = https://, http://, https://www., http://www. before the name; 0 = a string follows
//! depth, hop        varints
//! path              string
//! via               varint 0 and a string, or the distance in bytes from the start of the link back to an equal via
//! ```
//!
//! A journal entry is a block: `text` has the links of one transaction, `fixed` their site keys and path keys, 8 bytes
//! each. A link refers only to a via in its own entry.

use aranha_url::PathKey;

use super::run_link::{RunLink, skip_str};
use crate::codec::{BlockBuffer, Reader, put_str, put_varint};
use crate::{External, Outside};

/// Prefixes that give an origin when the name of the site is appended. The encoding numbers them from 1.
const ORIGINS: [&str; 4] = ["https://", "http://", "https://www.", "http://www."];

/// Keys and position of a gathered link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LinkIndexEntry {
    pub(crate) site: i64,
    /// Position of the first byte of the link. It is compared after the site, so that sorting keeps the links of a site
    /// in order of arrival.
    offset: u32,
    pub(crate) key: u64,
}

/// Links gathered since the last link run.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// The encoded links.
    bytes: Vec<u8>,
    /// Keys and position of each link.
    pub(crate) links: Vec<LinkIndexEntry>,
    /// Id of the newest journal entry that contains some of these links.
    pub(crate) journal: i64,
    /// Position of the last encoded via, if it is in the current journal entry.
    via: Option<usize>,
}

/// A link run is begun when the gathered links have this many bytes, because positions have 32 bits.
const MAX_BYTES: usize = 256 << 20;

/// Upper bound for the bytes of an encoded link without its strings.
const MAX_NUMBERS: usize = 64;

/// Reserve memory for `more` items. If the list must grow, it grows by an eighth instead of doubling. Its memory is
/// reused for the next link run, which needs about the same amount.
fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 8).max(1024));
    }
}

/// A position in the gathered links: the number of bytes and the number of links before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatherPosition {
    bytes: usize,
    links: usize,
}

impl Gather {
    pub(crate) fn is_full(&self, links: usize) -> bool {
        self.links.len() >= links || self.bytes.len() >= MAX_BYTES
    }

    pub(crate) fn bytes_since(&self, start: GatherPosition) -> usize {
        self.bytes.len() - start.bytes
    }

    /// Size of the encoded links.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Remove the links and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.links.clear();
        (self.journal, self.via) = (0, None);
    }

    pub(crate) fn position(&self) -> GatherPosition {
        GatherPosition {
            bytes: self.bytes.len(),
            links: self.links.len(),
        }
    }

    /// Append a link. The home page policy replaces it by a link to the home page of the other site (F5).
    pub(crate) fn push(&mut self, link: &Outside, policy: External, home: PathKey) {
        let (path, key) = match policy {
            External::HomePage => ("/", home),
            External::DeepLink | External::Combined => (link.path.as_str(), link.path_key),
        };
        let start = self.bytes.len();
        reserve(&mut self.links, 1);
        let texts = [&link.site, &link.origin, &link.path, &link.via];
        reserve(
            &mut self.bytes,
            texts.map(String::len).iter().sum::<usize>() + MAX_NUMBERS,
        );
        self.links.push(LinkIndexEntry {
            site: link.site_key.0 as i64,
            offset: start as u32,
            key: key.0,
        });
        let out = &mut self.bytes;
        put_str(out, &link.site);
        let prefix = link.origin.strip_suffix(link.site.as_str());
        if let Some(index) = ORIGINS.iter().position(|origin| prefix == Some(origin)) {
            out.push(index as u8 + 1);
        } else {
            out.push(0);
            put_str(out, &link.origin);
        }
        put_varint(out, u64::from(link.depth));
        out.push(link.hop.byte());
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

    /// Encode the links that were gathered since `start` as one journal entry. Returns false if there are none.
    pub(crate) fn encode_since(&mut self, start: GatherPosition, block: &mut BlockBuffer) -> bool {
        self.via = None;
        if self.links.len() == start.links {
            return false;
        }
        block.clear();
        block.text.extend_from_slice(&self.bytes[start.bytes..]);
        for entry in &self.links[start.links..] {
            block.fixed.extend_from_slice(&entry.site.to_le_bytes());
            block.fixed.extend_from_slice(&entry.key.to_le_bytes());
        }
        true
    }

    /// Decode a journal entry and append its links.
    pub(crate) fn extend(&mut self, text: &[u8], keys: &[u8]) -> Option<()> {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(text);
        let mut keys = Reader::new(keys);
        let mut offset = base;
        while offset < self.bytes.len() {
            let (_, end) = GatheredLink::read(&self.bytes, offset)?;
            self.links.push(LinkIndexEntry {
                site: keys.word()? as i64,
                offset: u32::try_from(offset).ok()?,
                key: keys.word()?,
            });
            offset = end;
        }
        keys.is_empty().then_some(())
    }

    pub(crate) fn read(&self, entry: &LinkIndexEntry) -> Option<GatheredLink<'_>> {
        GatheredLink::read(&self.bytes, entry.offset as usize).map(|(link, _)| link)
    }

    /// Whether a seed or a claim is among these links. A seed or claim has an empty `via`.
    pub(crate) fn has_request(&self, links: &[LinkIndexEntry]) -> bool {
        let is_request = |entry: &LinkIndexEntry| {
            let (_, _, _, via) = self.read(entry)?.link(0, entry.key).fields()?;
            Some(via.is_empty())
        };
        links.iter().any(|entry| is_request(entry) == Some(true))
    }

    /// The links to one site. [`Gather::links`] must be sorted.
    pub(crate) fn of_site(&self, site: i64) -> &[LinkIndexEntry] {
        let start = self.links.partition_point(|entry| entry.site < site);
        let count = self.links[start..].partition_point(|entry| entry.site == site);
        &self.links[start..start + count]
    }
}

/// A gathered link, decoded.
#[derive(Debug)]
pub(crate) struct GatheredLink<'a> {
    pub(crate) name: &'a str,
    origin: u8,
    other_origin: &'a str,
    /// Encoded depth, hop and path, copied to a link run.
    head: &'a [u8],
    /// Encoded via, copied to a link run.
    via: &'a [u8],
}

impl<'a> GatheredLink<'a> {
    /// The link at `offset`, and the position of its end.
    fn read(bytes: &'a [u8], offset: usize) -> Option<(GatheredLink<'a>, usize)> {
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
        let link = GatheredLink {
            name,
            origin,
            other_origin,
            head,
            via,
        };
        Some((link, bytes.len() - reader.rest().len()))
    }

    pub(crate) fn origin(&self) -> String {
        match ORIGINS.get(usize::from(self.origin).wrapping_sub(1)) {
            Some(origin) => format!("{origin}{}", self.name),
            None => self.other_origin.to_owned(),
        }
    }

    /// The link as it is written to link run number `run`.
    pub(crate) fn link(&self, run: i64, key: u64) -> RunLink<'a> {
        RunLink {
            run,
            key: PathKey(key),
            head: self.head,
            via: self.via,
        }
    }
}
