//! The duplicate index: the digests of all stored payloads, and the locations of the payloads (D1, S4;
//! docs/decisions/0004-duplicate-index.md).
//!
//! It has two parts:
//! - *Recent payloads*, in memory: the entries for volumes that are not finished yet. After a crash, the repair
//!   rebuilds these entries from the volume.
//! - *Digest segments*, on disk: the entries for finished volumes. Each volume gives one sorted file ([`segment`]), and
//!   eight files of one level are merged into one file of the next level.
//!
//! Invariants:
//! - [`DuplicateIndex::claim`] looks up a payload and assigns a ticket under one lock. The ticket is the position of
//!   the record in the order of writing, which the writer keeps. Therefore an original comes before its revisit records
//!   in the same volume, or is in a volume that was durable before the volume of the revisit record was created. No
//!   crash leaves a revisit record without its original.
//! - An entry of a segment is used only if a record with that digest is found at its location. So if a volume was moved
//!   away, the only effect is that its payloads may be stored a second time.
//! - If the original is chunked and its payload is stored again without chunks, the new record replaces the original in
//!   the index. At most two copies of a payload are stored.

mod filter;
pub(crate) mod segment;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use self::segment::{DigestSegment, PayloadLocation};
use crate::files::disk::Disk;
use crate::files::volumes::VolumeFolder;
use crate::index::entry::{IndexEntry, PayloadForm};
use crate::record::digest::Digest;
use crate::record::payload::may_refer;
use crate::record::revisit::Original;
use crate::{VolumeError, VolumeId};

/// Number of segments of one level that are merged into one segment of the next level.
const MERGE_FACTOR: usize = 8;

/// Finds payloads that are already stored.
#[derive(Debug)]
pub(crate) struct DuplicateIndex {
    folder: PathBuf,
    pub(crate) volumes: VolumeFolder,
    enabled: bool,
    /// Maximum size of all filters together, in bytes.
    max_memory: usize,
    /// A mutex of the standard library suffices, because it is held only for a hash look-up and never while the disk is
    /// read.
    recent: Mutex<RecentPayloads>,
    /// The digest segments, newest first.
    segments: RwLock<Vec<Arc<DigestSegment>>>,
}

/// The originals of volumes that are not finished yet, by digest.
#[derive(Debug, Default)]
struct RecentPayloads {
    next_ticket: u64,
    originals: HashMap<Digest, Arc<Original>>,
}

/// Result of [`DuplicateIndex::claim`].
#[derive(Debug)]
pub(crate) struct PayloadClaim {
    /// Position in the order of writing.
    pub(crate) ticket: u64,
    /// The record to which a revisit record should refer; `None` if the payload must be stored.
    pub(crate) original: Option<Arc<Original>>,
}

impl DuplicateIndex {
    /// Opens the segments under `folder`. A segment that cannot be read is ignored with a warning.
    pub(crate) fn open(
        folder: &Path,
        archive: &Path,
        enabled: bool,
        max_memory: usize,
    ) -> Result<Self, VolumeError> {
        let duplicates = Self {
            folder: folder.to_path_buf(),
            volumes: VolumeFolder::new(archive),
            enabled,
            max_memory,
            recent: Mutex::default(),
            segments: RwLock::default(),
        };
        if enabled {
            std::fs::create_dir_all(folder)
                .map_err(|source| VolumeError::from_io(folder, source))?;
            duplicates.open_segments()?;
        }
        Ok(duplicates)
    }

