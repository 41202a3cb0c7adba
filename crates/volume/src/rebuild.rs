//! Rebuilds what can be derived from the volumes: their indexes and the digest segments, for `aranha check --repair`.
//!
//! Volumes themselves are never changed. After a damaged record, reading continues at the next complete record.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;

use crate::compress::Compression;
use crate::compress::members::MemberReader;
use crate::duplicates::DuplicateIndex;
use crate::files::disk::LocalDisk;
use crate::files::volumes::{self, Volume};
use crate::index::entry::{self, IndexEntry};
use crate::index::lookup;
use crate::record::parsed::WarcRecord;
use crate::repair::begins_like_a_record;
use crate::s3::client::is_read_error;
use crate::s3::range::VolumeFile;
use crate::write::finish::{Finisher, WrittenVolume};
use crate::{Options, VolumeError};

/// Number of bytes that the search for a complete record reads at once.
const SEARCH_BLOCK: usize = 1 << 20;

/// Files of an archive that are missing, according to the names of the other files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingFiles {
    /// Indexes of closed volumes.
    pub indexes: Vec<PathBuf>,
    /// Indexes whose volume is missing.
    pub without_volume: Vec<PathBuf>,
}

/// Finds missing indexes and volumes. Reads only the names of the files.
pub fn missing_files(dir: &Path) -> Result<MissingFiles, VolumeError> {
    let (archive, indexes) = (dir.join("archive"), dir.join("indexes"));
    let mut missing = MissingFiles::default();
    if !archive.exists() {
        return Ok(missing);
    }
    let volumes = volumes::list(&archive)?;
    let mut expected = BTreeSet::new();
    for volume in volumes.values() {
        let path = indexes.join(entry::file_name(&volume.name()));
        if !volume.open && !path.exists() {
            missing.indexes.push(path.clone());
        }
        expected.insert(path);
    }
    let found = std::fs::read_dir(&indexes).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|file| file.path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "cdxj"));
    found.retain(|path| !expected.contains(path));
    found.sort();
    missing.without_volume = found;
    Ok(missing)
}

/// Rewrites each index of a closed volume that is missing or wrong, and the digest segments if there are none. Returns
/// the paths of the indexes that were written. The archive must not be open for writing.
pub fn rebuild_indexes(dir: &Path, options: &Options) -> Result<Vec<PathBuf>, VolumeError> {
    let (archive, indexes) = (dir.join("archive"), dir.join("indexes"));
    let segments = indexes.join("duplicates");
    let has_segments = std::fs::read_dir(&segments).is_ok_and(|mut files| files.next().is_some());
    std::fs::create_dir_all(&segments).map_err(|source| VolumeError::from_io(&segments, source))?;
    let finisher = Finisher {
        disk: Arc::new(LocalDisk),
        indexes: indexes.clone(),
        duplicates: Arc::new(DuplicateIndex::open(
            &segments,
            &archive,
            options.dedupe,
            options.dedupe_memory,
        )?),
    };
    let mut rebuilt = Vec::new();
    for volume in volumes::list(&archive)?.into_values() {
        if volume.open {
            continue;
        }
        let path = indexes.join(entry::file_name(&volume.name()));
        let mut entries = Vec::new();
        for_each_record(&volume, |offset, length, record| {
            entries.extend(IndexEntry::of(record, offset, length));
        })?;
        let written = WrittenVolume {
            id: volume.id,
            name: volume.name(),
            path: volume.path.clone(),
            entries,
        };
        let lines = entry::lines(&written.entries, &written.name).concat();
        if std::fs::read(&path).ok().as_deref() != Some(lines.as_bytes()) {
            finisher.write_index(&written)?;
            rebuilt.push(path);
        }
        if !has_segments {
            finisher.add_digests(&written)?;
        }
    }
    Ok(rebuilt)
}

/// Calls `visit` with the offset, the compressed length and the content of every complete record of a closed volume.
pub(crate) fn for_each_record(
    volume: &Volume,
    mut visit: impl FnMut(u64, u64, &WarcRecord),
) -> Result<(), VolumeError> {
    let fault = |source| VolumeError::from_io(&volume.path, source);
    let open = || VolumeFile::open(volume).map_err(fault);
    let mut start = Some(0);
    while let Some(offset) = start {
        let source = lookup::reader_at(open()?, offset).map_err(fault)?;
        let mut members = MemberReader::new(source, offset);
        let damage = loop {
            let offset = members.position();
            match members.next() {
                Ok(None) => return Ok(()),
                Err(error) if is_read_error(&error) => return Err(fault(error)),
                Err(_) => break offset,
                Ok(Some(member)) => {
                    let length = member.length;
                    match WarcRecord::of_member(member) {
                        Ok(record) => visit(offset, length, &record),
                        Err(_) => break offset,
                    }
                }
            }
        };
        start = next_record(&mut open()?, damage + 1).map_err(fault)?;
    }
    Ok(())
}

