//! A run's file: links sorted by site, in blocks, written once from front to back, then only read.
//!
//! Beside the database and not in it, because a run is large, is written in order and never changes: the log that a
//! database keeps for safety would write every byte twice, and its trees would cost a look-up a row. The file is synced
//! before the database names it; one that the database does not name is rubbish and removed when the frontier is opened.
//!
//! ```text
//! blocks     each in the envelope of codec.rs, one after the other
//!   text     a site's links: varint count; each link: varint newer-by (the run of level 0 that brought it, minus that
//!            of the link before; the first: minus 0), varint depth, hop, str path, str via
//!   fixed    the site's key, then the path keys; 8 bytes each
//! filter     words of 8 bytes: a Bloom filter of the sites
//! index      for each block: key of its first site, offset; 8 bytes each
//! trailer    offset of the filter, of the index, number of links, mark; 8 bytes each
//! ```
//!
//! What always holds: sites rise through the file; a site with many links goes on in the blocks that follow; runs never
//! fall within a site.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aranha_url::PathKey;

use super::site_filter::SiteFilter;
use super::store_error::StoreError;
use crate::Hop;
use crate::codec::{BlockBuffer, Packer, Reader, put_varint};

/// Text of a block before packing: small enough that a look-up costs little, large enough to pack well.
const BLOCK: usize = if cfg!(test) { 256 } else { 4 << 10 };
/// Bytes handed to the system at a time, and bytes after which the disk is asked to take them: one sync at the end of a
/// large file would stop everything for a second.
const BUFFER: usize = 1 << 18;
const SYNC: u64 = 8 << 20;
const MARK: u64 = u64::from_le_bytes(*b"aranha1\n");
const TRAILER: usize = 32;

/// A link in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLink<'a> {
    /// The run of level 0 that brought it.
    pub(super) run: i64,
    pub(super) key: PathKey,
    /// Depth, hop and path, as they are written.
    pub(super) head: &'a [u8],
    /// The page it was found on: its length and its bytes.
    pub(super) via: &'a [u8],
}

impl<'a> RunLink<'a> {
    /// Depth, hop, path and via, read.
    pub(super) fn fields(&self) -> Option<(u16, Hop, &'a str, &'a str)> {
        let mut head = Reader::new(self.head);
        let via = Reader::new(self.via).text()?;
        let (depth, letter) = (head.number()?, head.byte()?);
        Some((depth, Hop::from_stored(letter, via)?, head.text()?, via))
    }
}

/// Where a block begins, and the first site in it.
type BlockIndexEntry = (i64, u64);

/// A run on its way to the disk.
#[derive(Debug)]
pub(super) struct LinkRunWriter {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes given to the file, and of them synced.
    written: u64,
    synced: u64,
    block: BlockBuffer,
    /// The links of the site under way in the block: where its count stands, how many, the run of the last.
    site: i64,
    body: Vec<u8>,
    count: u64,
    run: i64,
    first: Option<i64>,
    index: Vec<BlockIndexEntry>,
    sites: Vec<i64>,
    pub(super) links: i64,
}