    /// Opens all segments, and removes the files of segments that were merged into others.
    fn open_segments(&self) -> Result<(), VolumeError> {
        let fault = |source| VolumeError::from_io(&self.folder, source);
        let mut ranges = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            ranges.extend(DigestSegment::range_of(&name).map(|range| (range, path)));
        }
        // Segments are sorted by first volume, and those with the same first volume by length, longest first. So a
        // segment comes before the segments that it covers.
        ranges.sort_by_key(|((first, last), _)| (*first, Reverse(*last)));
        let mut end = None;
        ranges.retain(|((_, last), path)| {
            let covered = end.is_some_and(|end| *last <= end);
            if covered {
                let _ = std::fs::remove_file(path);
            } else {
                end = Some(*last);
            }
            !covered
        });
        for (range, path) in ranges {
            self.add_segment(&path, range);
        }
        Ok(())
    }

    /// Adds the newest segment. Its filter may use the memory that the filters of the other segments do not use.
    fn add_segment(&self, path: &Path, range: (VolumeId, VolumeId)) {
        let used: usize = self.segments().iter().map(|segment| segment.memory()).sum();
        match DigestSegment::open(path, range, self.max_memory.saturating_sub(used)) {
            Ok(segment) => self
                .segments
                .write()
                .expect("lock is not poisoned")
                .insert(0, Arc::new(segment)),
            Err(error) => tracing::warn!("{}: digest segment ignored: {error}", path.display()),
        }
    }

    fn segments(&self) -> Vec<Arc<DigestSegment>> {
        self.segments.read().expect("lock is not poisoned").clone()
    }

    /// The next position in the order of writing, for an exchange without duplicate detection.
    pub(crate) fn take_ticket(&self) -> u64 {
        self.recent().take_ticket()
    }

    /// Whether duplicates are detected at all ([`crate::Options::dedupe`]).
    pub(crate) fn enabled(&self) -> bool {
        self.enabled
    }

    /// Finds the original of a payload. If there is none, `candidate` becomes the original for later duplicates. A
    /// ticket is taken in both cases.
    pub(crate) fn claim(
        &self,
        key: Digest,
        candidate: &Arc<Original>,
        payload: &[u8],
    ) -> PayloadClaim {
        let form = candidate.form;
        if let Some(claim) = self.recent().claim(key, form, payload) {
            return claim;
        }
        // The lock is not held here, because `find_stored` may read the disk.
        let stored = self
            .find_stored(&key)
            .filter(|original| may_refer(form, original.form, payload));
        let mut recent = self.recent();
        // Another thread may have claimed the same payload in the meantime.
        if let Some(claim) = recent.claim(key, form, payload) {
            return claim;
        }
        if stored.is_none() {
            let original = recent
                .originals
                .entry(key)
                .or_insert_with(|| candidate.clone());
            if form == PayloadForm::Plain {
                *original = candidate.clone();
            }
        }
        PayloadClaim {
            ticket: recent.take_ticket(),
            original: stored,
        }
    }

    fn recent(&self) -> MutexGuard<'_, RecentPayloads> {
        self.recent.lock().expect("lock is not poisoned")
    }

    /// The original in a finished volume, if its record can be read.
    fn find_stored(&self, key: &Digest) -> Option<Arc<Original>> {
        let segments = self.segments.read().expect("lock is not poisoned");
        let location = segments
            .iter()
            .find_map(|segment| segment.find(key).ok().flatten())?;
        drop(segments);
        Original::of_payload(&self.volumes, location, key).map(Arc::new)
    }

    /// Writes the segment of a full volume, removes its payloads from memory, and merges segments if there are enough.
    pub(crate) fn add_volume(
        &self,
        disk: &dyn Disk,
        volume: VolumeId,
        entries: &[IndexEntry],
    ) -> Result<(), VolumeError> {
        if !self.enabled {
            return Ok(());
        }
        let mut segment_entries: Vec<segment::SegmentEntry> = entries
            .iter()
            .filter_map(|entry| {
                let (digest, form) = entry.original?;
                Some((
                    digest,
                    PayloadLocation {
                        volume,
                        offset: entry.offset,
                        form,
                    },
                ))
            })
            .collect();
        // The segment gets one entry per digest. As in memory, an entry in plain form is preferred. Among entries of
        // the same form, the last one is kept.
        segment_entries.sort_by_key(|(digest, location)| {
            (
                *digest,
                location.form == PayloadForm::Chunked,
                Reverse(location.offset),
            )
        });
        segment_entries.dedup_by_key(|entry| entry.0);
        let range = (volume, volume);
        let path = self.folder.join(DigestSegment::file_name(range));
        DigestSegment::write(disk, &path, 0, segment_entries.iter().copied().map(Ok))?;
        self.add_segment(&path, range);
        self.remove_recent(volume, &segment_entries);
        self.merge_segments(disk)
    }

    /// Removes the originals of a volume from memory.
    fn remove_recent(&self, volume: VolumeId, entries: &[segment::SegmentEntry]) {
        let mut recent = self.recent();
        for (digest, _) in entries {
            let is_in_volume = |original: &Arc<Original>| {
                let position = original.position.get();
                position.is_some_and(|(id, _)| *id == volume)
            };
            if recent.originals.get(digest).is_some_and(is_in_volume) {
                recent.originals.remove(digest);
            }
        }
        if recent.originals.is_empty() {
            recent.originals.shrink_to_fit();
        }
    }

    /// Merges the newest segments while [`MERGE_FACTOR`] of them have the same level and node. Look-ups continue during
    /// the merge.
    fn merge_segments(&self, disk: &dyn Disk) -> Result<(), VolumeError> {
        loop {
            let segments = self.segments();
            let Some(newest) = segments.first() else {
                return Ok(());
            };
            let level = newest.level;
            let can_merge = |segment: &Arc<DigestSegment>| {
                segment.level == level && segment.node() == newest.node()
            };
            if segments.len() < MERGE_FACTOR || !segments[..MERGE_FACTOR].iter().all(can_merge) {
                return Ok(());
            }
            let parts = &segments[..MERGE_FACTOR];
            let range = (parts[MERGE_FACTOR - 1].range.0, parts[0].range.1);
            let path = self.folder.join(DigestSegment::file_name(range));
            let sources = parts
                .iter()
                .map(|segment| segment.entries())
                .collect::<Result<Vec<_>, _>>();
            let sources = sources.map_err(|source| VolumeError::from_io(&path, source))?;
            DigestSegment::write(disk, &path, level + 1, segment::merge(sources))?;
            self.segments
                .write()
                .expect("lock is not poisoned")
                .drain(..MERGE_FACTOR);
            self.add_segment(&path, range);
            for part in parts {
                let _ = std::fs::remove_file(&part.path); // if this fails, the file is removed at the next start
            }
        }
    }
}

