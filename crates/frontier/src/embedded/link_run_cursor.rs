//! Reads a link run from front to back, one site at a time, for merging.

use aranha_url::PathKey;

use super::link_run_file::{LinkRunFile, RunLink, skip_link};
use super::store_error::StoreError;
use crate::codec::{Packer, Reader};

/// A position in a link run.
#[derive(Debug)]
pub(super) struct LinkRunCursor {
    run: LinkRunFile,
    next_block: usize,
    sealed: Vec<u8>,
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

impl LinkRunCursor {
    /// A cursor at the first site.
    pub(super) fn new(packer: &Packer, run: LinkRunFile) -> Result<LinkRunCursor, StoreError> {
        let mut cursor = LinkRunCursor {
            run,
            next_block: 0,
            sealed: Vec::new(),
            text: Vec::new(),
            fixed: Vec::new(),
            at: (0, 0),
            site: None,
            links: Vec::new(),
        };
        cursor.advance(packer)?;
        Ok(cursor)
    }

    /// The current site; `None` at the end. If the links of a site continue in the next block, the site is returned
    /// again for that block.
    pub(super) fn site(&self) -> Option<i64> {
        self.site
    }

    /// The links of the current site.
    pub(super) fn links(&self) -> impl ExactSizeIterator<Item = RunLink<'_>> {
        self.links.iter().map(|link| RunLink {
            run: link.run,
            key: PathKey(link.key),
            head: &self.text[link.start as usize..link.middle as usize],
            via: &self.text[link.middle as usize..link.end as usize],
        })
    }

    /// Move to the next site.
    pub(super) fn advance(&mut self, packer: &Packer) -> Result<(), StoreError> {
        self.links.clear();
        self.site = None;
        if self.at.0 >= self.text.len() {
            if self.next_block >= self.run.blocks() {
                return Ok(());
            }
            self.run.read_block(self.next_block, &mut self.sealed)?;
            self.next_block += 1;
            let fixed = packer.open_into(&self.sealed, &mut self.text);
            let fixed = fixed.ok_or_else(|| self.run.damaged())?;
            self.fixed.clear();
            self.fixed.extend_from_slice(fixed);
            self.at = (0, 0);
        }
        self.read_site().ok_or_else(|| self.run.damaged())
    }

    fn read_site(&mut self) -> Option<()> {
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
