//! The file of a link run: links sorted by site, in blocks. It is written once, from front to back, and never changed.
//!
//! The links are not in the database, because with the write-ahead log every byte would be written twice, and each
//! insert would cost a look-up in a B-tree. The file is synced before the database lists it as complete. A file that
//! the database does not list is removed when the frontier is opened.
//!
//! ```text
//! blocks     each in the envelope of codec.rs
//!   text     per site: varint number of links; per link: varint run (see below, minus the run of the previous link
//!            of the site), varint depth, hop, string path, string via
//!   fixed    per site: key of the site, then the path keys; 8 bytes each
//! filter     Bloom filter of the sites, words of 8 bytes
//! index      per block: key of its first site, offset; 8 bytes each
//! trailer    offset of the filter, offset of the index, number of links, magic number; 8 bytes each
//! ```
//!
//! The *run* of a link is the number of the link run to which the link was first written. Merging does not change it.
//!
//! Invariants: Sites are in ascending order. The links of a site are in ascending order of their runs. The links of a
//! site may continue in the next blocks.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::site_filter::SiteFilter;
use crate::codec::Packer;
use crate::links::link_block::{BLOCK, LinkBlockWriter, visit_block};
use crate::links::run_link::RunLink;
use crate::store_error::StoreError;

/// Number of bytes that are collected for one write to the file.
const BUFFER: usize = 1 << 18;
/// Number of bytes between two syncs. A single sync at the end of a large file would block for a second.
const SYNC_INTERVAL: u64 = 8 << 20;
const MAGIC: u64 = u64::from_le_bytes(*b"aranha1\n");
/// Length of the trailer in bytes.
const TRAILER: usize = 32;

/// First site and offset of a block.
type BlockIndexEntry = (i64, u64);

/// Writes a link run.
#[derive(Debug)]
pub(super) struct LinkRunWriter {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Number of bytes written to the file.
    written: u64,
    /// Number of bytes synced.
    synced: u64,
    block: LinkBlockWriter,
    index: Vec<BlockIndexEntry>,
    sites: Vec<i64>,
    pub(super) links: i64,
}

impl LinkRunWriter {
    /// Create the file, or truncate it.
    pub(super) fn create(path: &Path) -> Result<LinkRunWriter, StoreError> {
        let file = File::create(path).map_err(StoreError::at_file(path))?;
        Ok(LinkRunWriter {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER + BLOCK),
            written: 0,
            synced: 0,
            block: LinkBlockWriter::default(),
            index: Vec::new(),
            sites: Vec::new(),
            links: 0,
        })
    }

    /// Append a link. Sites must be in ascending order, and within a site the links must be in ascending order of
    /// [`RunLink::run`].
    pub(super) fn push(
        &mut self,
        packer: &Packer,
        site: i64,
        link: &RunLink<'_>,
    ) -> Result<(), StoreError> {
        if self.block.is_full(site) {
            self.end_block(packer)?;
        }
        let begins = self.block.push(site, link);
        if begins && self.sites.last() != Some(&site) && self.sites.len() <= SiteFilter::MAX_SITES {
            self.sites.push(site);
        }
        self.links += 1;
        Ok(())
    }

    fn end_block(&mut self, packer: &Packer) -> Result<(), StoreError> {
        let offset = self.written + self.buffer.len() as u64;
        if let Some(first) = self.block.end(packer, &mut self.buffer) {
            self.index.push((first, offset));
            if self.buffer.len() >= BUFFER {
                self.write_buffer()
                    .map_err(StoreError::at_file(&self.path))?;
            }
        }
        Ok(())
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.written - self.synced >= SYNC_INTERVAL {
            self.file.sync_data()?;
            self.synced = self.written;
        }
        Ok(())
    }

    /// Write the last block, the filter, the index and the trailer, and sync the file. After that the database can list
    /// the link run as complete.
    pub(super) fn finish(mut self, packer: &Packer) -> Result<LinkRunFile, StoreError> {
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
        for word in [blocks_end, index_start, self.links as u64, MAGIC] {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
        let path = self.path.clone();
        self.finish_file().map_err(StoreError::at_file(&path))?;
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
        self.write_buffer()?;
        self.file.sync_data()?;
        // The folder is synced too, so that the new file is found after a crash.
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// Reused memory for reading blocks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    sealed: Vec<u8>,
    text: Vec<u8>,
}

/// A complete link run, open for reading.
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
        let at_path = || StoreError::at_file(path);
        let file = File::open(path).map_err(at_path())?;
        let bytes = file.metadata().map_err(at_path())?.len();
        let damaged = || StoreError::Damaged(format!("run {}", path.display()));
        let start = bytes.checked_sub(TRAILER as u64).ok_or_else(damaged)?;
        let words = read_words(&file, start, bytes).map_err(at_path())?;
        let [blocks_end, index_start, links, MAGIC] = words[..] else {
            return Err(damaged());
        };
        if !(blocks_end <= index_start && index_start <= start) {
            return Err(damaged());
        }
        let words = read_words(&file, blocks_end, index_start).map_err(at_path())?;
        let index = read_words(&file, index_start, start).map_err(at_path())?;
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

    /// Call `visit` for each link of a site.
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
        // The links of the site may begin inside the block before the first block that starts with this site.
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

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.inner.index.len()
    }

    /// Read the envelope of a block.
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

#[cfg(test)]
mod tests {
    use super::super::link_run_cursor::LinkRunCursor;
    use aranha_url::PathKey;

    use super::*;
    use crate::Hop;
    use crate::codec::put_str;

    fn write_run(packer: &Packer, path: &Path, sites: i64, links: i64) -> LinkRunFile {
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
    fn links_are_read_by_site_and_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let packer = Packer::new().expect("memory");
        let path = folder.path().join("1.run");
        for (sites, links) in [(1, 1), (40, 3), (3, 200), (0, 0)] {
            let written = write_run(&packer, &path, sites, links);
            let opened = LinkRunFile::open(&path).expect("opens");
            assert_eq!(opened.bytes(), written.bytes());
            assert_eq!(opened.links(), sites * links);
            for run in [written, opened] {
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
    fn damaged_files_are_refused_or_read_without_panic() {
        let folder = tempfile::tempdir().expect("a folder");
        let packer = Packer::new().expect("memory");
        let path = folder.path().join("1.run");
        drop(write_run(&packer, &path, 30, 5));
        let whole = std::fs::read(&path).expect("reads");
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            assert!(LinkRunFile::open(&path).is_err(), "{cut}");
        }
        for position in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[position] ^= 0x41;
            std::fs::write(&path, &bytes).expect("writes");
            // A damaged file may open, but reading it must not panic.
            if let Ok(run) = LinkRunFile::open(&path) {
                for site in [-20, 1, 50] {
                    let _ = run.visit(&packer, &mut Scratch::default(), site, |_| Some(()));
                }
            }
        }
    }
}
