//! The duplicate index: which payloads are stored already, and where (D1, S4; docs/decisions/0004).
//!
//! Two parts. *Recent*: the payloads of volumes that are not closed yet, in memory; lost in a crash, and had again by
//! reading the volume. *Runs*: those of closed volumes, one sorted file a volume, eight of a level merged into one.
//!
//! What always holds:
//! - [`DuplicateIndex::claim`] decides and numbers under one lock, and the writer writes in the order of the numbers.
//!   A reference therefore lies behind its original in the same volume, or its original's volume was durable
//!   before the reference's was begun. No crash can leave a reference alone.
//! - What a run says is believed only when the record is there, with the digest: a volume that was moved away
//!   costs a second copy of its payloads, nothing else.
//! - A chunked original is replaced in the index when the payload comes plain, so at most two copies are stored.

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

/// This many runs of one level are merged into one of the next.
const FAN: usize = 8;

/// The payloads stored so far.
#[derive(Debug)]
pub(crate) struct DuplicateIndex {
    folder: PathBuf,
    pub(crate) volumes: VolumeFolder,
    enabled: bool,
    /// For all filters together.
    memory: usize,
    /// A std mutex: held for a hash look-up, never across an await or a read.
    recent: Mutex<RecentPayloads>,
    /// Newest first.
    runs: RwLock<Vec<Arc<DigestSegment>>>,
}

#[derive(Debug, Default)]
struct RecentPayloads {
    next_ticket: u64,
    originals: HashMap<Digest, Arc<Original>>,
}

/// What [`DuplicateIndex::claim`] decided.
#[derive(Debug)]
pub(crate) struct PayloadClaim {
    /// The place in the order of writing.
    pub(crate) ticket: u64,
    /// The record to refer to; none when the payload has to be stored.
    pub(crate) original: Option<Arc<Original>>,
}

impl DuplicateIndex {
    /// Opens the runs under `folder`. A run that cannot be read is left out and left alone.
    pub(crate) fn open(
        folder: &Path,
        archive: &Path,
        enabled: bool,
        memory: usize,
    ) -> Result<Self, VolumeError> {
        let duplicates = Self {
            folder: folder.to_path_buf(),
            volumes: VolumeFolder::new(archive),
            enabled,
            memory,
            recent: Mutex::default(),
            runs: RwLock::default(),
        };
        if enabled {
            std::fs::create_dir_all(folder)
                .map_err(|source| VolumeError::from_io(folder, source))?;
            duplicates.load()?;
        }
        Ok(duplicates)
    }

