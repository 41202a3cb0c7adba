//! Repairs the volumes that a crash left with the suffix `.open`, before new volumes are written. Each is truncated
//! after its last complete record, indexed and closed.
//!
//! No complete record is deleted. After an interrupted write, only the last record is incomplete. After other damage,
//! complete records may follow the damaged record. In that case the bytes that are cut off are saved in a separate file
//! with the suffix `.damaged`. The suffix of a volume without any complete record is changed to `.damaged`.
//!
//! The whole volume is decompressed, which also restores its index. A possible improvement is to store the position of
//! the last `sync` and begin there.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::VolumeError;
use crate::compress::members::MemberReader;
use crate::compress::{self, Compression};
use crate::files::name::DAMAGED;
use crate::files::volumes::{self, Volume};
use crate::index::entry::IndexEntry;
use crate::record::parsed::WarcRecord;
use crate::write::finish::{Finisher, WrittenVolume};

/// The repairs that [`crate::Archive::open`] made.
#[derive(Debug, Clone, Default)]
pub struct Repairs {
    /// Volumes that were repaired and closed.
    pub repaired: Vec<RepairedVolume>,
    /// Volumes or parts of volumes that could not be repaired, under their `.damaged` names.
    pub damaged: Vec<PathBuf>,
}

/// A volume that was repaired and closed after a crash.
#[derive(Debug, Clone)]
pub struct RepairedVolume {
    /// Path of the volume after the repair.
    pub path: PathBuf,
    /// Number of complete records.
    pub records: u64,
    /// Number of bytes that were cut off after the last complete record.
    pub bytes_cut: u64,
}

/// Repairs every volume with the suffix `.open`, in order of identifier. Volumes in unusable folders are left as they are.
pub(crate) fn repair(
    archive: &Path,
    unusable: &[PathBuf],
    finisher: &Finisher,
) -> Result<Repairs, VolumeError> {
    let mut repairs = Repairs::default();
    let volumes = volumes::list(archive)?;
    let is_usable = |volume: &Volume| !unusable.iter().any(|path| volume.path.starts_with(path));
    for volume in volumes.into_values() {
        if !volume.open || !is_usable(&volume) {
            continue;
        }
        let fault = |source| VolumeError::from_io(&volume.path, source);
        if std::fs::metadata(&volume.path).map_err(fault)?.len() == 0 {
            std::fs::remove_file(&volume.path).map_err(fault)?; // created, but nothing was written
            continue;
        }
        match scan(&volume.path) {
            Ok(Some(scan)) => repairs.truncate_and_close(&volume, scan, finisher)?,
            Ok(None) => repairs.rename_damaged(&volume)?,
            // A read error may be temporary, so the volume is left unchanged, and opening the archive fails.
            Err(error) => return Err(fault(error)),
        }
    }
    Ok(repairs)
}

/// The complete records of a volume.
struct Scan {
    entries: Vec<IndexEntry>,
    records: u64,
    /// End of the last complete record.
    end: u64,
    /// Length of the file.
    length: u64,
}

/// Reads the records up to the first incomplete one. Returns `None` if there is no complete record. An error of the
/// operating system is returned as an error; it does not mean that the record is incomplete.
fn scan(path: &Path) -> io::Result<Option<Scan>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut members = MemberReader::new(BufReader::with_capacity(1 << 18, file), 0);
    let mut scan = Scan {
        entries: Vec::new(),
        records: 0,
        end: 0,
        length,
    };
    loop {
        let member = match members.next() {
            Ok(Some(member)) => member,
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Ok(None) | Err(_) => break,
        };
        let (offset, length) = (member.offset, member.length);
        let Ok(record) = WarcRecord::of_member(member) else {
            break;
        };
        scan.entries.extend(IndexEntry::of(&record, offset, length));
        scan.records += 1;
        scan.end = offset + length;
    }
    Ok((scan.records > 0).then_some(scan))
}

