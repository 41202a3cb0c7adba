//! A digest segment: a sorted, immutable file of payload digests, each with the location of the stored payload.
//!
//! ```text
//! offset  bytes
//!      0      8  "aranhaD1"
//!      8      4  level, big endian: number of times that the entries have been merged
//!     12     20  zero
//!     32     32  first entry: SHA-1 of the payload (20), counter of the volume (4), offset << 1 | chunked (8);
//!                numbers are big endian
//!     64         … further entries, sorted by digest
//! ```
//!
//! The file `indexes/duplicates/FIRST-LAST.run` covers the volumes FIRST to LAST, which one node has written. The
//! number of the node is in the file name, not in the entries. A segment whose range lies within the range of another
//! one was merged into it, and is removed at the next start. A look-up tests the Bloom filter first. Then it uses
//! interpolation search to find the page of the file that can contain the digest. This is fast, because digests are
//! uniformly distributed (docs/decisions/0004-duplicate-index.md).

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::duplicates::filter::DigestFilter;
use crate::files::disk::{self, Disk};
use crate::index::entry::PayloadForm;
use crate::record::digest::Digest;
use crate::{VolumeError, VolumeId};

const MAGIC: &[u8; 8] = b"aranhaD1";
/// Extension of the files. The name is older than the term "digest segment"; changing it would need a migration.
const EXTENSION: &str = ".run";
/// Size of an entry, and of the file header, in bytes.
const ENTRY_SIZE: usize = 32;
/// Number of entries in a page of the file (4 KiB). A look-up reads one page at a time.
const PAGE_ENTRIES: u64 = 128;

/// Where a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayloadLocation {
    pub(crate) volume: VolumeId,
    pub(crate) offset: u64,
    pub(crate) form: PayloadForm,
}

/// A digest and the location of its payload.
pub(crate) type SegmentEntry = (Digest, PayloadLocation);

/// One digest segment, open for look-ups.
#[derive(Debug)]
pub(crate) struct DigestSegment {
    pub(crate) path: PathBuf,
    /// The first and the last volume that the segment covers. Both are of the same node.
    pub(crate) range: (VolumeId, VolumeId),
    /// Number of times that the entries of the segment have been merged.
    pub(crate) level: u32,
    /// Number of entries.
    pub(crate) count: u64,
    file: File,
    filter: Option<DigestFilter>,
}

impl DigestSegment {
    /// The file name of a segment that covers these volumes.
    pub(crate) fn file_name(range: (VolumeId, VolumeId)) -> String {
        format!("{}-{}{EXTENSION}", range.0, range.1)
    }

    /// The first and the last volume in a file name; `None` when it is not the name of a segment.
    pub(crate) fn range_of(name: &str) -> Option<(VolumeId, VolumeId)> {
        let (first, last) = name.strip_suffix(EXTENSION)?.split_once('-')?;
        let range = (VolumeId::parse(first)?, VolumeId::parse(last)?);
        (range.0.node() == range.1.node()).then_some(range)
    }

    /// Writes a segment. `entries` must be sorted by digest and contain each digest only once.
    pub(crate) fn write(
        disk: &dyn Disk,
        path: &Path,
        level: u32,
        mut entries: impl Iterator<Item = io::Result<SegmentEntry>>,
    ) -> Result<(), VolumeError> {
        disk::write_atomically(disk, path, |output| {
            let mut block = Vec::with_capacity(1 << 20);
            block.extend_from_slice(MAGIC);
            block.extend_from_slice(&level.to_be_bytes());
            block.resize(ENTRY_SIZE, 0);
            loop {
                let entry = entries.next().transpose()?;
                if let Some(entry) = entry {
                    block.extend_from_slice(&encode(entry));
                }
                if entry.is_none() || block.len() + ENTRY_SIZE > block.capacity() {
                    output.append(&block)?;
                    block.clear();
                }
                if entry.is_none() {
                    return Ok(());
                }
            }
        })
    }

