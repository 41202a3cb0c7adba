//! A run: a sorted, immutable file of digests, each with the place of the payload that has it.
//!
//! ```text
//! offset  bytes
//!      0      8  "aranhaD1"
//!      8      4  level, big endian: how many times its entries have been merged
//!     12     20  zero
//!     32     32  entry: SHA-1 of the payload (20), counter of the volume (4), offset << 1 | chunked (8), big endian; sorted
//!     64         …
//! ```
//!
//! `indexes/duplicates/FIRST-LAST.run` covers the volumes with these identifiers, all of one node, which stands in the name only. A run whose range lies in that of
//! another was merged into it, and is removed at the next start. Look-ups pass the filter first, then find their page
//! by interpolation, since digests are uniform (docs/decisions/0004).

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
const SIZE: usize = 32;
/// Entries read at once: 4 KiB.
const PAGE: u64 = 128;

/// Where a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayloadLocation {
    pub(crate) volume: VolumeId,
    pub(crate) offset: u64,
    pub(crate) form: PayloadForm,
}

/// A digest and its place.
pub(crate) type SegmentEntry = (Digest, PayloadLocation);

/// One run, open for look-ups.
#[derive(Debug)]
pub(crate) struct DigestSegment {
    pub(crate) path: PathBuf,
    /// The first and the last volume covered, both of one node.
    pub(crate) range: (VolumeId, VolumeId),
    pub(crate) level: u32,
    pub(crate) count: u64,
    file: File,
    filter: Option<DigestFilter>,
}

impl DigestSegment {
    /// The name of a run that covers these volumes.
    pub(crate) fn file_name(range: (VolumeId, VolumeId)) -> String {
        format!("{}-{}.run", range.0, range.1)
    }

    /// The volumes that a file of this name covers; none when it is no run.
    pub(crate) fn range_of(name: &str) -> Option<(VolumeId, VolumeId)> {
        let (first, last) = name.strip_suffix(".run")?.split_once('-')?;
        let range = (VolumeId::parse(first)?, VolumeId::parse(last)?);
        (range.0.node() == range.1.node()).then_some(range)
    }

    /// Writes a run; `pairs` come sorted, each digest once.
    pub(crate) fn write(
        disk: &dyn Disk,
        path: &Path,
        level: u32,
        mut pairs: impl Iterator<Item = io::Result<SegmentEntry>>,
    ) -> Result<(), VolumeError> {
        disk::replace(disk, path, |output| {
            let mut block = Vec::with_capacity(1 << 20);
            block.extend_from_slice(MAGIC);
            block.extend_from_slice(&level.to_be_bytes());
            block.resize(SIZE, 0);
            loop {
                let pair = pairs.next().transpose()?;
                if let Some(pair) = pair {
                    block.extend_from_slice(&encode(pair));
                }
                if pair.is_none() || block.len() + SIZE > block.capacity() {
                    output.append(&block)?;
                    block.clear();
                }
                if pair.is_none() {
                    return Ok(());
                }
            }
        })
    }