impl LinkRunWriter {
    /// Begin the file anew.
    pub(super) fn create(path: &Path) -> Result<LinkRunWriter, StoreError> {
        let file = File::create(path).map_err(StoreError::at_file(path))?;
        Ok(LinkRunWriter {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER + BLOCK),
            written: 0,
            synced: 0,
            block: BlockBuffer::default(),
            site: 0,
            body: Vec::new(),
            count: 0,
            run: 0,
            first: None,
            index: Vec::new(),
            sites: Vec::new(),
            links: 0,
        })
    }

    /// Append a link; sites must not fall, nor runs within a site.
    pub(super) fn push(
        &mut self,
        packer: &Packer,
        site: i64,
        link: &RunLink<'_>,
    ) -> Result<(), StoreError> {
        if self.count > 0 && site != self.site {
            self.end_site();
            self.cut(packer)?;
        } else if self.body.len() >= BLOCK {
            self.end_site();
            self.end_block(packer)?;
        }
        if self.count == 0 {
            self.site = site;
            self.run = 0;
            self.first.get_or_insert(site);
            self.block.fixed.extend_from_slice(&site.to_le_bytes());
            if self.sites.last() != Some(&site) && self.sites.len() <= SiteFilter::MOST {
                self.sites.push(site);
            }
        }
        put_varint(&mut self.body, (link.run - self.run) as u64);
        self.body.extend_from_slice(link.head);
        self.body.extend_from_slice(link.via);
        self.block
            .fixed
            .extend_from_slice(&link.key.0.to_le_bytes());
        self.run = link.run;
        self.count += 1;
        self.links += 1;
        Ok(())
    }

    fn end_site(&mut self) {
        if self.count > 0 {
            put_varint(&mut self.block.text, self.count);
            self.block.text.append(&mut self.body);
            self.count = 0;
        }
    }

    fn cut(&mut self, packer: &Packer) -> Result<(), StoreError> {
        if self.block.text.len() >= BLOCK {
            self.end_block(packer)?;
        }
        Ok(())
    }

    fn end_block(&mut self, packer: &Packer) -> Result<(), StoreError> {
        if let Some(first) = self.first.take() {
            let offset = self.written + self.buffer.len() as u64;
            self.index.push((first, offset));
            packer.seal_lightly_into(&self.block, &mut self.buffer);
            self.block.clear();
            if self.buffer.len() >= BUFFER {
                self.hand_over().map_err(StoreError::at_file(&self.path))?;
            }
        }
        Ok(())
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.written - self.synced >= SYNC {
            self.file.sync_data()?;
            self.synced = self.written;
        }
        Ok(())
    }

    /// Write the rest and sync it: from here on the database may name the file.
    pub(super) fn finish(mut self, packer: &Packer) -> Result<LinkRunFile, StoreError> {
        self.end_site();
        self.end_block(packer)?;
        let filter = SiteFilter::of(&self.sites);
        let blocks_end = self.written + self.buffer.len() as u64;
        for word in filter.words() {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
        let index_start = self.written + self.buffer.len() as u64;
        for (site, offset) in &self.index {
            self.buffer.extend_from_slice(&site.to_le_bytes());
            self.buffer.extend_from_slice(&offset.to_le_bytes());
        }
        for word in [blocks_end, index_start, self.links as u64, MARK] {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
        let path = self.path.clone();
        let fault = StoreError::at_file(&path);
        self.finish_file().map_err(fault)?;
        let file = File::open(&path).map_err(StoreError::at_file(&path))?;
        Ok(LinkRunFile {
            inner: Arc::new(OpenLinkRun {
                file,
                bytes: self.written,
                path,
                index: self.index,
                filter,
                blocks_end,
                links: self.links,
            }),
        })
    }

    fn finish_file(&mut self) -> io::Result<()> {
        self.hand_over()?;
        self.file.sync_data()?;
        // The name too.
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// Memory for a block that is looked into, used again for the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    sealed: Vec<u8>,
    text: Vec<u8>,
}

/// A whole run, open for reading.
#[derive(Clone, Debug)]
pub(super) struct LinkRunFile {
    inner: Arc<OpenLinkRun>,
}

#[derive(Debug)]
struct OpenLinkRun {
    file: File,
    path: PathBuf,
    bytes: u64,
    index: Vec<BlockIndexEntry>,
    filter: SiteFilter,
    blocks_end: u64,
    links: i64,
}

impl LinkRunFile {
    pub(super) fn open(path: &Path) -> Result<LinkRunFile, StoreError> {
        let fault = || StoreError::at_file(path);
        let file = File::open(path).map_err(fault())?;
        let bytes = file.metadata().map_err(fault())?.len();
        let damaged = || StoreError::Damaged(format!("run {}", path.display()));
        let start = bytes.checked_sub(TRAILER as u64).ok_or_else(damaged)?;
        let words = read_words(&file, start, bytes).map_err(fault())?;
        let [blocks_end, index_start, links, MARK] = words[..] else {
            return Err(damaged());
        };
        if !(blocks_end <= index_start && index_start <= start) {
            return Err(damaged());
        }
        let words = read_words(&file, blocks_end, index_start).map_err(fault())?;
        let index = read_words(&file, index_start, start).map_err(fault())?;
        let index: Vec<BlockIndexEntry> = index
            .chunks_exact(2)
            .map(|pair| (pair[0] as i64, pair[1]))
            .collect();
        if !index.is_sorted() || index.iter().any(|(_, offset)| *offset >= blocks_end) {
            return Err(damaged());
        }
        Ok(LinkRunFile {
            inner: Arc::new(OpenLinkRun {
                file,
                path: path.to_owned(),
                bytes,
                index,
                filter: SiteFilter::read(words).ok_or_else(damaged)?,
                blocks_end,
                links: links as i64,
            }),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.inner.path
    }

    pub(super) fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    pub(super) fn links(&self) -> i64 {
        self.inner.links
    }

    pub(super) fn damaged(&self) -> StoreError {
        StoreError::Damaged(format!("run {}", self.inner.path.display()))
    }

    /// Visit the links of one site.
    pub(super) fn visit(
        &self,
        packer: &Packer,
        scratch: &mut Scratch,
        site: i64,
        mut visit: impl FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        let inner = &*self.inner;
        if !inner.filter.may_have(site) {
            return Ok(());
        }
        // The block before the first that begins with this site may end with it.
        let after = inner.index.partition_point(|(first, _)| *first < site);
        let Scratch { sealed, text } = scratch;
        for number in after.saturating_sub(1)..inner.index.len() {
            if inner.index[number].0 > site {
                break;
            }
            self.read_block(number, sealed)?;
            let fixed = packer.open_into(sealed, text);
            let fixed = fixed.ok_or_else(|| self.damaged())?;
            visit_block(text, fixed, site, &mut visit).ok_or_else(|| self.damaged())?;
        }
        Ok(())
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.inner.index.len()
    }

    /// Block `number` as it is on disk.
    pub(super) fn read_block(&self, number: usize, sealed: &mut Vec<u8>) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let start = inner.index[number].1;
        let end = inner
            .index
            .get(number + 1)
            .map_or(inner.blocks_end, |(_, offset)| *offset);
        sealed.resize(end.saturating_sub(start) as usize, 0);
        inner
            .file
            .read_exact_at(sealed, start)
            .map_err(StoreError::at_file(&inner.path))
    }
}

fn read_words(file: &File, start: u64, end: u64) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; (end - start) as usize];
    file.read_exact_at(&mut bytes, start)?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Visit the links of one site in a block; `None`: damage.
fn visit_block(
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

/// Over depth, hop and path; then via. Answers both.
pub(super) fn skip_link<'a>(text: &mut Reader<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let start = text.rest();
    text.varint()?;
    text.varint()?;
    skip_str(text)?;
    let head = &start[..start.len() - text.rest().len()];
    Some((head, skip_str(text)?))
}

/// Over a string; answers its length and its bytes.
pub(super) fn skip_str<'a>(text: &mut Reader<'a>) -> Option<&'a [u8]> {
    let start = text.rest();
    let length = text.number()?;
    text.take(length)?;
    Some(&start[..start.len() - text.rest().len()])
}