/// Offset of the first complete record at `from` or later.
fn next_record(file: &mut VolumeFile, from: u64) -> io::Result<Option<u64>> {
    let mut position = from;
    let mut block = Vec::new();
    // Blocks overlap by the length of the longest magic number, less one byte.
    let overlap = Compression::ALL
        .map(|kind| kind.magic().len())
        .into_iter()
        .max();
    let overlap = overlap.unwrap_or(1) - 1;
    loop {
        file.seek(SeekFrom::Start(position))?;
        block.clear();
        file.take(SEARCH_BLOCK as u64).read_to_end(&mut block)?;
        let found = Compression::ALL.map(|kind| memmem::find_iter(&block, kind.magic()));
        let starts: BTreeSet<usize> = found.into_iter().flatten().collect();
        for start in starts {
            let offset = position + start as u64;
            if is_record(file, offset)? {
                return Ok(Some(offset));
            }
        }
        if block.len() < SEARCH_BLOCK {
            return Ok(None);
        }
        position += (block.len() - overlap) as u64;
    }
}

/// Whether a complete record begins at this offset.
fn is_record(file: &mut VolumeFile, offset: u64) -> io::Result<bool> {
    /// Enough bytes for [`begins_like_a_record`].
    const PREFIX: u64 = 4 << 10;
    file.seek(SeekFrom::Start(offset))?;
    let mut prefix = Vec::new();
    file.take(PREFIX).read_to_end(&mut prefix)?;
    if !begins_like_a_record(&prefix) {
        return Ok(false);
    }
    let source = lookup::reader_at(file, offset)?;
    let member = match MemberReader::new(source, offset).next() {
        Err(error) if is_read_error(&error) => return Err(error),
        member => member.ok().flatten(),
    };
    Ok(member.is_some_and(|member| WarcRecord::of_member(member).is_ok()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::check;
    use crate::tests::sample::{folder, page, small_options, write_all};

    fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn lost_and_wrong_indexes_are_rebuilt() {
        let folder = folder();
        write_all(folder.path(), small_options(), (0..9).map(|n| page(n % 5)));
        let indexes = folder.path().join("indexes");
        let all = || [files(&indexes), files(&indexes.join("duplicates"))];
        let before = all();
        let nothing: [PathBuf; 0] = [];
        assert_eq!(
            rebuild_indexes(folder.path(), &small_options()).unwrap(),
            nothing
        );
        fs::remove_dir_all(&indexes).unwrap();
        let missing = missing_files(folder.path()).unwrap();
        let rebuilt = rebuild_indexes(folder.path(), &small_options()).unwrap();
        assert_eq!(missing.indexes, rebuilt);
        assert_eq!(all(), before);
        fs::write(&rebuilt[0], "not an index\n").unwrap();
        assert_eq!(
            rebuild_indexes(folder.path(), &small_options()).unwrap(),
            rebuilt[..1]
        );
        assert_eq!(all(), before);
        assert_eq!(
            missing_files(folder.path()).unwrap(),
            MissingFiles::default()
        );
        let volume = files(&folder.path().join("archive")).remove(0).0;
        fs::remove_file(volume).unwrap();
        let missing = missing_files(folder.path()).unwrap();
        assert_eq!(missing.without_volume, rebuilt[..1]);
    }

    /// The bytes of one record are overwritten. All others stay in the rebuilt index.
    #[test]
    fn records_after_damage_are_indexed() {
        let folder = folder();
        write_all(folder.path(), small_options(), (0..4).map(page));
        let (path, mut bytes) = files(&folder.path().join("archive")).remove(0);
        let (index, before) = files(&folder.path().join("indexes")).remove(0);
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().count();
        let damaged = check(folder.path(), |_| {}).unwrap();
        assert!(damaged.is_sound());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(0);
        fs::write(&path, &bytes).unwrap();
        fs::remove_file(&index).unwrap();
        let rebuilt = rebuild_indexes(folder.path(), &small_options()).unwrap();
        assert_eq!(rebuilt, std::slice::from_ref(&index));
        let after = fs::read(&index).unwrap();
        let lost = lines(&before) - lines(&after);
        assert!(lost <= 1, "{lost} lines lost");
        let report = check(folder.path(), |_| {}).unwrap();
        assert_eq!(report.fault_count, 1, "{:?}", report.faults);
    }
}