    /// Opens a run, with a filter of at most `room` bytes.
    pub(crate) fn open(path: &Path, range: (VolumeId, VolumeId), room: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut head = [0; SIZE];
        file.read_exact_at(&mut head, 0)?;
        if !head.starts_with(MAGIC) || !length.is_multiple_of(SIZE as u64) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a run of digests",
            ));
        }
        let mut run = Self {
            path: path.to_path_buf(),
            range,
            level: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
            count: length / SIZE as u64 - 1,
            file,
            filter: None,
        };
        if let Some(mut filter) = DigestFilter::new(run.count, room) {
            for pair in run.pairs()? {
                filter.insert(&pair?.0);
            }
            run.filter = Some(filter);
        }
        Ok(run)
    }

    /// The node that wrote all volumes covered.
    pub(crate) fn node(&self) -> u32 {
        self.range.0.node()
    }

    /// Memory that the filter takes.
    pub(crate) fn memory(&self) -> usize {
        self.filter.as_ref().map_or(0, DigestFilter::size)
    }

    /// All pairs in order.
    pub(crate) fn pairs(
        &self,
    ) -> io::Result<impl Iterator<Item = io::Result<SegmentEntry>> + use<>> {
        let mut source = BufReader::with_capacity(1 << 16, File::open(&self.path)?);
        source.seek_relative(SIZE as i64)?;
        let (node, mut left) = (self.node(), self.count);
        Ok(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let mut bytes = [0; SIZE];
            Some(source.read_exact(&mut bytes).map(|()| decode(&bytes, node)))
        }))
    }

    /// The place of a digest.
    pub(crate) fn find(&self, digest: &Digest) -> io::Result<Option<PayloadLocation>> {
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.may_hold(digest))
        {
            return Ok(None);
        }
        let mut page = [0; PAGE as usize * SIZE];
        // The digest lies in low..high, whose first and last neighbours begin like `below` and `above`.
        let (mut low, mut high) = (0, self.count);
        let (mut below, mut above) = (0, u64::MAX);
        while low < high {
            let guess = low + interpolate(leading(digest), below, above, high - low);
            let first = guess
                .saturating_sub(PAGE / 2)
                .clamp(low, high.saturating_sub(PAGE).max(low));
            let entries = PAGE.min(high - first) as usize;
            let page = &mut page[..entries * SIZE];
            self.file.read_exact_at(page, (first + 1) * SIZE as u64)?;
            let (entries, _) = page.as_chunks::<SIZE>();
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

/// How far into a range of `length` entries a key should lie that is between `below` and `above`; less than `length`.
fn interpolate(key: u64, below: u64, above: u64, length: u64) -> u64 {
    let span = u128::from(above.saturating_sub(below)).max(1);
    let part = u128::from(key.saturating_sub(below));
    let position = part * u128::from(length) / span;
    (position as u64).min(length - 1)
}

/// The first eight bytes of a digest, or of an entry, as a number.
fn leading(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"))
}

fn encode((digest, place): SegmentEntry) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let offset = place.offset << 1 | u64::from(place.form == PayloadForm::Chunked);
    bytes[..20].copy_from_slice(&digest);
    bytes[20..24].copy_from_slice(&place.volume.counter().to_be_bytes());
    bytes[24..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; SIZE], node: u32) -> SegmentEntry {
    let digest = bytes[..20].try_into().expect("twenty bytes");
    let counter = u32::from_be_bytes(bytes[20..24].try_into().expect("four bytes"));
    let offset = u64::from_be_bytes(bytes[24..].try_into().expect("eight bytes"));
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

/// The pairs of several runs in order; of pairs with one digest, the one from the run that comes first in the list.
pub(crate) fn merge(
    runs: Vec<impl Iterator<Item = io::Result<SegmentEntry>>>,
) -> impl Iterator<Item = io::Result<SegmentEntry>> {
    let mut runs: Vec<_> = runs.into_iter().map(Iterator::peekable).collect();
    let mut last: Option<Digest> = None;
    std::iter::from_fn(move || {
        loop {
            let head = |run: &mut std::iter::Peekable<_>| match run.peek() {
                Some(Ok((digest, _))) => Some(Some(*digest)),
                Some(Err::<SegmentEntry, io::Error>(_)) => Some(None), // a failed read comes first
                None => None,
            };
            let heads = runs
                .iter_mut()
                .enumerate()
                .filter_map(|(at, run)| Some((head(run)?, at)));
            let (_, at) = heads.min()?;
            match runs[at].next()? {
                Ok((digest, _)) if last == Some(digest) => {}
                Ok(pair) => {
                    last = Some(pair.0);
                    return Some(Ok(pair));
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

    fn pairs(numbers: impl Iterator<Item = u32>, counter: u32) -> Vec<SegmentEntry> {
        let place = |n: u32| PayloadLocation {
            volume: VolumeId::new(0, counter),
            offset: u64::from(n) * 3,
            form: PayloadForm::Chunked,
        };
        let mut pairs: Vec<SegmentEntry> = numbers
            .map(|n| (sha1(&n.to_le_bytes()), place(n)))
            .collect();
        pairs.sort_by_key(|pair| pair.0);
        pairs
    }

    fn write(path: &Path, pairs: &[SegmentEntry], room: usize) -> DigestSegment {
        DigestSegment::write(&LocalDisk, path, 2, pairs.iter().copied().map(Ok)).unwrap();
        let id = VolumeId::new(0, 1);
        DigestSegment::open(path, (id, id), room).unwrap()
    }

    #[test]
    fn every_digest_is_found_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 2, 127, 128, 129, 1000, 50_000] {
            for room in [0, usize::MAX] {
                let path = folder.path().join("00001-00001.run");
                let run = write(&path, &pairs(0..count, 7), room);
                assert_eq!((run.count, run.level), (u64::from(count), 2));
                for n in (0..count).step_by(count as usize / 500 + 1) {
                    let found = run.find(&sha1(&n.to_le_bytes())).unwrap().unwrap();
                    assert_eq!(
                        (found.volume, found.offset),
                        (VolumeId::new(0, 7), u64::from(n) * 3)
                    );
                }
                for n in count..count + 300 {
                    assert_eq!(run.find(&sha1(&n.to_le_bytes())).unwrap(), None);
                }
                assert_eq!(run.find(&[0; 20]).unwrap(), None);
                assert_eq!(run.find(&[255; 20]).unwrap(), None);
            }
        }
    }

    #[test]
    fn merged_runs_keep_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let newer = write(&folder.path().join("2"), &pairs(50..150, 2), 0);
        let older = write(&folder.path().join("1"), &pairs(0..100, 1), 0);
        let merged: Vec<SegmentEntry> = merge(vec![newer.pairs().unwrap(), older.pairs().unwrap()])
            .collect::<io::Result<_>>()
            .unwrap();
        let mut expected = pairs(50..150, 2);
        expected.extend(pairs(0..50, 1));
        expected.sort_by_key(|pair| pair.0);
        assert_eq!(merged, expected);
    }

    #[test]
    fn a_file_that_is_no_run_is_refused() {
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