impl RecentPayloads {
    fn claim(&mut self, key: Digest, form: PayloadForm, payload: &[u8]) -> Option<PayloadClaim> {
        let original = self.originals.get(&key)?;
        if !may_refer(form, original.form, payload) {
            return None;
        }
        let original = Some(original.clone());
        Some(PayloadClaim {
            ticket: self.take_ticket(),
            original,
        })
    }

    fn take_ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket - 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::files::disk::LocalDisk;
    use crate::record::digest;
    use crate::record::revisit::OriginalName;
    use crate::tests::sample::folder;

    fn entries(numbers: std::ops::Range<u32>) -> Vec<IndexEntry> {
        let entry = |n: u32| IndexEntry {
            languages: "".into(),
            url: "http://a/".into(),
            time_ms: 0,
            media_type: "".into(),
            status: None,
            digest: None,
            revisit: false,
            offset: u64::from(n),
            length: 1,
            original: Some((digest::sha1(&n.to_le_bytes()), PayloadForm::Plain)),
        };
        numbers.map(entry).collect()
    }

    fn find(duplicates: &DuplicateIndex, n: u32) -> Option<PayloadLocation> {
        let key = digest::sha1(&n.to_le_bytes());
        duplicates
            .segments()
            .iter()
            .find_map(|segment| segment.find(&key).unwrap())
    }