impl Repairs {
    fn truncate_and_close(
        &mut self,
        volume: &Volume,
        scan: Scan,
        finisher: &Finisher,
    ) -> Result<(), VolumeError> {
        let fault = |source| VolumeError::from_io(&volume.path, source);
        let bytes_cut = scan.length - scan.end;
        if bytes_cut > 0 {
            self.damaged
                .extend(save_tail(volume, scan.end).map_err(fault)?);
        }
        // The volume is synced even if nothing is cut off, because later revisit records may refer to its records.
        let file = File::options()
            .write(true)
            .open(&volume.path)
            .map_err(fault)?;
        file.set_len(scan.end)
            .and_then(|()| file.sync_all())
            .map_err(fault)?;
        let path = finisher.finish(&WrittenVolume {
            id: volume.id,
            name: volume.name(),
            path: volume.path.clone(),
            entries: scan.entries,
        })?;
        tracing::info!(volume = %volume.name(), records = scan.records, bytes_cut, "volume repaired");
        self.repaired.push(RepairedVolume {
            path,
            records: scan.records,
            bytes_cut,
        });
        Ok(())
    }

    fn rename_damaged(&mut self, volume: &Volume) -> Result<(), VolumeError> {
        let path = volume
            .path
            .with_file_name(format!("{}{DAMAGED}", volume.name()));
        std::fs::rename(&volume.path, &path)
            .map_err(|source| VolumeError::from_io(&volume.path, source))?;
        self.damaged.push(path);
        Ok(())
    }
}

/// Saves the bytes from `end` on in a `.damaged` file, if they contain a complete record.
fn save_tail(volume: &Volume, end: u64) -> io::Result<Option<PathBuf>> {
    let mut file = File::open(&volume.path)?;
    file.seek(SeekFrom::Start(end))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    if !contains_record(&tail) {
        return Ok(None);
    }
    let path = volume
        .path
        .with_file_name(format!("{}.{end}{DAMAGED}", volume.name()));
    std::fs::write(&path, &tail)?;
    File::open(&path)?.sync_all()?;
    Ok(Some(path))
}

/// Whether the tail contains a complete record, or may contain one. A hostile page can contain bytes that look like
/// many nested members. Therefore the search stops after it has read four times the length of the tail and 1 MiB more,
/// and returns `true`.
pub(crate) fn contains_record(tail: &[u8]) -> bool {
    let mut remaining = 4 * tail.len() as u64 + (1 << 20);
    let starts = Compression::ALL.map(|kind| memmem::find_iter(tail, kind.magic()));
    for start in starts.into_iter().flatten() {
        if !begins_like_a_record(&tail[start..]) {
            continue;
        }
        let mut members = MemberReader::new(&tail[start..], 0);
        let member = members.next().ok().flatten();
        if member.is_some_and(|member| WarcRecord::of_member(member).is_ok()) {
            return true;
        }
        match remaining.checked_sub(members.position()) {
            Some(rest) => remaining = rest,
            None => return true,
        }
    }
    false
}