    /// Opens all runs, newest first; removes those that were merged into others.
    fn load(&self) -> Result<(), VolumeError> {
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
        // The widest of those that begin together comes first, then all that it covers.
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
            self.register(&path, range);
        }
        Ok(())
    }

    /// Puts a run in front. The newest runs get memory for their filters first come, first served.
    fn register(&self, path: &Path, range: (VolumeId, VolumeId)) {
        let taken: usize = self.runs().iter().map(|run| run.memory()).sum();
        match DigestSegment::open(path, range, self.memory.saturating_sub(taken)) {
            Ok(run) => self
                .runs
                .write()
                .expect("no panic while held")
                .insert(0, Arc::new(run)),
            Err(error) => tracing::warn!("{}: left out: {error}", path.display()),
        }
    }

    fn runs(&self) -> Vec<Arc<DigestSegment>> {
        self.runs.read().expect("no panic while held").clone()
    }

    /// A place in the order of writing for an exchange that takes no part in the search.
    pub(crate) fn ticket(&self) -> u64 {
        self.lock().ticket()
    }

    /// Whether claims are worth making.
    pub(crate) fn enabled(&self) -> bool {
        self.enabled
    }

    /// Finds the payload, or makes `candidate` the one that later duplicates refer to; gives the ticket in any case.
    pub(crate) fn claim(
        &self,
        key: Digest,
        candidate: &Arc<Original>,
        payload: &[u8],
    ) -> PayloadClaim {
        let form = candidate.form;
        if let Some(claim) = self.lock().claim(key, form, payload) {
            return claim;
        }
        // Not under the lock: this may read the disk.
        let stored = self
            .find_stored(&key)
            .filter(|original| may_refer(form, original.form, payload));
        let mut recent = self.lock();
        // Another thread may have claimed the same payload in the meantime: look again.
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
            ticket: recent.ticket(),
            original: stored,
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecentPayloads> {
        self.recent.lock().expect("no panic while held")
    }

    /// The original in a closed volume, when it is really there.
    fn find_stored(&self, key: &Digest) -> Option<Arc<Original>> {
        let runs = self.runs.read().expect("no panic while held");
        let place = runs.iter().find_map(|run| run.find(key).ok().flatten())?;
        drop(runs);
        Original::of_payload(&self.volumes, place, key).map(Arc::new)
    }

    /// Takes over a closed volume: its payloads leave the memory for a run; runs are merged when there are many.
    pub(crate) fn finish(
        &self,
        disk: &dyn Disk,
        volume: VolumeId,
        entries: &[IndexEntry],
    ) -> Result<(), VolumeError> {
        if !self.enabled {
            return Ok(());
        }
        let mut pairs: Vec<segment::SegmentEntry> = entries
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
        // Of one digest the plain form, else the last: it is the one that the memory refers to.
        pairs.sort_by_key(|(digest, place)| {
            (
                *digest,
                place.form == PayloadForm::Chunked,
                Reverse(place.offset),
            )
        });
        pairs.dedup_by_key(|pair| pair.0);
        let range = (volume, volume);
        let path = self.folder.join(DigestSegment::file_name(range));
        DigestSegment::write(disk, &path, 0, pairs.iter().copied().map(Ok))?;
        self.register(&path, range);
        self.forget(volume, &pairs);
        self.merge(disk)
    }

    fn forget(&self, volume: VolumeId, pairs: &[segment::SegmentEntry]) {
        let mut recent = self.lock();
        for (digest, _) in pairs {
            let here = |original: &Arc<Original>| {
                original.place.get().is_some_and(|(of, _)| *of == volume)
            };
            if recent.originals.get(digest).is_some_and(here) {
                recent.originals.remove(digest);
            }
        }
        if recent.originals.is_empty() {
            recent.originals.shrink_to_fit();
        }
    }

    /// Merges the newest runs while [`FAN`] of one level lie side by side. Look-ups go on in the meantime.
    fn merge(&self, disk: &dyn Disk) -> Result<(), VolumeError> {
        loop {
            let runs = self.runs();
            let Some(newest) = runs.first() else {
                return Ok(());
            };
            let level = newest.level;
            let fits = |run: &Arc<DigestSegment>| run.level == level && run.node() == newest.node();
            if runs.len() < FAN || !runs[..FAN].iter().all(fits) {
                return Ok(());
            }
            let parts = &runs[..FAN];
            let range = (parts[FAN - 1].range.0, parts[0].range.1);
            let path = self.folder.join(DigestSegment::file_name(range));
            let sources = parts
                .iter()
                .map(|run| run.pairs())
                .collect::<Result<Vec<_>, _>>();
            let sources = sources.map_err(|source| VolumeError::from_io(&path, source))?;
            DigestSegment::write(disk, &path, level + 1, segment::merge(sources))?;
            self.runs.write().expect("no panic while held").drain(..FAN);
            self.register(&path, range);
            for part in parts {
                let _ = std::fs::remove_file(&part.path); // else at the next start
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
            ticket: self.ticket(),
            original,
        })
    }

    fn ticket(&mut self) -> u64 {
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
            .runs()
            .iter()
            .find_map(|run| run.find(&key).unwrap())
    }

    #[test]
    fn runs_merge_and_come_back() {
        let folder = folder();
        let open = || {
            DuplicateIndex::open(&folder.path().join("d"), folder.path(), true, 1 << 20).unwrap()
        };
        let duplicates = open();
        for counter in 1..=70 {
            duplicates
                .finish(
                    &LocalDisk,
                    VolumeId::new(0, counter),
                    &entries(counter * 10..counter * 10 + 15),
                )
                .unwrap();
        }
        for duplicates in [duplicates, open()] {
            let levels: Vec<u32> = duplicates.runs().iter().map(|run| run.level).collect();
            assert_eq!(levels, [0, 0, 0, 0, 0, 0, 2]);
            for n in 10..715 {
                let place = find(&duplicates, n).unwrap();
                assert_eq!(place.offset, u64::from(n));
                // The newer of two volumes that hold it.
                assert_eq!(place.volume, VolumeId::new(0, (n / 10).min(70)));
            }
            assert_eq!(find(&duplicates, 9), None);
        }
        assert_eq!(
            std::fs::read_dir(folder.path().join("d")).unwrap().count(),
            7
        );
    }

    #[test]
    fn runs_of_different_nodes_are_not_merged() {
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
                    .finish(&LocalDisk, volume, &entries(first..first + 1))
                    .unwrap();
            }
        }
        for duplicates in [duplicates, open()] {
            let levels: Vec<(u32, u32)> = duplicates
                .runs()
                .iter()
                .map(|run| (run.node(), run.level))
                .collect();
            let old = [(0, 0); 5];
            assert_eq!(levels, [&[(7, 0), (7, 1)], &old[..]].concat());
            for (n, volume) in [(5, VolumeId::new(0, 5)), (703, VolumeId::new(7, 3))] {
                assert_eq!(find(&duplicates, n).unwrap().volume, volume);
            }
        }
    }

    #[test]
    fn runs_that_were_merged_are_removed_at_the_next_start() {
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
        let ranges: Vec<_> = duplicates.runs().iter().map(|run| run.range).collect();
        let ids = |first, last| (VolumeId::new(0, first), VolumeId::new(0, last));
        assert_eq!(ranges, [ids(9, 9), ids(1, 8)]);
        assert!(!path("00001-00001.run").exists() && !path("00008-00008.run").exists());
    }

    #[test]
    fn the_first_claim_stores_and_the_second_refers() {
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
                place: OnceLock::new(),
            })
        };
        let claim = |form| {
            let claim = duplicates.claim([1; 20], &candidate(form), b"<html>");
            let id = |original: Arc<Original>| match &original.name {
                OriginalName::Read { id, .. } => id.clone(),
                OriginalName::Written { .. } => unreachable!("all were read"),
            };
            (claim.ticket, claim.original.map(id))
        };
        assert_eq!(claim(PayloadForm::Chunked), (0, None));
        assert_eq!(claim(PayloadForm::Chunked), (1, Some("Chunked".to_owned())));
        // Chunks cannot stand in for a plain body: stored again, and referred to from now on.
        assert_eq!(claim(PayloadForm::Plain), (2, None));
        assert_eq!(claim(PayloadForm::Chunked), (3, Some("Plain".to_owned())));
        assert_eq!(claim(PayloadForm::Plain), (4, Some("Plain".to_owned())));
        assert_eq!(duplicates.ticket(), 5);
    }
}