    #[test]
    fn segments_are_merged_and_opened_again() {
        let folder = folder();
        let open = || {
            DuplicateIndex::open(&folder.path().join("d"), folder.path(), true, 1 << 20).unwrap()
        };
        let duplicates = open();
        for counter in 1..=70 {
            duplicates
                .add_volume(
                    &LocalDisk,
                    VolumeId::new(0, counter),
                    &entries(counter * 10..counter * 10 + 15),
                )
                .unwrap();
        }
        for duplicates in [duplicates, open()] {
            let segments = duplicates.segments();
            let levels: Vec<u32> = segments.iter().map(|segment| segment.level).collect();
            assert_eq!(levels, [0, 0, 0, 0, 0, 0, 2]);
            for n in 10..715 {
                let location = find(&duplicates, n).unwrap();
                assert_eq!(location.offset, u64::from(n));
                // If two volumes contain the digest, the newer one is found.
                assert_eq!(location.volume, VolumeId::new(0, (n / 10).min(70)));
            }
            assert_eq!(find(&duplicates, 9), None);
        }
        assert_eq!(
            std::fs::read_dir(folder.path().join("d")).unwrap().count(),
            7
        );
    }

    #[test]
    fn segments_of_different_nodes_are_not_merged() {
        let folder = folder();
        let open = || {
            DuplicateIndex::open(&folder.path().join("d"), folder.path(), true, 1 << 20).unwrap()
        };
        let duplicates = open();
        for (node, counters) in [(0, 1..=5), (7, 1..=9)] {
            for n in counters {
                let volume = VolumeId::new(node, n);
                let first = 100 * node + n;
                duplicates
                    .add_volume(&LocalDisk, volume, &entries(first..first + 1))
                    .unwrap();
            }
        }
        for duplicates in [duplicates, open()] {
            let levels: Vec<(u32, u32)> = duplicates
                .segments()
                .iter()
                .map(|segment| (segment.node(), segment.level))
                .collect();
            let old = [(0, 0); 5];
            assert_eq!(levels, [&[(7, 0), (7, 1)], &old[..]].concat());
            for (n, volume) in [(5, VolumeId::new(0, 5)), (703, VolumeId::new(7, 3))] {
                assert_eq!(find(&duplicates, n).unwrap().volume, volume);
            }
        }
    }

    #[test]
    fn segments_that_were_merged_are_removed_at_the_next_start() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        for name in [
            "00001-00001.run",
            "00008-00008.run",
            "00001-00008.run",
            "00009-00009.run",
        ] {
            DigestSegment::write(&LocalDisk, &path(name), 0, std::iter::empty()).unwrap();
        }
        let duplicates = DuplicateIndex::open(folder.path(), folder.path(), true, 0).unwrap();
        let segments = duplicates.segments();
        let ranges: Vec<_> = segments.iter().map(|segment| segment.range).collect();
        let ids = |first, last| (VolumeId::new(0, first), VolumeId::new(0, last));
        assert_eq!(ranges, [ids(9, 9), ids(1, 8)]);
        assert!(!path("00001-00001.run").exists() && !path("00008-00008.run").exists());
    }

    #[test]
    fn the_first_claim_stores_and_later_claims_refer_to_it() {
        let folder = folder();
        let duplicates =
            DuplicateIndex::open(&folder.path().join("d"), folder.path(), true, 0).unwrap();
        let candidate = |form| {
            Arc::new(Original {
                name: OriginalName::Read {
                    id: format!("{form:?}"),
                    date: String::new(),
                },
                url: "http://a/".into(),
                digest: [0; 20],
                form,
                position: OnceLock::new(),
            })
        };
        let claim = |form| {
            let claim = duplicates.claim([1; 20], &candidate(form), b"<html>");
            let id = |original: Arc<Original>| match &original.name {
                OriginalName::Read { id, .. } => id.clone(),
                OriginalName::Written { .. } => unreachable!("every candidate is `Read`"),
            };
            (claim.ticket, claim.original.map(id))
        };
        assert_eq!(claim(PayloadForm::Chunked), (0, None));
        assert_eq!(claim(PayloadForm::Chunked), (1, Some("Chunked".to_owned())));
        // A plain response cannot refer to a chunked body. It is stored, and replaces the chunked original.
        assert_eq!(claim(PayloadForm::Plain), (2, None));
        assert_eq!(claim(PayloadForm::Chunked), (3, Some("Plain".to_owned())));
        assert_eq!(claim(PayloadForm::Plain), (4, Some("Plain".to_owned())));
        assert_eq!(duplicates.take_ticket(), 5);
    }
}