/// Whether the content of the member begins with a WARC version line.
pub(crate) fn begins_like_a_record(member: &[u8]) -> bool {
    const VERSION: &[u8] = b"WARC/1.";
    /// Number of compressed bytes to read: enough for the Huffman codes, which come before the first byte of content.
    const MAX_COMPRESSED: usize = 4 << 10;
    let compressed = &member[..member.len().min(MAX_COMPRESSED)];
    compress::decompress_prefix(compressed, VERSION.len() as u64) == VERSION
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tests::sample::{folder, page, small_options, write_all};
    use crate::{Archive, check};

    /// Creates an empty `archive/` under `target`. Returns the name and the bytes of a volume with four exchanges.
    fn sample_volume(target: &Path) -> (String, Vec<u8>) {
        let source = folder();
        write_all(source.path(), small_options(), (0..4).map(|n| page(n % 3)));
        let path = fs::read_dir(source.path().join("archive"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        fs::create_dir_all(target.join("archive")).unwrap();
        (name, fs::read(path).unwrap())
    }

    /// Opens an archive whose only volume was left `.open` with these bytes.
    fn open_after_crash(folder: &Path, name: &str, bytes: &[u8]) -> Repairs {
        let _ = fs::remove_dir_all(folder.join("archive"));
        let _ = fs::remove_dir_all(folder.join("indexes"));
        fs::create_dir_all(folder.join("archive")).unwrap();
        fs::write(folder.join("archive").join(format!("{name}.open")), bytes).unwrap();
        let (archive, repairs) = Archive::open(folder, small_options()).unwrap();
        drop(archive);
        repairs
    }

    #[test]
    fn after_a_crash_at_any_byte_the_complete_records_remain() {
        let folder = folder();
        let (name, whole) = sample_volume(folder.path());
        let mut ends = vec![0];
        let mut members = MemberReader::new(whole.as_slice(), 0);
        while let Some(member) = members.next().unwrap() {
            ends.push((member.offset + member.length) as usize);
        }
        assert_eq!(ends.len() - 1, 1 + 4 * 3);
        let path = folder.path().join("archive").join(&name);
        let truncated = folder.path().join("truncated");
        for length in 0..=whole.len() {
            let records = ends.iter().filter(|end| **end <= length).count() - 1;
            fs::write(&truncated, &whole[..length]).unwrap();
            let scan = scan(&truncated)
                .unwrap()
                .map_or((0, 0), |scan| (scan.records, scan.end));
            assert_eq!(scan, (records as u64, ends[records] as u64), "{length}");
            // A complete repair syncs many files, so it is tested near the ends of records and at every 199th length.
            if !ends.iter().any(|end| end.abs_diff(length) <= 1) && length % 199 != 0 {
                continue;
            }
            let repairs = open_after_crash(folder.path(), &name, &whole[..length]);
            if records == 0 {
                assert!(repairs.repaired.is_empty() && !path.exists());
                assert_eq!(repairs.damaged.len(), usize::from(length > 0), "{length}");
                continue;
            }
            let repaired = &repairs.repaired[0];
            assert_eq!(repaired.records, records as u64, "{length}");
            assert_eq!(repaired.bytes_cut, (length - ends[records]) as u64);
            assert_eq!(fs::read(&path).unwrap(), &whole[..ends[records]]);
            assert!(repairs.damaged.is_empty());
            let report = check(folder.path(), |_| {}).unwrap();
            assert!(report.is_sound(), "{length}: {:?}", report.faults);
            assert_eq!(report.records, records as u64);
        }
    }

    #[test]
    fn repair_restores_the_index_and_the_digest_segment() {
        let folder = folder();
        write_all(folder.path(), small_options(), (0..9).map(|n| page(n % 5)));
        let files = |path: &Path| {
            let mut files: Vec<_> = fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
                .map(|path| (path.clone(), fs::read(path).unwrap()))
                .collect();
            files.sort();
            files
        };
        let (archive, indexes) = (folder.path().join("archive"), folder.path().join("indexes"));
        let before = [
            files(&archive),
            files(&indexes),
            files(&indexes.join("duplicates")),
        ];
        fs::remove_dir_all(&indexes).unwrap();
        for (path, _) in &before[0] {
            fs::rename(path, format!("{}.open", path.display())).unwrap();
        }
        drop(Archive::open(folder.path(), small_options()).unwrap());
        assert_eq!(
            before,
            [
                files(&archive),
                files(&indexes),
                files(&indexes.join("duplicates"))
            ]
        );
    }

    #[test]
    fn complete_records_after_damage_are_saved() {
        let folder = folder();
        let (name, mut bytes) = sample_volume(folder.path());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(0);
        let repairs = open_after_crash(folder.path(), &name, &bytes);
        assert_eq!(repairs.repaired.len(), 1);
        let tail = fs::read(&repairs.damaged[0]).unwrap();
        assert_eq!(tail.len() as u64, repairs.repaired[0].bytes_cut);
        assert!(bytes.ends_with(&tail));
        let report = check(folder.path(), |_| {}).unwrap();
        assert!(report.is_sound());
        assert_eq!(report.damaged_files, repairs.damaged);
        // The next volume gets a new counter, not that of the damaged file.
        write_all(folder.path(), small_options(), [page(9)]);
        let volumes = volumes::list(&folder.path().join("archive")).unwrap();
        let counters: Vec<u32> = volumes.keys().map(|id| id.counter()).collect();
        assert_eq!(counters, [1, 2]);
    }
}