    /// Opens a segment, with a filter of at most `filter_memory` bytes.
    pub(crate) fn open(
        path: &Path,
        range: (VolumeId, VolumeId),
        filter_memory: usize,
    ) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut head = [0; ENTRY_SIZE];
        file.read_exact_at(&mut head, 0)?;
        if !head.starts_with(MAGIC) || !length.is_multiple_of(ENTRY_SIZE as u64) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a digest segment",
            ));
        }
        let mut segment = Self {
            path: path.to_path_buf(),
            range,
            level: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
            count: length / ENTRY_SIZE as u64 - 1,
            file,
            filter: None,
        };
        if let Some(mut filter) = DigestFilter::new(segment.count, filter_memory) {
            for entry in segment.entries()? {
                filter.insert(&entry?.0);
            }
            segment.filter = Some(filter);
        }
        Ok(segment)
    }

    /// The node that wrote the volumes.
    pub(crate) fn node(&self) -> u32 {
        self.range.0.node()
    }

    /// Memory use of the filter in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.filter.as_ref().map_or(0, DigestFilter::memory)
    }

    /// All entries in order.
    pub(crate) fn entries(
        &self,
    ) -> io::Result<impl Iterator<Item = io::Result<SegmentEntry>> + use<>> {
        let mut source = BufReader::with_capacity(1 << 16, File::open(&self.path)?);
        source.seek_relative(ENTRY_SIZE as i64)?;
        let (node, mut remaining) = (self.node(), self.count);
        Ok(std::iter::from_fn(move || {
            remaining = remaining.checked_sub(1)?;
            let mut bytes = [0; ENTRY_SIZE];
            Some(source.read_exact(&mut bytes).map(|()| decode(&bytes, node)))
        }))
    }

    /// The location of the payload with this digest.
    pub(crate) fn find(&self, digest: &Digest) -> io::Result<Option<PayloadLocation>> {
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.may_contain(digest))
        {
            return Ok(None);
        }
        let mut page = [0; PAGE_ENTRIES as usize * ENTRY_SIZE];
        // The digest can only be in the entries low..high. `below` and `above` are the first eight bytes of the entries
        // before and after that range.
        let (mut low, mut high) = (0, self.count);
        let (mut below, mut above) = (0, u64::MAX);
        while low < high {
            let guess = low + interpolate(leading(digest), below, above, high - low);
            let first = guess
                .saturating_sub(PAGE_ENTRIES / 2)
                .clamp(low, high.saturating_sub(PAGE_ENTRIES).max(low));
            let entries = PAGE_ENTRIES.min(high - first) as usize;
            let page = &mut page[..entries * ENTRY_SIZE];
            self.file
                .read_exact_at(page, (first + 1) * ENTRY_SIZE as u64)?;
            let (entries, _) = page.as_chunks::<ENTRY_SIZE>();
            match entries.binary_search_by(|entry| entry[..20].cmp(digest)) {
                Ok(found) => return Ok(Some(decode(&entries[found], self.node()).1)),
                Err(0) if first > low => (high, above) = (first, leading(&entries[0])),
                Err(after) if after == entries.len() => {
                    (low, below) = (first + after as u64, leading(&entries[after - 1]));
                }
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Expected index of `key` in `length` entries that are uniformly distributed between `below` and `above`.
fn interpolate(key: u64, below: u64, above: u64, length: u64) -> u64 {
    let span = u128::from(above.saturating_sub(below)).max(1);
    let part = u128::from(key.saturating_sub(below));
    let position = part * u128::from(length) / span;
    (position as u64).min(length - 1)
}

/// The first eight bytes of a digest or an entry as a number.
fn leading(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("the range has eight bytes"))
}

fn encode((digest, location): SegmentEntry) -> [u8; ENTRY_SIZE] {
    let mut bytes = [0; ENTRY_SIZE];
    let offset = location.offset << 1 | u64::from(location.form == PayloadForm::Chunked);
    bytes[..20].copy_from_slice(&digest);
    bytes[20..24].copy_from_slice(&location.volume.counter().to_be_bytes());
    bytes[24..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; ENTRY_SIZE], node: u32) -> SegmentEntry {
    let digest = bytes[..20].try_into().expect("the range has 20 bytes");
    let counter = u32::from_be_bytes(bytes[20..24].try_into().expect("the range has four bytes"));
    let offset = u64::from_be_bytes(bytes[24..].try_into().expect("the range has eight bytes"));
    let form = if offset & 1 == 1 {
        PayloadForm::Chunked
    } else {
        PayloadForm::Plain
    };
    (
        digest,
        PayloadLocation {
            volume: VolumeId::new(node, counter),
            offset: offset >> 1,
            form,
        },
    )
}

/// Merges the entries of several segments. If a digest occurs more than once, the entry of the first segment in the
/// list is kept.
pub(crate) fn merge(
    segments: Vec<impl Iterator<Item = io::Result<SegmentEntry>>>,
) -> impl Iterator<Item = io::Result<SegmentEntry>> {
    let mut segments: Vec<_> = segments.into_iter().map(Iterator::peekable).collect();
    let mut last: Option<Digest> = None;
    std::iter::from_fn(move || {
        loop {
            let head = |segment: &mut std::iter::Peekable<_>| match segment.peek() {
                Some(Ok((digest, _))) => Some(Some(*digest)),
                Some(Err::<SegmentEntry, io::Error>(_)) => Some(None), // sorts before every digest
                None => None,
            };
            let heads = segments
                .iter_mut()
                .enumerate()
                .filter_map(|(index, segment)| Some((head(segment)?, index)));
            let (_, first) = heads.min()?;
            match segments[first].next()? {
                Ok((digest, _)) if last == Some(digest) => {}
                Ok(entry) => {
                    last = Some(entry.0);
                    return Some(Ok(entry));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::LocalDisk;
    use crate::record::digest::sha1;

    fn entries(numbers: impl Iterator<Item = u32>, counter: u32) -> Vec<SegmentEntry> {
        let location = |n: u32| PayloadLocation {
            volume: VolumeId::new(0, counter),
            offset: u64::from(n) * 3,
            form: PayloadForm::Chunked,
        };
        let mut entries: Vec<SegmentEntry> = numbers
            .map(|n| (sha1(&n.to_le_bytes()), location(n)))
            .collect();
        entries.sort_by_key(|entry| entry.0);
        entries
    }

    fn write(path: &Path, entries: &[SegmentEntry], filter_memory: usize) -> DigestSegment {
        DigestSegment::write(&LocalDisk, path, 2, entries.iter().copied().map(Ok)).unwrap();
        let id = VolumeId::new(0, 1);
        DigestSegment::open(path, (id, id), filter_memory).unwrap()
    }

    #[test]
    fn exactly_the_written_digests_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 2, 127, 128, 129, 1000, 50_000] {
            for filter_memory in [0, usize::MAX] {
                let path = folder.path().join("00001-00001.run");
                let segment = write(&path, &entries(0..count, 7), filter_memory);
                assert_eq!((segment.count, segment.level), (u64::from(count), 2));
                for n in (0..count).step_by(count as usize / 500 + 1) {
                    let found = segment.find(&sha1(&n.to_le_bytes())).unwrap().unwrap();
                    assert_eq!(
                        (found.volume, found.offset),
                        (VolumeId::new(0, 7), u64::from(n) * 3)
                    );
                }
                for n in count..count + 300 {
                    assert_eq!(segment.find(&sha1(&n.to_le_bytes())).unwrap(), None);
                }
                assert_eq!(segment.find(&[0; 20]).unwrap(), None);
                assert_eq!(segment.find(&[255; 20]).unwrap(), None);
            }
        }
    }

    #[test]
    fn a_merge_keeps_the_entry_of_the_newer_segment() {
        let folder = tempfile::tempdir().unwrap();
        let newer = write(&folder.path().join("2"), &entries(50..150, 2), 0);
        let older = write(&folder.path().join("1"), &entries(0..100, 1), 0);
        let merged: Vec<SegmentEntry> =
            merge(vec![newer.entries().unwrap(), older.entries().unwrap()])
                .collect::<io::Result<_>>()
                .unwrap();
        let mut expected = entries(50..150, 2);
        expected.extend(entries(0..50, 1));
        expected.sort_by_key(|entry| entry.0);
        assert_eq!(merged, expected);
    }

    #[test]
    fn other_files_are_not_opened_as_segments() {
        let folder = tempfile::tempdir().unwrap();
        let range = (VolumeId::new(0, 1), VolumeId::new(0, 1));
        let path = folder.path().join("x");
        std::fs::write(&path, [7; 64]).unwrap();
        assert!(DigestSegment::open(&path, range, 0).is_err());
        std::fs::write(&path, b"aranhaD1").unwrap();
        assert!(DigestSegment::open(&path, range, 0).is_err());
        let ids = |node| (VolumeId::new(node, 1), VolumeId::new(node, 12));
        for (range, name) in [
            (ids(0), "00001-00012.run"),
            (ids(7), "n7.00001-n7.00012.run"),
        ] {
            assert_eq!(DigestSegment::file_name(range), name);
            assert_eq!(DigestSegment::range_of(name), Some(range));
        }
        assert_eq!(DigestSegment::range_of("00001-n7.00012.run"), None);
        assert_eq!(DigestSegment::range_of("00001-00012.run.partial"), None);
    }
}