#[cfg(test)]
mod tests {
    use super::super::link_run_cursor::LinkRunCursor;
    use super::*;
    use crate::codec::put_str;

    fn written(packer: &Packer, path: &Path, sites: i64, links: i64) -> LinkRunFile {
        let mut writer = LinkRunWriter::create(path).expect("creates");
        for site in 0..sites {
            for number in 0..links {
                let (mut head, mut via) = (vec![3, b'L'], Vec::new());
                put_str(&mut head, &format!("/page/{number}"));
                put_str(&mut via, &format!("https://site-{site}.example/"));
                let link = RunLink {
                    run: 5 + number / 3,
                    key: PathKey(number as u64),
                    head: &head,
                    via: &via,
                };
                writer.push(packer, site * 7 - 20, &link).expect("writes");
            }
        }
        writer.finish(packer).expect("finishes")
    }

    #[test]
    fn links_come_back_by_site_and_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let packer = Packer::new().expect("memory");
        let path = folder.path().join("1.run");
        for (sites, links) in [(1, 1), (40, 3), (3, 200), (0, 0)] {
            let made = written(&packer, &path, sites, links);
            let opened = LinkRunFile::open(&path).expect("opens");
            assert_eq!(opened.bytes(), made.bytes());
            assert_eq!(opened.links(), sites * links);
            for run in [made, opened] {
                for site in -25..sites * 7 {
                    let mut found = Vec::new();
                    run.visit(&packer, &mut Scratch::default(), site, |link| {
                        let (depth, hop, path, via) = link.fields()?;
                        assert_eq!((depth, hop), (3, Hop::Link));
                        assert_eq!(via, format!("https://site-{}.example/", (site + 20) / 7));
                        found.push((link.run, link.key.0, path.to_owned()));
                        Some(())
                    })
                    .expect("reads");
                    let here = (site + 20) % 7 == 0 && site + 20 < sites * 7 && site >= -20;
                    let expected: Vec<_> = (0..if here { links } else { 0 })
                        .map(|n| (5 + n / 3, n as u64, format!("/page/{n}")))
                        .collect();
                    assert_eq!(found, expected, "site {site}");
                }
                let mut cursor = LinkRunCursor::new(&packer, run).expect("reads");
                let mut count = 0;
                while let Some(site) = cursor.site() {
                    assert!((site + 20) % 7 == 0);
                    count += cursor.links().len() as i64;
                    cursor.advance(&packer).expect("reads");
                }
                assert_eq!(count, sites * links);
            }
        }
    }

    #[test]
    fn damage_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let packer = Packer::new().expect("memory");
        let path = folder.path().join("1.run");
        drop(written(&packer, &path, 30, 5));
        let whole = std::fs::read(&path).expect("reads");
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            assert!(LinkRunFile::open(&path).is_err(), "{cut}");
        }
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x41;
            std::fs::write(&path, &bytes).expect("writes");
            // No panic, whatever is made of it.
            if let Ok(run) = LinkRunFile::open(&path) {
                for site in [-20, 1, 50] {
                    let _ = run.visit(&packer, &mut Scratch::default(), site, |_| Some(()));
                }
            }
        }
    }
}
