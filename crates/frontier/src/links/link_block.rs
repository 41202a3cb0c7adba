//! A block of a link run: links sorted by site. The layout is drawn in `embedded/link_run_file.rs`.
//!
//! The *run* of a link is the number of the link run to which it was first written ([`RunLink::run`]).
//!
//! Invariants: Sites are in ascending order. The links of a site are in ascending order of their runs. The links of a
//! site may continue in the next blocks.

use aranha_url::PathKey;

use super::run_link::{RunLink, skip_link};
use crate::codec::{BlockBuffer, Packer, Reader, put_varint};

/// A block ends when its text, before compression, has this many bytes. Smaller blocks make a look-up faster; larger
/// blocks compress better.
pub(crate) const BLOCK: usize = if cfg!(test) { 256 } else { 4 << 10 };

/// Encodes links, one block at a time.
#[derive(Debug, Default)]
pub(crate) struct LinkBlockWriter {
    block: BlockBuffer,
    /// The current site.
    site: i64,
    /// Encoded links of the current site.
    body: Vec<u8>,
    /// Number of links of the current site.
    count: u64,
    /// Value of [`RunLink::run`] of the last link of the current site.
    run: i64,
    /// First site of the current block.
    first: Option<i64>,
}

impl LinkBlockWriter {
    /// Whether the block is full, so that it must be ended ([`LinkBlockWriter::end`]) before a link to `site` is
    /// appended.
    pub(crate) fn is_full(&mut self, site: i64) -> bool {
        if self.count > 0 && site != self.site {
            self.end_site();
            self.block.text.len() >= BLOCK
        } else {
            self.body.len() >= BLOCK
        }
    }

    /// Append a link. Sites must be in ascending order, and within a site the links must be in ascending order of
    /// [`RunLink::run`]. Returns true for the first link of a site in this block.
    pub(crate) fn push(&mut self, site: i64, link: &RunLink<'_>) -> bool {
        let begins = self.count == 0;
        if begins {
            self.site = site;
            self.run = 0;
            self.first.get_or_insert(site);
            self.block.fixed.extend_from_slice(&site.to_le_bytes());
        }
        put_varint(&mut self.body, (link.run - self.run) as u64);
        self.body.extend_from_slice(link.head);
        self.body.extend_from_slice(link.via);
        self.block
            .fixed
            .extend_from_slice(&link.key.0.to_le_bytes());
        self.run = link.run;
        self.count += 1;
        begins
    }

    fn end_site(&mut self) {
        if self.count > 0 {
            put_varint(&mut self.block.text, self.count);
            self.block.text.append(&mut self.body);
            self.count = 0;
        }
    }

    /// End the block: append its envelope to `out`, and return its first site. `None` if the block is empty.
    pub(crate) fn end(&mut self, packer: &Packer, out: &mut Vec<u8>) -> Option<i64> {
        self.end_site();
        let first = self.first.take()?;
        packer.seal_fast_into(&self.block, out);
        self.block.clear();
        Some(first)
    }
}

/// Call `visit` for each link of a site in a block. `None` if the block is damaged.
pub(crate) fn visit_block(
    text: &[u8],
    fixed: &[u8],
    site: i64,
    visit: &mut impl FnMut(RunLink<'_>) -> Option<()>,
) -> Option<()> {
    let (mut text, mut fixed) = (Reader::new(text), Reader::new(fixed));
    while !text.is_empty() {
        let count: u64 = text.number()?;
        let here = fixed.word()? as i64;
        if here > site {
            return Some(());
        }
        let mut run = 0i64;
        for _ in 0..count {
            run = run.checked_add(text.number()?)?;
            let (head, via) = skip_link(&mut text)?;
            let key = PathKey(fixed.word()?);
            if here == site {
                visit(RunLink {
                    run,
                    key,
                    head,
                    via,
                })?;
            }
        }
    }
    fixed.is_empty().then_some(())
}

/// Reads blocks one site at a time, for merging.
#[derive(Debug, Default)]
pub(crate) struct LinkBlockReader {
    text: Vec<u8>,
    fixed: Vec<u8>,
    /// Positions in `text` and `fixed` at which the next site begins.
    at: (usize, usize),
    /// The current site; `links` has its links.
    site: Option<i64>,
    links: Vec<LinkBounds>,
}

/// A link of the current site: its run and key, and where it is in `text`.
#[derive(Clone, Copy, Debug)]
struct LinkBounds {
    run: i64,
    key: u64,
    start: u32,
    /// Start of the via.
    middle: u32,
    end: u32,
}

impl LinkBlockReader {
    /// The current site; `None` before the first site of the first block, and at the end. If the links of a site
    /// continue in the next block, the site is returned again for that block.
    pub(crate) fn site(&self) -> Option<i64> {
        self.site
    }

    /// The links of the current site.
    pub(crate) fn links(&self) -> impl ExactSizeIterator<Item = RunLink<'_>> {
        self.links.iter().map(|link| RunLink {
            run: link.run,
            key: PathKey(link.key),
            head: &self.text[link.start as usize..link.middle as usize],
            via: &self.text[link.middle as usize..link.end as usize],
        })
    }

    /// Whether all sites of the block were read, so that the next block must be loaded.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at.0 >= self.text.len()
    }

    /// Leave the current site. There is no current site until the next one is read.
    pub(crate) fn leave_site(&mut self) {
        self.links.clear();
        self.site = None;
    }

    /// Open the envelope of the next block. `None` if it is damaged.
    pub(crate) fn load(&mut self, packer: &Packer, sealed: &[u8]) -> Option<()> {
        let fixed = packer.open_into(sealed, &mut self.text)?;
        self.fixed.clear();
        self.fixed.extend_from_slice(fixed);
        self.at = (0, 0);
        Some(())
    }

    /// Read the next site of the block. `None` if the block is damaged.
    pub(crate) fn read_site(&mut self) -> Option<()> {
        let whole = &self.text[..];
        let mut text = Reader::new(whole.get(self.at.0..)?);
        let mut fixed = Reader::new(self.fixed.get(self.at.1..)?);
        let position = |reader: &Reader<'_>| whole.len() - reader.rest().len();
        let count: usize = text.number()?;
        self.site = Some(fixed.word()? as i64);
        let mut run = 0i64;
        for _ in 0..count {
            run = run.checked_add(text.number()?)?;
            let start = position(&text);
            let (head, _) = skip_link(&mut text)?;
            self.links.push(LinkBounds {
                run,
                key: fixed.word()?,
                start: start as u32,
                middle: (start + head.len()) as u32,
                end: position(&text) as u32,
            });
        }
        self.at = (position(&text), self.fixed.len() - fixed.rest().len());
        Some(())
    }
}
